package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// bridgePorts is how many ports a Linux bridge can have.
const bridgePorts = 1023

// trusted returns what can be measured on a machine that has the tools of the published measurements, with the
// times that their trials take.
func trusted() Known {
	k := drivers()
	k.Networks = append(k.Networks,
		Network{Name: "iptables", Hosts: []int{1, 2}, Endpoints: bridgePorts},
		Network{Name: "pipework-veth", Hosts: []int{1}, Endpoints: bridgePorts},
		Network{Name: "bridge-nonf", Hosts: []int{1}, Endpoints: bridgePorts})
	for _, name := range []string{"flannel-udp", "flannel-vxlan", "weave-sleeve", "udp-overlay-packet", "calico-bgp", "routed-bgp"} {
		k.Networks = append(k.Networks, Network{Name: name, Hosts: []int{2}, Endpoints: bridgePorts})
	}
	for _, name := range []string{"ovs", "ovs-userspace-tso"} {
		k.Networks = append(k.Networks, Network{Name: name, Hosts: []int{1}, Endpoints: 200})
	}
	startup := map[string]time.Duration{
		"ovs": 500 * time.Millisecond, "ovs-userspace-tso": 500 * time.Millisecond, "flannel-udp": time.Second, "flannel-vxlan": time.Second,
		"weave-sleeve": 2 * time.Second, "calico-bgp": 3 * time.Second, "routed-bgp": 2 * time.Second,
	}
	for i := range k.Networks {
		n := &k.Networks[i]
		n.Startup = startup[n.Name]
		n.Carried = slices.Contains([]string{"flannel-udp", "weave-sleeve", "udp-overlay-packet", "ovs-userspace-tso"}, n.Name)
	}
	k.Platforms = append(k.Platforms, Platform{Name: "kubernetes", Native: "native"})
	for _, name := range []string{"native", "pod", "service"} {
		k.Networks = append(k.Networks, Network{Name: name, Hosts: []int{1, 2}, Endpoints: 100, Platforms: []string{"kubernetes"}})
	}
	tool := func(name, workloads string, options ...string) Tool {
		t := Tool{Name: name, Step: time.Second, Lead: 600 * time.Millisecond}
		for _, w := range strings.Fields(workloads) {
			t.Drives = append(t.Drives, Drive{Workload: w, Options: options})
		}
		return t
	}
	for i := range k.Tools[0].Drives { // the engine's
		k.Tools[0].Drives[i].Turns = true
	}
	k.Tools = append(k.Tools[:1],
		tool("iperf", "tcp_stream", "streams", "window"),
		tool("iperf3", "tcp_stream", "streams", "window"),
		tool("netperf", "tcp_stream tcp_rr tcp_crr", "message-size"),
		tool("qperf", "tcp_stream tcp_rr", "message-size"))
	return k
}

func TestNames(t *testing.T) {
	want := []string{"quick", "full", "cloud-2015", "host-bridge", "icc-2014", "kubernetes", "overlay-2015", "single-node-2017"}
	if names := Names(); !slices.Equal(names, want) {
		t.Errorf("names are %v", names)
	}
	_, err := Embedded("quik")
	if want := `unknown suite "quik"; did you mean "quick"? nettoll list suites shows all`; message(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestEmbedded checks that each suite can measure its least number of rounds within its budget, and as many as a verdict takes.
func TestEmbedded(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s := embedded(t, name)
			if s.Name != name || s.About == "" || s.Source != "" && s.Source != name {
				t.Errorf("name is %q, about %q, source %q", s.Name, s.About, s.Source)
			}
			cells := expanded(t, s, trusted())
			s = s.Shortened(cells, "cubic", trusted())
			f := s.Estimate(cells, trusted())
			t.Logf("%d cells, round %s", f.Cells, f.Round)
			if need := f.Round * time.Duration(s.MinRounds); s.TimeBudget == 0 || need > s.TimeBudget {
				t.Errorf("%d rounds of %d cells take %s, the budget is %s", s.MinRounds, f.Cells, need, s.TimeBudget)
			}
			// With weaver, whose networks few machines can build, this suite takes more than an hour; a run says so.
			if name != "cloud-2015" && f.Short(0) {
				t.Errorf("%d rounds within the budget are too few for a verdict among %d comparisons, which takes %d", f.MaxRounds, f.Comparisons, f.Verdict)
			}
			if s.MinRounds < 6 {
				t.Errorf("%d rounds cannot tell a difference at 95 %%", s.MinRounds)
			}
			for _, k := range Skipped(s, trusted()) {
				if slices.ContainsFunc(cells, func(c record.Cell) bool { return c.Network == k.Network }) {
					t.Errorf("%s is skipped (%s) and measured", k.Network, k.Reason)
				}
			}
		})
	}
}

