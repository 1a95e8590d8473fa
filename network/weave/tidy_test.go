package weave_test

import (
	"context"
	"os/exec"
	"testing"

	"nettoll/internal/process"
	"nettoll/network/networktest"
	"nettoll/network/weave"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// kept is a platform whose hosts stay.
type kept struct {
	*lab.Lab
	hosts platform.Hosts
}

func (k kept) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return stay{k.hosts}, nil
}

type stay struct{ platform.Hosts }

func (stay) Close(context.Context) error { return nil }

func (stay) Transient() bool { return false }

// TestNothingIsLeft has hosts whose firewall has tables already: with these goes nothing of
// what weaver has put into them.
func TestNothingIsLeft(t *testing.T) {
	_, err := exec.LookPath("iptables")
	platformtest.Require(t, "iptables", err)
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hosts.Close(context.Background()) })
	for _, h := range hosts.All() {
		for _, table := range []string{"filter", "nat", "mangle"} {
			keep := platform.Command{Path: "iptables", Args: []string{"-w", "-t", table, "-N", "KEEP"}}
			if err := process.Run(t.Context(), h, keep); err != nil {
				t.Fatal(err)
			}
		}
	}
	state := func() []string {
		all := networktest.State(t, hosts.All()...)
		for _, h := range hosts.All() {
			all = append(all, networktest.Rules(t, h)...)
		}
		return all
	}
	before := state()
	for _, says := range []string{inSleeve, inFast} {
		n, err := connect(t, weave.HurriedSleeve(newFake(t, version, says).paths()), kept{lab.New(), hosts})
		if (err == nil) != (says == inSleeve) {
			t.Fatal(err)
		}
		if err == nil {
			if err := n.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		networktest.Same(t, "after weavers that say "+says, before, state())
	}
}
