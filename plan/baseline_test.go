package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

// briefly are the networks of cells in order, each with its number of hosts and what
// it is compared with.
func briefly(t *testing.T, cells []record.Cell) (all []string) {
	t.Helper()
	for _, c := range cells {
		text := c.Network + "/" + string(rune('0'+c.Hosts))
		if c.Baseline != "" {
			text += " vs " + c.Baseline
		}
		all = append(all, text)
	}
	return all
}

func TestBaseline(t *testing.T) {
	for _, c := range []struct {
		name  string
		suite func(*Suite)
		want  []string
	}{
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
			s := with()
			c.suite(&s)
			cells := expanded(t, s, drivers())
			if diff := cmp.Diff(c.want, briefly(t, cells)); diff != "" {
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

func TestBaselineErrors(t *testing.T) {
	const head = "networks: [bridge]\n"
	for _, c := range []struct{ name, text, want string }{
		{"unknown", head + "baseline: brigde\n", `x.yaml:2:11: baseline: unknown network "brigde"; did you mean "bridge"? nettoll list networks shows all`},
		{"unknown platform", head + "baseline: dcker:bridge\n", `x.yaml:2:11: baseline: unknown platform "dcker"; did you mean "docker"? nettoll list platforms shows all`},
		{"of another platform", head + "baseline: pod\n", `x.yaml:2:11: baseline: lab has no network "pod"; did you mean "kube:pod"? nettoll list networks shows all`},
		{"several", head + "baseline: docker:all\n", `x.yaml:2:11: baseline: "docker:all" is not one network; write a network such as veth, or platform:name`},
		{"no name", head + "baseline: a b\n", `x.yaml:2:11: baseline: "a b" is not one network; write a network such as veth, or platform:name`},
		{"other hosts", head + "baseline: vxlan\n", `x.yaml:2:11: baseline: vxlan makes sense on 2 or more hosts, bridge is measured on 1; change hosts, or name another baseline`},
		{"some other hosts", "networks: [macvlan]\nbaseline: veth\n", `x.yaml:2:11: baseline: veth makes sense on 1 host, macvlan is measured on 2; change hosts, or name another baseline`},
		{"other family", "networks: [vxlan]\nbaseline: four\nfamilies: [4, 6]\n", `x.yaml:2:11: baseline: four carries IPv4 only, vxlan is measured over IPv6 too; change families, or name another baseline`},
		{"too many", "networks: [veth]\nclients: 2000\nbaseline: bridge\n", `x.yaml:2:10: clients: one host would hold 2001 servers and clients, bridge takes 1023 there; write fewer, or leave bridge out`},
		{"a platform without one on so many hosts", "networks: ['swarm:overlay']\n", `x.yaml:1:1: baseline: swarm has no native on 2 hosts to compare swarm:overlay with; change hosts, or name a baseline`},
		{"platform", head + "platform: dokcer\n", `x.yaml:2:11: platform: unknown platform "dokcer"; did you mean "docker"? nettoll list platforms shows all`},
		{"platform of no name", head + "platform: a:b\n", `x.yaml:2:11: platform: "a:b" is not a platform; write a name such as lab`},
		{"what the platform has not", "networks: [bridge, vxlan]\nplatform: docker\n", `x.yaml:1:20: networks[1]: docker has no network "vxlan"; did you mean "lab:vxlan"? nettoll list networks shows all`},
		{"baseline as a list", head + "baseline: [veth]\n", `x.yaml:2:11: baseline: must be text, is a list; write one text`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Load("x.yaml", strings.NewReader(c.text))
			if err == nil {
				_, err = Expand(s, drivers())
			}
			if message(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestSelfCheckOfABaseline(t *testing.T) {
	cells, err := SelfCheck(with("bridge", "docker:bridge"), drivers())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"docker:native/1 vs docker:native", "docker:native/1 vs docker:native"}; !slices.Equal(briefly(t, cells), want) ||
		cells[0].Twin != 1 || cells[1].Twin != 2 {
		t.Errorf("the twins are %+v", cells)
	}
}
