package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// briefly returns the networks of cells in order, each with its number of hosts and its baseline.
func briefly(cells []record.Cell) (all []string) {
	for _, c := range cells {
		text := fmt.Sprint(c.Network, "/", c.Hosts)
		if c.Family == 6 {
			text += "/IPv6"
		}
		if c.Baseline != "" {
			text += " vs " + c.Baseline
		}
		all = append(all, text)
	}
	return all
}

func TestNetworksAndTheirBaselines(t *testing.T) {
	for _, c := range []struct {
		name  string
		suite func(*Suite)
		want  []string
	}{
		{"native is added", func(s *Suite) { s.Networks = []string{"bridge"} }, []string{
			"host/1", "bridge/1",
		}},
		{"native comes first, once", func(s *Suite) { s.Networks = []string{"bridge", "host", "lab:bridge", "bridge"} }, []string{
			"host/1", "bridge/1",
		}},
		{"every sensible number of hosts", func(s *Suite) { s.Networks = []string{"vxlan", "macvlan"} }, []string{
			"host/1", "macvlan/1", "native/2", "vxlan/2", "macvlan/2",
		}},
		{"hosts in the order asked", func(s *Suite) { s.Networks, s.Hosts = []string{"macvlan", "veth"}, []int{2, 1, 2} }, []string{
			"native/2", "macvlan/2", "host/1", "macvlan/1", "veth/1",
		}},
		{"scenarios without a network have no native", func(s *Suite) { s.Networks, s.Hosts = []string{"veth"}, []int{1} }, []string{
			"host/1", "veth/1",
		}},
		{"a platform without a native of its own", func(s *Suite) { s.Networks = []string{"kube:pod", "bridge"}; s.Hosts = []int{1} }, []string{
			"host/1", "kube:pod/1", "bridge/1",
		}},
		{"all leaves out what does not fit", func(s *Suite) {
			s.Networks, s.Hosts, s.Families = []string{"all"}, []int{2}, []int{6}
		}, []string{
			"native/2/IPv6", "macvlan/2/IPv6", "published/2/IPv6", "routed/2/IPv6", "vxlan/2/IPv6",
		}},
		{"one family only", func(s *Suite) { s.Networks, s.Families = []string{"four"}, []int{6, 4} }, []string{
			"native/2", "four/2",
		}},
		{"of the lab alone", func(s *Suite) { s.Networks = []string{"bridge", "lab:vxlan"} }, []string{
			"host/1", "bridge/1", "native/2", "vxlan/2",
		}},
		{"of the first other platform", func(s *Suite) { s.Networks = []string{"bridge", "docker:bridge"} }, []string{
			"docker:native/1 vs docker:native", "bridge/1 vs docker:native", "docker:bridge/1 vs docker:native",
		}},
		{"for cells of the lab on other numbers of hosts too", func(s *Suite) { s.Networks = []string{"vxlan", "docker:bridge"} }, []string{
			"docker:native/1 vs docker:native", "docker:bridge/1 vs docker:native",
			"docker:native/2 vs docker:native", "vxlan/2 vs docker:native",
		}},
		{"of the first that has one for so many hosts", func(s *Suite) {
			s.Networks, s.Hosts = []string{"swarm:macvlan", "docker:published"}, []int{1, 2}
		}, []string{
			"swarm:host/1 vs swarm:host", "swarm:macvlan/1 vs swarm:host", "docker:published/1 vs swarm:host",
			"docker:native/2 vs docker:native", "swarm:macvlan/2 vs docker:native", "docker:published/2 vs docker:native",
		}},
		{"that was named too", func(s *Suite) { s.Networks, s.Hosts = []string{"docker:bridge", "docker:native"}, []int{1} }, []string{
			"docker:native/1 vs docker:native", "docker:bridge/1 vs docker:native",
		}},
		{"chosen", func(s *Suite) { s.Networks, s.Baseline = []string{"bridge", "veth"}, "veth" }, []string{
			"veth/1 vs veth", "bridge/1 vs veth",
		}},
		{"chosen and not named", func(s *Suite) { s.Networks, s.Baseline = []string{"bridge"}, "docker:bridge" }, []string{
			"docker:bridge/1 vs docker:bridge", "bridge/1 vs docker:bridge",
		}},
		{"chosen as it would be anyway", func(s *Suite) { s.Networks, s.Baseline = []string{"bridge"}, "host" }, []string{
			"host/1", "bridge/1",
		}},
		{"chosen of the lab for another platform", func(s *Suite) { s.Networks, s.Baseline = []string{"docker:bridge"}, "lab:host" }, []string{
			"host/1", "docker:bridge/1",
		}},
		{"in the names of the platform", func(s *Suite) {
			s.Networks, s.Platform, s.Baseline = []string{"published", "lab:bridge"}, "docker", "bridge"
			s.Hosts = []int{1}
		}, []string{
			"docker:bridge/1 vs docker:bridge", "docker:published/1 vs docker:bridge", "bridge/1 vs docker:bridge",
		}},
		{"all of a platform", func(s *Suite) { s.Networks, s.Hosts = []string{"swarm:all"}, []int{1} }, []string{
			"swarm:host/1 vs swarm:host", "swarm:loopback/1 vs swarm:host", "swarm:sharedns/1 vs swarm:host",
			"swarm:veth/1 vs swarm:host", "swarm:macvlan/1 vs swarm:host",
		}},
		{"all without a prefix", func(s *Suite) { s.Networks, s.Platform, s.Hosts = []string{"all"}, "swarm", []int{1} }, []string{
			"swarm:host/1 vs swarm:host", "swarm:loopback/1 vs swarm:host", "swarm:sharedns/1 vs swarm:host",
			"swarm:veth/1 vs swarm:host", "swarm:macvlan/1 vs swarm:host",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := with("host")
			c.suite(&s)
			cells := expanded(t, s, drivers())
			if diff := cmp.Diff(c.want, briefly(cells)); diff != "" {
				t.Error(diff)
			}
			scenarios := map[record.Cell]int{}
			for _, cell := range cells {
				if cell.IsNative() {
					scenarios[cell.Scenario()]++
				}
			}
			for _, cell := range cells {
				if scenarios[cell.Scenario()] != 1 {
					t.Errorf("%s is compared with %d cells", cell.Key(), scenarios[cell.Scenario()])
				}
			}
		})
	}
}

