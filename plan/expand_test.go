package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

// drivers is what nettoll's own drivers look like to a plan, and a few more.
func drivers() Known {
	return Known{
		Platforms: []string{"lab", "docker", "kube"},
		Techniques: []Technique{
			{Name: "loopback", Hosts: []int{1}},
			{Name: "host", Hosts: []int{1}},
			{Name: "native", Hosts: []int{2}},
			{Name: "sharedns", Hosts: []int{1}},
			{Name: "veth", Hosts: []int{1}},
			{Name: "bridge", Hosts: []int{1}, Endpoints: BridgePorts, Platforms: []string{"lab", "docker"}},
			{Name: "macvlan", Hosts: []int{1, 2}},
			{Name: "published", Hosts: []int{1, 2}, Endpoints: BridgePorts},
			{Name: "routed", Hosts: []int{2}, Endpoints: BridgePorts},
			{Name: "vxlan", Hosts: []int{2}, Endpoints: BridgePorts - 1},
			{Name: "four", Hosts: []int{2}, Families: []int{4}},
			{Name: "pod", Hosts: []int{1, 2}, Platforms: []string{"kube"}},
		},
		Tools: []Tool{
			{Name: "engine", Drives: drives("tcp_stream", "tcp_rr")},
			{Name: "qperf", Drives: drives("tcp_rr", "tcp_crr")},
		},
	}
}

// drives are workloads with all their options.
func drives(names ...string) (all []Drive) {
	for _, n := range names {
		all = append(all, Drive{Workload: n, Options: []string{"streams", "message-size", "window", "congestion", "zero-copy", "skip-rx-copy", "request-size", "response-size"}})
	}
	return all
}

// with is the default suite of one workload over the networks.
func with(networks ...string) Suite {
	s := Default()
	s.Networks, s.Workloads = networks, []Workload{{Name: record.TCPRR}}
	return s
}

