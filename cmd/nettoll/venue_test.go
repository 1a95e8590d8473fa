package main

import (
	"context"
	"slices"
	"testing"

	"nettoll/network/kernel"
	"nettoll/plan"
	"nettoll/platform"
)

// elsewhere is a platform of which only the name matters.
type elsewhere string

func (e elsewhere) Name() string { return string(e) }

func (elsewhere) Probe(context.Context) error { return platform.ErrUnsupported }

func (elsewhere) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return nil, platform.ErrUnsupported
}

func TestOnlyTheFirstPlatformNeedsNoPrefix(t *testing.T) {
	all := prefixed([]venue{{platform: elsewhere("lab")}, {platform: elsewhere("docker")}, {platform: elsewhere("swarm")}})
	for i, want := range []string{"bridge", "docker:bridge", "swarm:bridge"} {
		if got := all[i].name(kernel.Bridge()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestEveryPlannedNetworkCanBeBuilt holds that the planner and the runner call
// networks by the same names, and that natives are there.
func TestEveryPlannedNetworkCanBeBuilt(t *testing.T) {
	all, k := recipes(engines{}), known(nil, cniFlags{}, false)
	built := 0
	for _, v := range venues(engines{}) {
		s := plan.Default()
		s.Networks = []string{v.prefix + "all"}
		cells, err := plan.Expand(s, k)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cells {
			r, ok := all[c.Network]
			if !ok {
				t.Errorf("nobody builds %s", c.Network)
				continue
			}
			if c.Network != c.Native() && r.Platform.Name() != v.platform.Name() {
				t.Errorf("%s is built on %s", c.Network, r.Platform.Name())
			}
		}
		for _, name := range v.names() {
			if _, ok := all[name]; ok {
				built++
			}
		}
		if _, ok := v.find(v.native); !ok && v.native != "" {
			t.Errorf("%s has no network %s for its native", v.platform.Name(), v.native)
		}
	}
	if built != len(all) || len(networkNames()) != built {
		t.Errorf("%d networks are listed, %d can be built", built, len(all))
	}
	if slices.Contains(networkNames(), "all") || !slices.Contains(wholeNames(), "all") {
		t.Errorf("all is no single network: %v", wholeNames())
	}
}