func TestAllIsOfTheLab(t *testing.T) {
	cells := expanded(t, with("all"), drivers())
	for _, c := range cells {
		if strings.Contains(c.Network, ":") || c.Baseline != "" {
			t.Errorf("%s is part of all", c.Key())
		}
	}
}

func TestSelfCheckOfABaseline(t *testing.T) {
	cells, err := SelfCheck(with("bridge", "docker:bridge"), drivers())
	iferr.Fatal(t, err)
	if want := []string{"docker:native/1 vs docker:native", "docker:native/1 vs docker:native"}; !slices.Equal(briefly(cells), want) ||
		cells[0].Twin != 1 || cells[1].Twin != 2 {
		t.Errorf("the twins are %+v", cells)
	}
}

// moved returns the suite of a file, moved to Docker by a flag.
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
	if diff := cmp.Diff(want, briefly(cells)); diff != "" {
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
		{"with a prefix", "networks: [bridge, 'docker:vxlan']\n", `x.yaml:1:20: networks[1]: docker has no network "vxlan", lab has: did you mean "lab:vxlan"? nettoll list networks shows all`},
		{"baseline", "networks: [bridge]\nbaseline: vxlan\n", `x.yaml:2:11: baseline: docker has no network "vxlan", lab has: did you mean "lab:vxlan"? nettoll list networks shows all`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moved(t, c.text)
			if _, err := Expand(s, drivers()); message(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestMovedEmbeddedSuites moves every embedded suite to Docker: each network that it names is measured there or
// skipped with a reason.
func TestMovedEmbeddedSuites(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s := embedded(t, name)
			if strings.Contains(s.Networks[0], ":") {
				return // it names its platform
			}
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

// TestMovedSuiteRegains expects networks that the suite left out because they did not exist, where the platform
// that it is moved to has them, and real forms in place of others.
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
	if diff := cmp.Diff(want, briefly(cells)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Skip{{Network: "ovs", Reason: "not yet"}}, Skipped(s, known)); diff != "" {
		t.Error(diff)
	}
}
