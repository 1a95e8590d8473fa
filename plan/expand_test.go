package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// drivers is how nettoll's own drivers look to a plan, with a few more.
func drivers() Known {
	return Known{
		Platforms: []Platform{{Name: "lab"}, {Name: "docker", Native: "native"}, {Name: "kube"}, {Name: "swarm", Native: "host"}},
		Networks: []Network{
			{Name: "loopback", Hosts: []int{1}},
			{Name: "host", Hosts: []int{1}},
			{Name: "native", Hosts: []int{2}, Platforms: []string{"lab", "kube"}},
			{Name: "native", Hosts: []int{1, 2}, Platforms: []string{"docker"}},
			{Name: "sharedns", Hosts: []int{1}},
			{Name: "veth", Hosts: []int{1}},
			{Name: "bridge", Hosts: []int{1}, Endpoints: bridgePorts, Platforms: []string{"lab", "docker"}},
			{Name: "macvlan", Hosts: []int{1, 2}},
			{Name: "published", Hosts: []int{1, 2}, Endpoints: bridgePorts, Platforms: []string{"lab", "docker"}},
			{Name: "routed", Hosts: []int{2}, Endpoints: bridgePorts},
			{Name: "vxlan", Hosts: []int{2}, Endpoints: bridgePorts - 1, Platforms: []string{"lab"}},
			{Name: "overflowing", Hosts: []int{1}, Endpoints: bridgePorts, Overflow: true, Platforms: []string{"lab"}},
			{Name: "serving", Hosts: []int{1}, Has: []string{record.Services}, Platforms: []string{"lab"}},
			{Name: "four", Hosts: []int{2}, Families: []int{4}},
			{Name: "pod", Hosts: []int{1, 2}, Has: []string{record.Pods}, Platforms: []string{"kube"}},
			{Name: "service", Hosts: []int{1, 2}, Has: []string{record.Services, record.Pods}, Platforms: []string{"kube"}},
			{Name: "overlay", Hosts: []int{2}, Platforms: []string{"swarm"}},
		},
		Instances: []Instance{
			{Provider: "aws", Name: "m4.10xlarge", Price: 2.78, Network: "10 Gbit/s", Rate: 10e9},
			{Provider: "azure", Name: "D1", Price: 0.084, Network: "unknown"},
		},
		Sources: []string{"cloud-2015", "host-bridge", "icc-2014", "overlay-2015", "single-node-2017"},
		Tools: []Tool{
			{Name: "engine", Drives: drives("tcp_stream", "tcp_rr")},
			{Name: "qperf", Drives: []Drive{
				{Workload: "tcp_rr", Options: []string{"request-size"}, IPv4Only: true, Bounds: []record.Bounds{{Option: "request-size", Least: 14, Most: 65507}}},
				{Workload: "tcp_crr", Warmed: true},
				{Workload: "udp_rr", Options: []string{"request-size"}, Bounds: []record.Bounds{{Option: "request-size", Least: 14, Most: 65507}}},
			}},
			{Name: "missing", Drives: []Drive{{Workload: "tcp_rr"}}, Missing: func() string { return "not installed" }},
		},
	}
}

// drives returns workloads with all their options.
func drives(names ...string) []Drive {
	options := []string{"streams", "message-size", "window", "congestion", "zero-copy", "skip-rx-copy", "request-size", "response-size"}
	return record.Each(names, func(n string) Drive { return Drive{Workload: n, Options: options} })
}

// with returns the default suite with one workload over the networks.
func with(networks ...string) Suite {
	s := Default()
	s.Networks, s.Workloads = networks, []Workload{{Name: record.TCPRR}}
	return s
}

