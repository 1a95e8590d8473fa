// Package techniquetest is the conformance suite of techniques: one suite for
// all. It also writes the techniques' pages of the documentation, from networks
// as they really were.
package techniquetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/technique"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// Conform runs the suite on a technique in the lab.
func Conform(t *testing.T, tech technique.Technique) {
	p := lab.New()
	if err := tech.Probe(t.Context(), p); err != nil {
		mustBeMissing(t, err)
		t.Skip(err)
	}
	for _, hosts := range tech.Hosts() {
		if hosts == 2 {
			t.Run("hosts=3", func(t *testing.T) { several(t, p, tech, 3) })
		} else {
			t.Run("several", func(t *testing.T) { several(t, p, tech, hosts) })
		}
		t.Run(fmt.Sprintf("hosts=%d", hosts), func(t *testing.T) {
			t.Run("traffic", func(t *testing.T) { traffic(t, p, tech, hosts) })
			t.Run("addresses", func(t *testing.T) { addresses(t, p, tech, hosts) })
			t.Run("leaves nothing", func(t *testing.T) { leavesNothing(t, p, tech, hosts) })
		})
	}
	t.Run("page", func(t *testing.T) { page(t, p, tech) })
}

// several is a network with all that a topology can have: client processes that share
// a container, neighbours, rules, another MTU, more than two hosts. Datagrams cross
// it too.
func several(t *testing.T, p platform.Platform, tech technique.Technique, hosts int) {
	var cells []record.Cell
	for _, load := range []string{record.TCPRR, record.UDPRR} {
		cells = append(cells, record.Cell{
			Network: tech.Name(), Hosts: hosts, Family: 4, Servers: 2, Clients: 3, Processes: 2,
			Neighbours: 3, Rules: 30, MTU: 9000,
			Tool: "engine", Workload: load, Placement: record.PlacementFree,
		})
	}
	want(t, Measure(t, p, tech, cells))
}

// traffic sends both workloads over both families, between one pair and among
// several, and wants every path proved.
func traffic(t *testing.T, p platform.Platform, tech technique.Technique, hosts int) {
	var cells []record.Cell
	for _, size := range [][2]int{{1, 1}, {2, 3}} {
		for _, family := range []int{4, 6} {
			for _, load := range []string{record.TCPStream, record.TCPRR} {
				cells = append(cells, record.Cell{
					Network: tech.Name(), Hosts: hosts, Family: family, Servers: size[0], Clients: size[1],
					Tool: "engine", Workload: load, Placement: record.PlacementFree,
				})
			}
		}
	}
	want(t, Measure(t, p, tech, cells))
}

// want says of trials what is not as it should be.
func want(t *testing.T, trials []record.Trial) {
	t.Helper()
	for _, trial := range trials {
		if trial.Status != record.OK {
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
			for _, h := range trial.Path {
				t.Logf("%+v", h)
			}
			continue
		}
		if want := trial.Cell.Pairs(); len(trial.Flows) != want {
			t.Errorf("%s: %d flows, want %d", trial.Cell.Key(), len(trial.Flows), want)
		}
		if len(trial.Path) == 0 || len(trial.Endpoints) == 0 {
			t.Errorf("%s: no path or no endpoints recorded", trial.Cell.Key())
		}
	}
}

// tries is how often a trial that failed is run: on a machine that does something else a
// flow can stand still for longer than the window. What took another path is no
// matter of luck, and not tried again.
const tries = 3

// Measure runs one round of cells over one technique, and again what failed.
func Measure(t *testing.T, p platform.Platform, tech technique.Technique, cells []record.Cell) []record.Trial {
	t.Helper()
	trials := measure(t, p, tech, cells)
	for range tries - 1 {
		var again []record.Cell
		for _, trial := range trials {
			if trial.Status == record.Failed {
				t.Logf("%s: %s", trial.Cell.Key(), trial.Reason)
				again = append(again, trial.Cell)
			}
		}
		if len(again) == 0 {
			break
		}
		trials = slices.DeleteFunc(trials, func(t record.Trial) bool { return t.Status == record.Failed })
		trials = append(trials, measure(t, p, tech, again)...)
	}
	return trials
}