// TestShortened has time budgets for which trials are shortened, and such that leave them as they are.
func TestShortened(t *testing.T) {
	const usual, short = 240 * time.Millisecond, 160 * time.Millisecond
	for _, c := range []struct {
		name       string
		suite      func(*Suite)
		congestion string
		want       time.Duration
	}{
		{"room only with short ones", func(*Suite) {}, "cubic", short},
		{"room with long ones", func(s *Suite) { s.TimeBudget = 2 * time.Minute }, "cubic", usual},
		{"room for no more than a verdict", func(s *Suite) { s.TimeBudget = 47 * time.Second }, "cubic", short},
		{"room for no more than a verdict with long ones", func(s *Suite) { s.TimeBudget = 63 * time.Second }, "cubic", short},
		{"no room", func(s *Suite) { s.TimeBudget = 20 * time.Second }, "cubic", usual},
		{"no budget", func(s *Suite) { s.TimeBudget = 0 }, "cubic", usual},
		{"no turns", func(s *Suite) { s.Turns = false }, "cubic", usual},
		{"no turns under BBR", func(*Suite) {}, "bbr", usual},
		{"some whole trials", func(s *Suite) { s.Tools = append(s.Tools, "iperf3") }, "cubic", usual},
		{"shorter ones", func(s *Suite) { s.Duration = 100 * time.Millisecond }, "cubic", 100 * time.Millisecond},
	} {
		s := embedded(t, DefaultSuite)
		s.TimeBudget = time.Minute
		c.suite(&s)
		if got := s.Shortened(expanded(t, s, trusted()), c.congestion, trusted()); got.Duration != c.want {
			t.Errorf("%s: %v, want %v", c.name, got.Duration, c.want)
		}
	}
	given, err := Load("suite", strings.NewReader("networks: [host, bridge, published, native, vxlan, routed]\nduration: 240ms\ntime_budget: 1m\n"))
	iferr.Fatal(t, err)
	if got := given.Shortened(expanded(t, given, trusted()), "cubic", trusted()); got.Duration != usual {
		t.Errorf("a given duration became %v", got.Duration)
	}
}

func TestEmbeddedAsPublished(t *testing.T) {
	for _, c := range []struct {
		suite    string
		duration time.Duration
		rounds   int // 0 is as many as the suite wants
		drives   []string
	}{
		{"icc-2014", 5 * time.Second, 0, []string{"iperf:tcp_stream"}},
		{"overlay-2015", 10 * time.Second, 5, []string{"iperf:tcp_stream/P=10"}},
		{"cloud-2015", 5 * time.Minute, 0, []string{"iperf3:tcp_stream/P=128"}},
		{"host-bridge", 2 * time.Second, 5, []string{"qperf:tcp_stream", "qperf:tcp_rr"}},
		{"single-node-2017", 5 * time.Minute, 10, []string{"netperf:tcp_stream"}},
	} {
		t.Run(c.suite, func(t *testing.T) {
			short := embedded(t, c.suite)
			s, err := short.Published()
			iferr.Fatal(t, err)
			if s.Duration != c.duration || s.TimeBudget != 0 {
				t.Errorf("duration %s, budget %s", s.Duration, s.TimeBudget)
			}
			low, high := c.rounds, c.rounds
			if c.rounds == 0 {
				low, high = short.MinRounds, short.MaxRounds
			}
			if s.MinRounds != low || s.MaxRounds != high {
				t.Errorf("%d to %d rounds", s.MinRounds, s.MaxRounds)
			}
			cells := expanded(t, s, trusted())
			for _, cell := range cells {
				key := cell.Key()
				if !slices.ContainsFunc(c.drives, func(d string) bool { return strings.Contains(key, "/"+d+"/distinct") }) {
					t.Errorf("%s is not published", key)
				}
			}
		})
	}
	s := embedded(t, "quick")
	if _, err := s.Published(); err == nil {
		t.Error("quick is of no published source")
	}
}

// TestWithoutTools checks that each suite measures something on a machine that has none of its tools.
func TestWithoutTools(t *testing.T) {
	known := trusted()
	for i := range known.Tools[1:] {
		known.Tools[i+1].Missing = func() string { return "not installed" }
	}
	for _, name := range Names() {
		s := embedded(t, name)
		cells := expanded(t, s, known)
		if !slices.ContainsFunc(cells, func(c record.Cell) bool { return c.Tool == "engine" }) {
			t.Errorf("%s measures nothing without its tools", name)
		}
	}
}

// TestICC expects every cell of the source's three tables that has a network.
func TestICC(t *testing.T) {
	s := embedded(t, "icc-2014")
	cells := expanded(t, s, trusted())
	type place struct {
		network                     string
		servers, clients, processes int
	}
	have := make(map[place]bool)
	for _, c := range cells {
		have[place{c.Network, c.Servers, c.Clients, max(c.Processes, 1)}] = true
	}
	var want []place
	for _, n := range []string{"host", "iptables", "pipework-veth", "ovs", "ovs-userspace-tso"} {
		for _, clients := range []int{1, 2, 4, 8, 16, 20} {
			want = append(want, place{n, 1, clients, 1})
		}
		for _, both := range []int{1, 2, 4, 20} {
			want = append(want, place{n, both, both, 1})
		}
		for _, cp := range [][2]int{{1, 1}, {1, 2}, {1, 4}, {1, 16}, {2, 1}, {4, 1}, {16, 1}, {2, 2}, {4, 4}, {16, 16}} {
			want = append(want, place{n, 1, cp[0], cp[1]})
		}
	}
	for _, w := range want {
		if !have[w] {
			t.Errorf("%+v is missing", w)
		}
	}
}
