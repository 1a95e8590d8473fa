package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// moved is a suite of a file that a flag moves to Docker.
func moved(t *testing.T, text string) Suite {
	t.Helper()
	s := loaded(t, text)
	s.SetPlatform("docker")
	return s
}

func TestMovedSuite(t *testing.T) {
	s := moved(t, "networks: [bridge, vxlan, four, lab:veth, vxlan, published]\nhosts: [1]\nworkloads: [tcp_rr]\n"+
		"skips: [{network: ovs, reason: not yet}]\n")
	cells := expanded(t, s, drivers())
	want := []string{
		"docker:native/1 vs docker:native", "docker:bridge/1 vs docker:native", "veth/1 vs docker:native",
		"docker:published/1 vs docker:native",
	}
	if diff := cmp.Diff(want, briefly(t, cells)); diff != "" {
		t.Error(diff)
	}
	skips := []Skip{
		{Network: "ovs", Reason: "not yet"},
		{Network: "vxlan", Reason: "docker has no network vxlan"},
		{Network: "four", Reason: "docker:four makes sense on 2 or more hosts, asked for is 1"},
	}
	if diff := cmp.Diff(skips, Skipped(s, drivers())); diff != "" {
		t.Error(diff)
	}
}

func TestMovedSuiteErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing is left", "networks: [vxlan]\n", `x.yaml:1:1: platform: docker has none of the networks that are named; name others, or another platform`},
		{"nowhere known", "networks: [bridge, brigde]\n", `x.yaml:1:20: networks[1]: unknown network "brigde"; did you mean "bridge"? nettoll list networks shows all`},
		{"with a prefix", "networks: [bridge, 'docker:vxlan']\n", `x.yaml:1:20: networks[1]: docker has no network "vxlan"; did you mean "lab:vxlan"? nettoll list networks shows all`},
		{"baseline", "networks: [bridge]\nbaseline: vxlan\n", `x.yaml:2:11: baseline: docker has no network "vxlan"; did you mean "lab:vxlan"? nettoll list networks shows all`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moved(t, c.text)
			if _, err := Expand(s, drivers()); message(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestMovedEmbeddedSuites moves every suite that there is to Docker: what it names is
// measured there or skipped with a reason.
func TestMovedEmbeddedSuites(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s := embedded(t, name)
			before := s
			s.SetPlatform("docker")
			s.TimeBudget = 0
			cells := expanded(t, s, trusted())
			there := map[string]bool{}
			for _, c := range cells {
				there[c.Network] = true
				if c.Baseline != "docker:native" {
					t.Errorf("%s is not compared with Docker's native", c.Key())
				}
			}
			for _, k := range Skipped(s, trusted()) {
				there["docker:"+k.Network] = true
			}
			for _, n := range s.Networks {
				if n != "all" && !there["docker:"+n] {
					t.Errorf("%s is neither measured nor skipped", n)
				}
			}
			if cells, err := Expand(before, trusted()); err != nil || cells[0].Baseline != "" {
				t.Errorf("the suite it was made from has moved, too: %v", err)
			}
		})
	}
}

// TestMovedSuiteRegains wants what the suite left out for want of a network, where the
// platform that it is moved to has it, and real forms in the place of others.
func TestMovedSuiteRegains(t *testing.T) {
	known := drivers()
	known.Networks = append(known.Networks,
		Network{Name: "link", Hosts: []int{1}, Platforms: []string{"docker"}},
		Network{Name: "container", Hosts: []int{1}, Platforms: []string{"docker"}, Like: "shared"},
		Network{Name: "shared", Hosts: []int{1}, Platforms: []string{"lab"}})
	s := moved(t, "networks: [bridge, shared]\nhosts: [1]\nworkloads: [tcp_rr]\n"+
		"skips: [{network: link, reason: not yet}, {network: ovs, reason: not yet}]\n")
	cells := expanded(t, s, known)
	want := []string{
		"docker:native/1 vs docker:native", "docker:bridge/1 vs docker:native", "docker:container/1 vs docker:native",
		"docker:link/1 vs docker:native",
	}
	if diff := cmp.Diff(want, briefly(t, cells)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Skip{{Network: "ovs", Reason: "not yet"}}, Skipped(s, known)); diff != "" {
		t.Error(diff)
	}
}