func keys(cells []record.Cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.Key())
	}
	return out
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		name  string
		suite func(*Suite)
		want  []string
	}{
		{"native is added", func(s *Suite) { s.Networks = []string{"bridge"} }, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"bridge/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"native comes first, once", func(s *Suite) { s.Networks = []string{"bridge", "host", "lab:bridge", "bridge"} }, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"bridge/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"every sensible number of hosts", func(s *Suite) { s.Networks = []string{"vxlan", "macvlan"} }, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"macvlan/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"vxlan/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"macvlan/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"hosts in the order asked", func(s *Suite) { s.Networks, s.Hosts = []string{"macvlan", "veth"}, []int{2, 1, 2} }, []string{
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"macvlan/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"macvlan/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"veth/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"scenarios without a network have no native", func(s *Suite) { s.Networks, s.Hosts = []string{"veth"}, []int{1} }, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"veth/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"platforms", func(s *Suite) { s.Networks = []string{"docker:bridge", "bridge", "kube:pod"}; s.Hosts = []int{1} }, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"docker:bridge/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"bridge/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"kube:pod/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"all leaves out what does not fit", func(s *Suite) {
			s.Networks, s.Hosts, s.Families = []string{"all"}, []int{2}, []int{6}
		}, []string{
			"native/hosts=2/ipv6/1x1/engine:tcp_rr/distinct",
			"macvlan/hosts=2/ipv6/1x1/engine:tcp_rr/distinct",
			"published/hosts=2/ipv6/1x1/engine:tcp_rr/distinct",
			"routed/hosts=2/ipv6/1x1/engine:tcp_rr/distinct",
			"vxlan/hosts=2/ipv6/1x1/engine:tcp_rr/distinct",
		}},
		{"one family only", func(s *Suite) { s.Networks, s.Families = []string{"four"}, []int{6, 4} }, []string{
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"four/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"tools drive what they can", func(s *Suite) {
			s.Networks, s.Tools = []string{"host"}, []string{"qperf", "engine"}
			s.Workloads = []Workload{{Name: "tcp_stream"}, {Name: "tcp_rr"}, {Name: "tcp_crr"}}
		}, []string{
			"host/hosts=1/ipv4/1x1/qperf:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/qperf:tcp_crr/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_stream/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"everything else", func(s *Suite) {
			s.Networks, s.Servers, s.Clients = []string{"host"}, 2, 3
			s.Underlay = Underlay{Rate: 1e9}
			s.Placements = []string{"same", "free"}
			s.Workloads = []Workload{{Name: "tcp_stream", Window: 4096}, {Name: "tcp_stream", Streams: 4}}
		}, []string{
			"host/hosts=1/ipv4/2x3/engine:tcp_stream/w=4096/same/underlay=rate=1gbit",
			"host/hosts=1/ipv4/2x3/engine:tcp_stream/w=4096/free/underlay=rate=1gbit",
			"host/hosts=1/ipv4/2x3/engine:tcp_stream/P=4/same/underlay=rate=1gbit",
			"host/hosts=1/ipv4/2x3/engine:tcp_stream/P=4/free/underlay=rate=1gbit",
		}},
		{"a bridge that is full", func(s *Suite) { s.Networks, s.Servers, s.Clients = []string{"bridge"}, 511, 512 }, []string{
			"host/hosts=1/ipv4/511x512/engine:tcp_rr/distinct",
			"bridge/hosts=1/ipv4/511x512/engine:tcp_rr/distinct",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := with("host")
			c.suite(&s)
			cells, err := Expand(s, drivers())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, keys(cells)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExpandErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		suite func(*Suite)
		want  string
		flag  string
	}{
		{"not valid", func(s *Suite) { s.MinRounds = 0 }, `min_rounds: 0 rounds are not possible; write a number from 1 to 10000`, "--min-rounds"},
		{"technique", func(s *Suite) { s.Networks = []string{"veth", "brigde"} }, `networks[1]: unknown technique "brigde"; did you mean "bridge"? nettoll list techniques shows all`, "--networks"},
		{"strange technique", func(s *Suite) { s.Networks = []string{"quux"} }, `networks[0]: unknown technique "quux"; nettoll list techniques shows all`, "--networks"},
		{"technique of another platform", func(s *Suite) { s.Networks = []string{"pod"} }, `networks[0]: unknown technique "pod"; nettoll list techniques shows all`, "--networks"},
		{"platform", func(s *Suite) { s.Networks = []string{"dokcer:bridge"} }, `networks[0]: unknown platform "dokcer"; did you mean "docker"? nettoll list platforms shows all`, "--networks"},
		{"workload", func(s *Suite) { s.Workloads = []Workload{{Name: "tcp_steam"}} }, `workloads[0]: unknown workload "tcp_steam"; did you mean "tcp_stream"? nettoll list workloads shows all`, "--workloads"},
		{"tool", func(s *Suite) { s.Tools = []string{"engin"} }, `tools[0]: unknown tool "engin"; did you mean "engine"? nettoll list tools shows all`, "--tools"},
		{"workload of another tool", func(s *Suite) { s.Workloads = []Workload{{Name: "tcp_crr"}} }, `workloads[0]: no tool of the suite drives tcp_crr; add one of qperf to tools`, "--workloads"},
		{"hosts", func(s *Suite) { s.Networks, s.Hosts = []string{"macvlan", "vxlan"}, []int{1} }, `networks[1]: vxlan makes sense on 2 hosts, asked for is 1; change hosts, or leave vxlan out`, "--networks"},
		{"hosts of all", func(s *Suite) { s.Networks, s.Hosts = []string{"all"}, []int{3, 4} }, `networks: no technique makes sense on 3 or 4 hosts; change hosts, or leave it out`, "--networks"},
		{"family", func(s *Suite) { s.Networks, s.Families = []string{"four"}, []int{6} }, `networks[0]: four carries IPv4 only; add it to families, or leave four out`, "--networks"},
		{"ports of a bridge", func(s *Suite) { s.Networks, s.Servers, s.Clients = []string{"bridge"}, 512, 512 }, `clients: one host would hold 1024 servers and clients, bridge takes 1023 there; write fewer, or leave bridge out`, "--clients"},
		{"ports of a bridge of two hosts", func(s *Suite) { s.Networks, s.Servers, s.Clients = []string{"vxlan"}, 1, 1023 }, `clients: one host would hold 1023 servers and clients, vxlan takes 1022 there; write fewer, or leave vxlan out`, "--clients"},
		{"addresses", func(s *Suite) { s.Networks, s.Clients = []string{"sharedns"}, 4092 }, `clients: one host would hold 4093 servers and clients, sharedns takes 4092 there; write fewer, or leave sharedns out`, "--clients"},
		{"budget", func(s *Suite) {
			s.Networks, s.Duration, s.Warmup, s.TimeBudget = []string{"bridge", "veth"}, time.Second, 0, 3*time.Second
		}, `time_budget: 3s is less than one round of 3 cells takes, about 3.15s; write more, or measure less`, "--time-budget"},
		{"too many", func(s *Suite) {
			s.Networks, s.Workloads = []string{"all"}, nil
			for i := range 1000 {
				s.Workloads = append(s.Workloads, Workload{Name: "tcp_rr", RequestSize: Size(i + 1)})
			}
		}, `networks: the suite has up to 24000 cells; name fewer networks, workloads or placements: 10000 is the limit`, "--networks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := with("host")
			c.suite(&s)
			_, err := Expand(s, drivers())
			field, ok := err.(*FieldError)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if err.Error() != c.want {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if field.Flag() != c.flag {
				t.Errorf("flag %s, want %s", field.Flag(), c.flag)
			}
		})
	}
}

func TestSelfCheck(t *testing.T) {
	s := with("macvlan")
	cells, err := SelfCheck(s, drivers())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/twin=1",
		"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/twin=2",
		"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/twin=1",
		"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/twin=2",
	}
	if diff := cmp.Diff(want, keys(cells)); diff != "" {
		t.Error(diff)
	}
	if visits := Visits(cells, 1, 1); len(visits) != 4 {
		t.Errorf("%d visits, want one for each twin", len(visits))
	}
	if _, err := SelfCheck(with("nothing"), drivers()); err == nil {
		t.Error("an unknown technique is no error")
	}
}

func TestEmbedded(t *testing.T) {
	if names := Names(); !slices.Equal(names, []string{"quick", "full"}) {
		t.Errorf("names are %v", names)
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s, err := Embedded(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != name || s.About == "" {
				t.Errorf("name is %q, about %q", s.Name, s.About)
			}
			cells, err := Expand(s, drivers())
			if err != nil {
				t.Fatal(err)
			}
			f := Estimate(cells, Settings(s))
			if need := f.Round * time.Duration(s.MinRounds); s.TimeBudget == 0 || need > s.TimeBudget {
				t.Errorf("%d rounds of %d cells take %s, the budget is %s", s.MinRounds, f.Cells, need, s.TimeBudget)
			}
		})
	}
	_, err := Embedded("quik")
	if want := `unknown suite "quik"; did you mean "quick"? nettoll list suites shows all`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