func measure(t *testing.T, p platform.Platform, tech technique.Technique, cells []record.Cell) []record.Trial {
	t.Helper()
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	more := slack(t)
	var trials []record.Trial
	r := &runner.Runner{
		Platform:   p,
		Techniques: map[string]technique.Technique{tech.Name(): tech},
		Tools:      map[string]workload.Tool{"engine": engine.New()},
		Machine:    m,
		Settings:   record.Settings{Duration: 0.3 + more, Warmup: 0.05 + more, MinRounds: 1, MaxRounds: 1, Confidence: 0.95, Seed: 1},
		Cells:      cells,
		Save: func(t record.Trial) error {
			trials = append(trials, t)
			return nil
		},
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(trials) != len(cells) {
		t.Errorf("%d trials of %d cells", len(trials), len(cells))
	}
	return trials
}

// slack is how many seconds warm-up and window are to be longer than on an ordinary
// machine. On an emulated one a flow may stand still for longer than either.
func slack(t *testing.T) float64 {
	const variable = "NETTOLL_TEST_SLACK"
	text := os.Getenv(variable)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		t.Fatalf("%s=%s is no duration", variable, text)
	}
	return d.Seconds()
}

// The ranges set aside for benchmarking, RFC 2544 and RFC 5180.
var (
	range4 = netip.MustParsePrefix("198.18.0.0/15")
	range6 = netip.MustParsePrefix("2001:2::/48")
)

func addresses(t *testing.T, p platform.Platform, tech technique.Technique, hosts int) {
	n := connect(t, p, tech, technique.Topology{Hosts: hosts, Servers: 2, Clients: 3})
	if got := len(n.Servers()); got != 2 {
		t.Errorf("%d servers, want 2", got)
	}
	if got := len(n.Clients()); got != 3 {
		t.Errorf("%d clients, want 3", got)
	}
	for i, c := range n.Clients() {
		s := n.Servers()[i%2]
		for _, f := range []technique.Family{technique.IPv4, technique.IPv6} {
			a, err := n.Addr(c, s, f)
			if err != nil {
				t.Fatal(err)
			}
			if a.Is6() != (f == technique.IPv6) {
				t.Errorf("%s is no address of family %d", a, f)
			}
			if !a.IsLoopback() && !range4.Contains(a) && !range6.Contains(a) {
				t.Errorf("%s is outside the ranges for benchmarking", a)
			}
			if len(n.Path(c, s, f)) == 0 {
				t.Errorf("no path from %s to %s", c.Name(), s.Name())
			}
		}
	}
}

// leavesNothing takes a network down on hosts that stay, as those of other
// platforms do, and compares what is on the hosts before and after.
func leavesNothing(t *testing.T, p platform.Platform, tech technique.Technique, hosts int) {
	k := &kept{Platform: p}
	t.Cleanup(func() { k.hosts.Close(context.Background()) })
	if _, err := k.Hosts(t.Context(), platform.HostRequest{Count: hosts}); err != nil {
		t.Fatal(err)
	}
	before := k.inventory(t)
	n, err := tech.Connect(t.Context(), technique.Topology{Hosts: hosts, Servers: 2, Clients: 2}, k)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time must do no harm
		if err := n.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if after := k.inventory(t); after != before {
		t.Errorf("left on the hosts:\n%s\nbefore:\n%s", after, before)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := tech.Connect(ctx, technique.Topology{Hosts: hosts, Servers: 1, Clients: 1}, k); err == nil {
		n.Close(t.Context())
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if after := k.inventory(t); after != before {
		t.Errorf("left on the hosts after it was cancelled:\n%s\nbefore:\n%s", after, before)
	}
}

func connect(t *testing.T, p platform.Platform, tech technique.Technique, topo technique.Topology) technique.Network {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n, err := tech.Connect(ctx, topo, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return n
}
