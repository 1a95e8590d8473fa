package plan

import (
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// TestWhatSuitesHaveIsResumable checks that a run can be resumed with the cells that it began with.
func TestWhatSuitesHaveIsResumable(t *testing.T) {
	for _, name := range Names() {
		s := embedded(t, name)
		for what, expand := range map[string]func(Suite, Known) ([]record.Cell, error){"": Expand, ", self-check": SelfCheck} {
			cells, err := expand(s, trusted())
			iferr.Fatal(t, err)
			set := Settings(s)
			set.SelfCheck = what != ""
			if err := Resumable(cells, set, trusted()); err != nil {
				t.Errorf("%s%s: %v", name, what, err)
			}
		}
	}
	for name, change := range map[string]func(*Suite){
		"another baseline":        func(s *Suite) { s.Networks, s.Baseline = []string{"docker:bridge", "veth"}, "host" },
		"a baseline of Docker's":  func(s *Suite) { s.Networks = []string{"docker:bridge", "veth"} },
		"both families and hosts": func(s *Suite) { s.Networks, s.Families, s.Hosts = []string{"macvlan"}, []int{4, 6}, []int{1, 2, 3} },
		"conditions": func(s *Suite) {
			s.Networks, s.Underlay = []string{"routed"}, []Underlay{{}, {Instance: "m4.10xlarge"}, {Rate: 1e9}}
			s.Conditions = Conditions{"mtu": {1500, 9000}, "rules": {0, 10}, "neighbours": {0, 7}, "offload": {"on", "off"}, "normalize": {true}}
		},
		"cni": func(s *Suite) {
			s.Networks, s.Conditions = []string{"kube:pod"}, Conditions{"cni": {"bridge", "flannel"}}
		},
		"services": func(s *Suite) {
			s.Networks, s.Conditions = []string{"serving", "bridge"}, Conditions{"services": {0, 10}}
		},
		"topologies": func(s *Suite) { s.Networks, s.Topologies = []string{"bridge"}, []Topology{{1, 2, 3}, {2, 2, 1}} },
		"options": func(s *Suite) {
			s.Networks, s.Workloads = []string{"bridge"}, []Workload{{Name: record.TCPStream, Options: record.Options{Streams: 3, Congestion: "cubic", ZeroCopy: true}}}
		},
	} {
		s := Default()
		change(&s)
		cells, err := Expand(s, drivers())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Resumable(cells, Settings(s), drivers()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNotResumable(t *testing.T) {
	good := record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 2, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree}
	for want, change := range map[string]func(*record.Cell, *record.Settings){
		"": func(*record.Cell, *record.Settings) {},
		"cells[0], bridge: clients: 3000000 clients are not possible":            func(c *record.Cell, _ *record.Settings) { c.Clients = 3_000_000 },
		"cells[0], bridge: servers: -1 servers are not possible":                 func(c *record.Cell, _ *record.Settings) { c.Servers = -1 },
		"cells[0], bridge: clients: one host would hold 1201 servers and client": func(c *record.Cell, _ *record.Settings) { c.Clients = 1200 },
		"cells[0], bridge: hosts: 100 hosts are not possible":                    func(c *record.Cell, _ *record.Settings) { c.Hosts = 100 },
		"cells[0], bridge: networks: bridge makes sense on 1 host":               func(c *record.Cell, _ *record.Settings) { c.Hosts = 2 },
		"cells[0], bridge: rules: 1000000 rules are not possible":                func(c *record.Cell, _ *record.Settings) { c.Rules = 1_000_000 },
		"cells[0], bridge: tools: unknown tool \"all\"":                          func(c *record.Cell, _ *record.Settings) { c.Tool = "all|engine" },
		"cells[0], bridge: no suite has such a cell":                             func(c *record.Cell, _ *record.Settings) { c.Tool = "all" },
		"cells[0], ../x: networks: \"../x\" is not a network":                    func(c *record.Cell, _ *record.Settings) { c.Network = "../x" },
		"cells[0], bridge: baseline: unknown network":                            func(c *record.Cell, _ *record.Settings) { c.Baseline = "nobody" },
		"cells[0], bridge: \"x=y\" is not part of a shape":                       func(c *record.Cell, _ *record.Settings) { c.Underlay = "x=y" },
		"cells[0], bridge: workloads: 100000000 is not possible":                 func(c *record.Cell, _ *record.Settings) { c.Options.RequestSize = 100_000_000 },
		"settings: max_rounds: 20000 rounds are not possible":                    func(_ *record.Cell, s *record.Settings) { s.MaxRounds = 20_000 },
		"settings: min_rounds: at least 6 and at most 3 rounds contradict":       func(_ *record.Cell, s *record.Settings) { s.MaxRounds = 3 },
		"settings: duration: must be above zero":                                 func(_ *record.Cell, s *record.Settings) { s.Duration = 0 },
		"settings: time_budget: must not be negative":                            func(_ *record.Cell, s *record.Settings) { s.Budget = -1 },
		"settings: confidence: 30% is not possible":                              func(_ *record.Cell, s *record.Settings) { s.Confidence = 0.3 },
	} {
		c, set := good, Settings(Default())
		change(&c, &set)
		err := Resumable([]record.Cell{c, good.Against()}, set, drivers())
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "write")) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for n, ok := range map[int]bool{0: false, 1: true, 2*MaxCells + 1: false} {
		cells := make([]record.Cell, n)
		for i := range cells {
			cells[i] = good.Against()
		}
		if err := Resumable(cells, Settings(Default()), drivers()); (err == nil) != ok {
			t.Errorf("%d cells: %v", n, err)
		}
	}
}

// TestCellsThatNoSuiteHasAtOnce checks cells each of which a suite could have.
func TestCellsThatNoSuiteHasAtOnce(t *testing.T) {
	bridge := record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree}
	host, other := bridge.Against(), bridge
	other.Baseline = "veth"
	twin := func(c record.Cell, n int) record.Cell { c.Twin = n; return c }
	for _, c := range []struct {
		want      string
		selfCheck bool
		cells     []record.Cell
	}{
		{"", false, []record.Cell{host, bridge}},
		{"", true, []record.Cell{twin(host, 1), twin(host, 2)}},
		{"cells[2], bridge: it is there before", false, []record.Cell{host, bridge, bridge}},
		{"cells[0], bridge: the cell is not there that it is compared with", false, []record.Cell{bridge}},
		{"cells[2], bridge: the cell is not there that it is compared with", false, []record.Cell{host, bridge, other}},
		{"cells[1], host: it is a twin, and the run is no self-check", false, []record.Cell{host, twin(host, 1), twin(host, 2)}},
		{"cells[0], host: it is no twin of a baseline, as all cells of a self-check are", true, []record.Cell{host, bridge}},
		{"cells[0], host: it is no twin of a baseline, as all cells of a self-check are", true, []record.Cell{twin(host, 2)}},
		{"cells[2], bridge: it is no twin of a baseline, as all cells of a self-check are", true, []record.Cell{twin(host, 1), twin(host, 2), twin(bridge, 1), twin(bridge, 2)}},
	} {
		set := Settings(Default())
		set.SelfCheck = c.selfCheck
		got := ""
		if err := Resumable(c.cells, set, drivers()); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