// expanded returns the cells of a valid suite.
func expanded(t *testing.T, s Suite, known Known) []record.Cell {
	t.Helper()
	cells, err := Expand(s, known)
	iferr.Fatal(t, err)
	return cells
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		name  string
		suite func(*Suite)
		want  []string
	}{
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
			s.Networks, s.Servers, s.Clients = []string{"native"}, []int{2}, []int{3}
			s.Underlay = []Underlay{{Rate: 1e9}}
			s.Placements = []string{"same", "free"}
			s.Workloads = []Workload{{Name: "tcp_stream", Options: record.Options{Window: 4096}}, {Name: "tcp_stream", Options: record.Options{Streams: 4}}}
		}, []string{
			"native/hosts=2/ipv4/2x3/engine:tcp_stream/w=4096/same/underlay=rate=1gbit",
			"native/hosts=2/ipv4/2x3/engine:tcp_stream/w=4096/free/underlay=rate=1gbit",
			"native/hosts=2/ipv4/2x3/engine:tcp_stream/P=4/same/underlay=rate=1gbit",
			"native/hosts=2/ipv4/2x3/engine:tcp_stream/P=4/free/underlay=rate=1gbit",
		}},
		{"numbers cross, and fewer clients than servers are left out", func(s *Suite) {
			s.Servers, s.Clients, s.Processes = []int{1, 2}, []int{1, 4, 4}, []int{1, 16}
		}, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/processes=16",
			"host/hosts=1/ipv4/1x4/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x4/engine:tcp_rr/distinct/processes=16",
			"host/hosts=1/ipv4/2x4/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/2x4/engine:tcp_rr/distinct/processes=16",
		}},
		{"topologies", func(s *Suite) {
			s.Topologies = []Topology{{2, 2, 1}, {1, 4, 16}, {2, 2, 1}}
			s.Networks = []string{"veth"}
		}, []string{
			"host/hosts=1/ipv4/2x2/engine:tcp_rr/distinct",
			"veth/hosts=1/ipv4/2x2/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x4/engine:tcp_rr/distinct/processes=16",
			"veth/hosts=1/ipv4/1x4/engine:tcp_rr/distinct/processes=16",
		}},
		{"conditions cross", func(s *Suite) {
			s.Conditions = Conditions{"mtu": {1500, 9000}, "rules": {0, 10}, "neighbours": {0}, "offload": {"on", "off"}, "normalize": {true}}
		}, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/normalize=1",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/offload=off/normalize=1",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/mtu=9000/normalize=1",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/mtu=9000/offload=off/normalize=1",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/rules=10/normalize=1",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/rules=10/offload=off/normalize=1",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/rules=10/mtu=9000/normalize=1",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/rules=10/mtu=9000/offload=off/normalize=1",
		}},
		{"underlays", func(s *Suite) {
			s.Networks = []string{"native"}
			s.Underlay = []Underlay{
				{}, {Rate: 1e9}, {Instance: "M4.10xlarge"}, {Instance: "D1"}, {Instance: "D1", Rate: 1e8},
				{Instance: "mine", Rate: 1e7}, {Instance: "m4.10xlarge", Rate: 10e9}, {Instance: "m4.10xlarge", Rate: 5e9},
				{Instance: "m4.10xlarge", Delay: time.Millisecond},
			}
		}, []string{
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=rate=1gbit",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=m4.10xlarge:rate=10gbit",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=D1:rate=100mbit",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=mine:rate=10mbit",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=m4.10xlarge:rate=5gbit",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=m4.10xlarge:rate=10gbit,delay=1ms",
		}},
		{"no link on one host", func(s *Suite) {
			s.Networks, s.Underlay, s.Conditions = []string{"macvlan"}, []Underlay{{Rate: 1e9}, {Rate: 1e8}}, Conditions{"mtu": {9000}}
		}, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/mtu=9000",
			"macvlan/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/mtu=9000",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=rate=1gbit/mtu=9000",
			"macvlan/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=rate=1gbit/mtu=9000",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=rate=100mbit/mtu=9000",
			"macvlan/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/underlay=rate=100mbit/mtu=9000",
		}},
		{"all tools that honour the options", func(s *Suite) {
			s.Tools = []string{"all"}
			s.Workloads = []Workload{{Name: "tcp_rr"}, {Name: "tcp_rr", Options: record.Options{Streams: 2}}}
		}, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/P=2/distinct",
			"host/hosts=1/ipv4/1x1/qperf:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/missing:tcp_rr/distinct",
		}},
		{"all tools of a family", func(s *Suite) { s.Tools, s.Families = []string{"all"}, []int{6, 4} }, []string{
			"host/hosts=1/ipv6/1x1/engine:tcp_rr/distinct",
			"host/hosts=1/ipv6/1x1/missing:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/qperf:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/missing:tcp_rr/distinct",
		}},
		{"the first tool that is there", func(s *Suite) { s.Tools = []string{"missing|qperf|engine"} }, []string{
			"host/hosts=1/ipv4/1x1/qperf:tcp_rr/distinct",
		}},
		{"a tool that is missing", func(s *Suite) { s.Tools = []string{"missing", "engine"} }, []string{
			"host/hosts=1/ipv4/1x1/missing:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
		}},
		{"tools of a workload", func(s *Suite) {
			s.Workloads = []Workload{{Name: "tcp_rr", Tools: []string{"qperf", "engine"}}, {Name: "tcp_stream"}}
		}, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct",
			"host/hosts=1/ipv4/1x1/engine:tcp_stream/distinct",
			"host/hosts=1/ipv4/1x1/qperf:tcp_rr/distinct",
		}},
		{"neighbours that overflow", func(s *Suite) { s.Networks, s.Conditions = []string{"overflowing"}, Conditions{"neighbours": {4090}} }, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/neighbours=4090",
			"overflowing/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/neighbours=4090",
		}},
		{"further services", func(s *Suite) { s.Networks, s.Conditions = []string{"serving"}, Conditions{"services": {10}} }, []string{
			"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/services=10",
			"serving/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/services=10",
		}},
		{"networks of pods", func(s *Suite) {
			s.Networks, s.Hosts, s.Conditions = []string{"kube:pod"}, []int{2}, Conditions{"cni": {"bridge", "flannel", "bridge"}}
		}, []string{
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"kube:pod/hosts=2/ipv4/1x1/engine:tcp_rr/distinct",
			"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/cni=flannel",
			"kube:pod/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/cni=flannel",
		}},
		{"a bridge that is full", func(s *Suite) { s.Networks, s.Servers, s.Clients = []string{"bridge"}, []int{511}, []int{512} }, []string{
			"host/hosts=1/ipv4/511x512/engine:tcp_rr/distinct",
			"bridge/hosts=1/ipv4/511x512/engine:tcp_rr/distinct",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := with("host")
			c.suite(&s)
			cells := expanded(t, s, drivers())
			if diff := cmp.Diff(c.want, record.Each(cells, record.Cell.Key)); diff != "" {
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
		{"network", func(s *Suite) { s.Networks = []string{"veth", "brigde"} }, `networks[1]: unknown network "brigde"; did you mean "bridge"? nettoll list networks shows all`, "--networks"},
		{"strange network", func(s *Suite) { s.Networks = []string{"quux"} }, `networks[0]: unknown network "quux"; nettoll list networks shows all`, "--networks"},
		{"network of another platform", func(s *Suite) { s.Networks = []string{"pod"} }, `networks[0]: lab has no network "pod", kube has: did you mean "kube:pod"? nettoll list networks shows all`, "--networks"},
		{"platform", func(s *Suite) { s.Networks = []string{"dokcer:bridge"} }, `networks[0]: unknown platform "dokcer"; did you mean "docker"? nettoll list platforms shows all`, "--networks"},
		{"workload", func(s *Suite) { s.Workloads = []Workload{{Name: "tcp_steam"}} }, `workloads[0]: unknown workload "tcp_steam"; did you mean "tcp_stream"? nettoll list workloads shows all`, "--workloads"},
		{"tool", func(s *Suite) { s.Tools = []string{"engin"} }, `tools[0]: unknown tool "engin"; did you mean "engine"? nettoll list tools shows all`, "--tools"},
		{"workload of another tool", func(s *Suite) { s.Workloads = []Workload{{Name: "tcp_crr"}} }, `workloads[0]: no tool that was asked for drives tcp_crr; measure with qperf, too`, "--workloads"},
		{"hosts", func(s *Suite) { s.Networks, s.Hosts = []string{"macvlan", "vxlan"}, []int{1} }, `networks[1]: vxlan makes sense on 2 or more hosts, asked for is 1; change the number of hosts, or leave vxlan out`, "--networks"},
		{"family", func(s *Suite) { s.Networks, s.Families = []string{"four"}, []int{6} }, `networks[0]: four carries IPv4 only; measure that, too, or leave four out`, "--networks"},
		{"ports of a bridge", func(s *Suite) { s.Networks, s.Servers, s.Clients = []string{"bridge"}, []int{512}, []int{512} }, `clients: one host would hold 1024 servers and clients, bridge takes 1023 there; write fewer, or leave bridge out`, "--clients"},
		{"ports of a bridge of two hosts", func(s *Suite) { s.Networks, s.Servers, s.Clients = []string{"vxlan"}, []int{1}, []int{1023} }, `clients: one host would hold 1023 servers and clients, vxlan takes 1022 there; write fewer, or leave vxlan out`, "--clients"},
		{"addresses", func(s *Suite) { s.Networks, s.Clients = []string{"sharedns"}, []int{4092} }, `clients: one host would hold 4093 servers and clients, sharedns takes 4092 there; write fewer, or leave sharedns out`, "--clients"},
		{"neighbours of a bridge", func(s *Suite) {
			s.Networks, s.Conditions = []string{"bridge"}, Conditions{"neighbours": {0, 1021, 1022}}
		}, `neighbours: one host would hold 1024 servers, clients and neighbours, bridge takes 1023 there; write fewer, or leave bridge out`, "--neighbours"},
		{"addresses of neighbours", func(s *Suite) { s.Networks, s.Conditions = []string{"overflowing"}, Conditions{"neighbours": {8183}} }, `neighbours: one host would hold 8185 servers, clients and neighbours, overflowing takes 8184 there; write fewer, or leave overflowing out`, "--neighbours"},
		{"clients that do not overflow", func(s *Suite) {
			s.Networks, s.Clients, s.Conditions = []string{"overflowing"}, []int{1023}, Conditions{"neighbours": {5}}
		}, `clients: one host would hold 1024 servers and clients, overflowing takes 1023 there; write fewer, or leave overflowing out`, "--clients"},
		{"too many of a topology", func(s *Suite) { s.Networks, s.Topologies = []string{"bridge"}, []Topology{{1, 1, 1}, {500, 524, 1}} }, `topologies[1]: one host would hold 1024 servers and clients, bridge takes 1023 there; write fewer, or leave bridge out`, "--topologies"},
		{"processes", func(s *Suite) { s.Processes = []int{0} }, `processes: 0 processes are not possible; write a number from 1 to 6379`, "--processes"},
		{"ports of clients", func(s *Suite) { s.Servers, s.Clients = []int{1000}, []int{4000} }, `clients: the servers of 1000x4000 need 16000 ports, there are 12767 from 20001 on; write fewer clients or processes`, "--clients"},
		{"ports of processes", func(s *Suite) { s.Clients, s.Processes = []int{2}, []int{3189, 3190} }, `processes: the servers of 1x2x3190 need 12768 ports, there are 12767 from 20001 on; write fewer clients or processes`, "--processes"},
		{"no clients for any", func(s *Suite) { s.Servers, s.Clients = []int{4, 8}, []int{2, 3} }, `servers: 1 of 4 servers would have no client; write at least as many clients as servers`, "--servers"},
		{"no clients for some", func(s *Suite) { s.Servers, s.Clients = []int{1, 8}, []int{4} }, `servers: 4 of 8 servers would have no client; write at least as many clients as servers`, "--servers"},
		{"no servers for some", func(s *Suite) { s.Servers, s.Clients = []int{4}, []int{2, 8} }, `clients: 2 of 4 servers would have no client; write at least as many clients as servers`, "--clients"},
		{"a tool that is never used", func(s *Suite) {
			s.Tools, s.Workloads = []string{"nope"}, []Workload{{Name: "tcp_stream", Tools: []string{"engine"}}}
		}, `tools[0]: unknown tool "nope"; nettoll list tools shows all`, "--tools"},
		{"a topology without clients", func(s *Suite) { s.Topologies = []Topology{{1, 1, 1}, {4, 2, 1}} }, `topologies[1]: 4x2: 2 of 4 servers would have no client; write at least as many clients as servers`, "--topologies"},
		{"topologies and clients", func(s *Suite) { s.Topologies, s.Clients = []Topology{{1, 1, 1}}, []int{1} }, `topologies: clients and topologies contradict each other; leave one out`, "--topologies"},
		{"MTU", func(s *Suite) { s.Conditions = Conditions{"mtu": {1279}} }, `mtu: 1279 bytes are not a possible MTU; write a number from 1280 to 65535`, "--mtu"},
		{"one MTU", func(s *Suite) { s.Conditions = Conditions{"mtu": {1500, 1000}} }, `mtu[1]: 1000 bytes are not a possible MTU; write a number from 1280 to 65535`, "--mtu"},
		{"services of none", func(s *Suite) { s.Conditions = Conditions{"services": {0, 10}} }, `services: no network of this run has services; add one, such as serving or kube:service`, "--services"},
		{"services", func(s *Suite) { s.Conditions = Conditions{"services": {10001}} }, `services: 10001 services are not possible; write a number from 0 to 10000`, "--services"},
		{"pods of none", func(s *Suite) { s.Conditions = Conditions{"cni": {"flannel"}} }, `cni: no network of this run has pods; add one, such as kube:pod`, "--cni"},
		{"cni", func(s *Suite) { s.Conditions = Conditions{"cni": {"weave"}} }, `cni: "weave" is not possible; write bridge, flannel or calico`, "--cni"},
		{"combinations", func(s *Suite) {
			var many []any
			for i := range 101 {
				many = append(many, i)
			}
			s.Conditions = Conditions{"neighbours": many, "rules": many}
		}, `rules: there are more than 10000 ways to combine it with the other conditions; write fewer`, "--rules"},
		{"rules", func(s *Suite) { s.Conditions = Conditions{"rules": {-1}} }, `rules: -1 rules are not possible; write a number from 0 to 100000`, "--rules"},
		{"offload", func(s *Suite) { s.Conditions = Conditions{"offload": {"of"}} }, `offload: "of" is not possible; write on or off`, "--offload"},
		{"instance", func(s *Suite) { s.Underlay = []Underlay{{Instance: "m4.10xlrge"}} }, `underlay: unknown instance "m4.10xlrge"; did you mean "m4.10xlarge"? nettoll list instances shows all, or write its rate, such as m4.10xlrge:rate=1gbit`, "--underlay"},
		{"instance without a rate", func(s *Suite) { s.Underlay = []Underlay{{Instance: "d1"}} }, `underlay: the network of D1 is advertised as "unknown", which is not a rate; write the one it has, such as D1:rate=1gbit`, "--underlay"},
		{"instances of no rate", func(s *Suite) { s.Underlay = []Underlay{{Instance: "d1"}, {Instance: "D1"}} }, `underlay: the network of D1 is advertised as "unknown", which is not a rate; write the one it has, such as D1:rate=1gbit`, "--underlay"},
		{"source", func(s *Suite) { s.Source = "icc-2013" }, `source: unknown source "icc-2013"; did you mean "icc-2014"?`, "--source"},
		{"strange source", func(s *Suite) { s.Source = "a paper" }, `source: unknown source "a paper"; known are cloud-2015, host-bridge, icc-2014, overlay-2015, single-node-2017`, "--source"},
		{"link of one host", func(s *Suite) { s.Networks, s.Underlay = []string{"veth"}, []Underlay{{}, {Rate: 1e9}} }, `underlay: there is no link to shape, since every network of this run is on one host; change the number of hosts, add a network between hosts, such as native, or leave it out`, "--underlay"},
		{"equal load of none", func(s *Suite) {
			s.EqualLoad, s.Workloads = true, []Workload{{Name: "tcp_crr"}, {Name: "tcp_stream", Options: record.Options{Bandwidth: 1e8}}}
		}, `equal_load: none of the workloads is measured at equal load; name tcp_rr, or tcp_stream without a bandwidth, or leave it out`, "--equal-load"},
		{"option of a tool", func(s *Suite) {
			s.Tools, s.Workloads = []string{"engine", "qperf"}, []Workload{{Name: "tcp_rr", Options: record.Options{Streams: 4}}}
		}, `tools[1]: qperf does not honour streams on tcp_rr; engine can; name one that can, or leave the option out`, "--tools"},
		{"size of a tool", func(s *Suite) {
			s.Tools, s.Workloads = []string{"qperf"}, []Workload{{Name: "tcp_rr", Options: record.Options{RequestSize: 64 << 10}}}
		}, `workloads[0].request_size: 64K is not possible; qperf drives tcp_rr with a request size from 14 to 65507`, "--request-size"},
		{"size of no tool", func(s *Suite) {
			s.Tools, s.Workloads = []string{"all"}, []Workload{{Name: "udp_rr", Options: record.Options{RequestSize: 13}}}
		}, `workloads[0].request_size: 13 is not possible; qperf drives udp_rr with a request size from 14 to 65507`, "--request-size"},
		{"warm-up of a tool", func(s *Suite) {
			s.Tools, s.Workloads, s.Warmup = []string{"qperf"}, []Workload{{Name: "tcp_crr"}}, 0
		}, `warmup: qperf drives tcp_crr only after a warm-up, such as 200ms`, "--warmup"},
		{"option of the only tool", func(s *Suite) {
			s.Tools, s.Workloads = []string{"qperf"}, []Workload{{Name: "tcp_crr", Options: record.Options{RequestSize: 4}}}
		}, `tools[0]: qperf does not honour request-size on tcp_crr; no tool does; leave the option out`, "--tools"},
		{"option of no tool", func(s *Suite) {
			s.Tools, s.Workloads = []string{"all"}, []Workload{{Name: "tcp_crr", Options: record.Options{RequestSize: 4}}}
		}, `workloads[0]: no tool drives tcp_crr with request-size; leave options out`, "--workloads"},
		{"tool of a workload", func(s *Suite) { s.Workloads = []Workload{{Name: "tcp_rr", Tools: []string{"qprf"}}} }, `workloads[0].tools[0]: unknown tool "qprf"; did you mean "qperf"? nettoll list tools shows all`, "--tools"},
		{"one of several tools", func(s *Suite) { s.Tools = []string{"engin|qperf"} }, `tools[0]: unknown tool "engin"; did you mean "engine"? nettoll list tools shows all`, "--tools"},
		{"family of a tool", func(s *Suite) { s.Tools, s.Families = []string{"qperf"}, []int{6} }, `tools[0]: qperf drives tcp_rr over IPv4 only; add 4 to families, or leave qperf out`, "--tools"},
		{"too many topologies", func(s *Suite) {
			var neighbours []any
			for i := range 101 {
				s.Clients, s.Processes = append(s.Clients, i+1), append(s.Processes, i+1)
				neighbours = append(neighbours, i+1)
			}
			s.Processes = s.Processes[:60]
			s.Conditions = Conditions{"neighbours": neighbours}
		}, `networks: the suite has up to 1224120 cells; name fewer networks, workloads or placements: 10000 is the limit`, "--networks"},
		{"budget", func(s *Suite) {
			s.Networks, s.Duration, s.Warmup, s.TimeBudget = []string{"bridge", "veth"}, time.Second, 0, 3*time.Second
		}, `time_budget: 3s is less than one round of 3 cells takes, about 3.25s; write more, or measure less`, "--time-budget"},
		{"too many", func(s *Suite) {
			s.Networks, s.Workloads = []string{"all"}, nil
			for i := range 1000 {
				s.Workloads = append(s.Workloads, Workload{Name: "tcp_rr", Options: record.Options{RequestSize: i + 1}})
			}
		}, `networks: the suite has up to 28000 cells; name fewer networks, workloads or placements: 10000 is the limit`, "--networks"},
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

// TestBudgetIsComparedWithTurns checks that a budget is refused by the time that turns take, though which congestion control
// connections will use is not known yet.
func TestBudgetIsComparedWithTurns(t *testing.T) {
	known := Known{
		Networks: []Network{{Name: "tunnel", Hosts: []int{1}, Carried: true}},
		Tools:    []Tool{{Name: "engine", Drives: []Drive{{Workload: record.TCPStream, Turns: true}}}},
	}
	s := Default()
	s.Networks, s.Workloads = []string{"tunnel"}, []Workload{{Name: record.TCPStream}}
	cells := expanded(t, s, known)
	turns, whole := s.Estimate(cells, known).Round, Estimate(cells, Settings(s), known).Round
	if whole >= turns {
		t.Fatalf("a round of turns takes %v, one of whole trials %v", turns, whole)
	}
	for budget, enough := range map[time.Duration]bool{turns: true, turns - time.Millisecond: false} {
		s.TimeBudget = budget
		if _, err := Expand(s, known); (err == nil) != enough {
			t.Errorf("rounds of %v within %v: %v", turns, budget, err)
		}
	}
}

func TestSelfCheck(t *testing.T) {
	s := with("macvlan")
	cells, err := SelfCheck(s, drivers())
	iferr.Fatal(t, err)
	want := []string{
		"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/twin=1",
		"host/hosts=1/ipv4/1x1/engine:tcp_rr/distinct/twin=2",
		"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/twin=1",
		"native/hosts=2/ipv4/1x1/engine:tcp_rr/distinct/twin=2",
	}
	if diff := cmp.Diff(want, record.Each(cells, record.Cell.Key)); diff != "" {
		t.Error(diff)
	}
	if visits := Visits(cells, 1, 1); len(visits) != 4 {
		t.Errorf("%d visits, want one for each twin", len(visits))
	}
	serves := with("serving")
	serves.Conditions = Conditions{"services": {10}}
	if cells, err := SelfCheck(serves, drivers()); err != nil || cells[0].Services != 10 {
		t.Errorf("of a network with services: %v, %v", cells, err)
	}
	if _, err := SelfCheck(with("nothing"), drivers()); err == nil {
		t.Error("an unknown network is no error")
	}
}

func TestTwoHostsStandForAnyNumberAboveOne(t *testing.T) {
	s := with("macvlan", "veth", "vxlan")
	s.Networks, s.Hosts = []string{"all"}, []int{3}
	cells := expanded(t, s, trusted())
	var names []string
	for _, c := range cells {
		if c.Hosts != 3 {
			t.Errorf("%s is on %d hosts", c.Network, c.Hosts)
		}
		names = append(names, c.Network)
	}
	if !slices.Contains(names, "native") || !slices.Contains(names, "vxlan") || slices.Contains(names, "veth") {
		t.Errorf("on three hosts are %v, want those that make sense on two", names)
	}
}

// TestEqualLoad checks that a suite gets the workloads of equal load in addition to its own, with their options,
// but only for workloads that have one.
func TestEqualLoad(t *testing.T) {
	s := Default()
	s.EqualLoad = true
	s.Workloads = []Workload{
		{Name: record.TCPStream, Options: record.Options{Streams: 4}},
		{Name: record.TCPStream, Options: record.Options{Bandwidth: 5}},
		{Name: record.TCPRR, Options: record.Options{RequestSize: 100}, Tools: []string{"qperf"}},
		{Name: record.TCPCRR},
	}
	engine := []string{"engine"}
	want := append(slices.Clone(s.Workloads),
		Workload{Name: record.TCPStream, Options: record.Options{Streams: 4, Bandwidth: 1e9}, Tools: engine},
		Workload{Name: record.PacedRR, Options: record.Options{RequestSize: 100, Rate: 10_000}, Tools: engine})
	if diff := cmp.Diff(want, s.loads()); diff != "" {
		t.Error(diff)
	}
	if s.EqualLoad = false; !cmp.Equal(s.loads(), s.Workloads) {
		t.Error(s.loads())
	}
}

func TestSkipped(t *testing.T) {
	s := with("veth", "bridge")
	s.Skips = []Skip{{Network: "ovs", Reason: "not yet"}, {Network: "bridge", Reason: "measured all the same"}}
	s.Underlay = []Underlay{{}, {Instance: "d1"}}
	want := []Skip{
		{Network: "ovs", Reason: "not yet"},
		{Underlay: "D1", Reason: `the network of D1 is advertised as "unknown", which is not a rate; write the one it has, such as D1:rate=1gbit`},
	}
	if diff := cmp.Diff(want, Skipped(s, drivers())); diff != "" {
		t.Error(diff)
	}
	s = with("host", "vxlan", "four", "bridge", "all")
	s.Hosts, s.Families = []int{1, 2, 3}, []int{4, 6}
	want = []Skip{
		{Network: "vxlan on 1 host", Reason: "it makes sense on 2 or more hosts"},
		{Network: "four on 1 host", Reason: "it makes sense on 2 or more hosts"},
		{Network: "four over IPv6", Reason: "it carries IPv4 only"},
		{Network: "bridge on 2 or 3 hosts", Reason: "it makes sense on 1 host"},
	}
	if diff := cmp.Diff(want, Skipped(s, drivers())); diff != "" {
		t.Error(diff)
	}
}

func TestFiles(t *testing.T) {
	known := drivers()
	known.Files = 1000
	for _, c := range []struct {
		name  string
		suite func(*Suite)
		want  string
	}{
		{"few", func(s *Suite) { s.Clients = []int{100} }, ""},
		{"processes", func(s *Suite) { s.Processes = []int{1, 250} },
			`processes: 1x1x250 needs 1106 open files in one process, 1000 are allowed here; write fewer, or raise the limit (ulimit -n)`},
		{"streams", func(s *Suite) {
			s.Clients, s.Workloads = []int{8}, []Workload{{Name: "tcp_rr"}, {Name: "tcp_rr", Options: record.Options{Streams: 128}}}
		},
			`clients: 1x8 with 128 streams each needs 1124 open files in one process, 1000 are allowed here; write fewer, or raise the limit (ulimit -n)`},
		{"streams of several servers", func(s *Suite) {
			s.Servers, s.Clients, s.Workloads = []int{8}, []int{8}, []Workload{{Name: "tcp_rr", Options: record.Options{Streams: 128}}}
		}, ""},
		{"the least", func(*Suite) { known.Files = 64 }, `a run needs 110 open files in one process, 64 are allowed here; raise the limit (ulimit -n)`},
	} {
		s := with("veth")
		c.suite(&s)
		if _, err := Expand(s, known); message(err) != c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestSetWorkloads(t *testing.T) {
	s := with("veth")
	s.file, s.at = "x.yaml", map[string]string{"workloads": "x.yaml:3:1", "workloads[0]": "x.yaml:3:2", "workloads[0].gso": "x.yaml:3:9"}
	before := s
	s.SetWorkloads([]Workload{{Name: "tcp_rr", Options: record.Options{GSO: true}}})
	if want := "x.yaml:3:1: workloads[0].gso: has no effect on tcp_rr; leave it out"; message(s.Validate()) != want {
		t.Errorf("got  %v\nwant %s", s.Validate(), want)
	}
	if err := before.Validate(); err != nil || len(before.at) != 3 {
		t.Errorf("the suite it was made from has changed: %v, %v", before.at, err)
	}
}
