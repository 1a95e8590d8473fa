package runner_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/network/udpoverlay"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/runner/runnertest"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// inTurns measures one round of workloads over three networks of one host that take turns.
func inTurns(t *testing.T, p platform.Platform, tool workload.Tool, between network.Driver, workloads ...string) []record.Trial {
	t.Helper()
	return again(func() []record.Trial { return takeTurns(t, p, tool, 1, oneHost(between), workloads...) })
}

// oneHost returns three networks of one host.
func oneHost(between network.Driver) map[string]network.Driver {
	return map[string]network.Driver{"host": kernel.Host(), "veth": kernel.Veth(), "bridge": between}
}

func takeTurns(t *testing.T, p platform.Platform, tool workload.Tool, hosts int, networks map[string]network.Driver, workloads ...string) []record.Trial {
	t.Helper()
	return runnertest.Run(t, turnsOf(t, p, tool, hosts, networks, workloads...))
}

// turnsOf returns a run of one round in which networks take two or three turns each.
func turnsOf(t *testing.T, p platform.Platform, tool workload.Tool, hosts int, networks map[string]network.Driver, workloads ...string) *runner.Runner {
	t.Helper()
	congestion, err := sampler.ReadCongestion("/proc")
	iferr.Fatal(t, err)
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{},
		Tools:    map[string]workload.Tool{"engine": tool},
		Settings: record.Settings{Duration: 0.2, MaxRounds: 1, Turns: true, Congestion: congestion.Unpaced(true)},
	}
	for n, with := range networks {
		r.Networks[n] = runner.Recipe{Platform: p, Driver: with}
		for _, w := range workloads {
			r.Cells = append(r.Cells, record.Cell{
				Network: n, Hosts: hosts, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: w, Placement: record.PlacementDistinct,
			})
		}
	}
	return r
}

// TestNetworkApart measures a network that stands alone in the same run as two that take turns: it has a whole trial,
// and is set up like them.
func TestNetworkApart(t *testing.T) {
	polled := kernel.Bridge()
	polled.Apart = true
	for _, tr := range inTurns(t, lab.New(), engine.New(), polled, record.TCPRR) {
		if tr.Status != record.OK {
			t.Errorf("%s: %s, %s", tr.Cell.Network, tr.Status, tr.Reason)
			continue
		}
		if apart := tr.Cell.Network == "bridge"; (len(tr.Slices) == 0) != apart {
			t.Errorf("%s has %d slices", tr.Cell.Network, len(tr.Slices))
		}
		for _, e := range tr.Endpoints {
			if got := e.Sysctls["net.ipv4.tcp_slow_start_after_idle"]; got != "0" {
				t.Errorf("%s: %s begins anew after a rest: %q", tr.Cell.Network, e.Name, got)
			}
		}
	}
}

func TestNetworksTakeTurns(t *testing.T) {
	type interval struct {
		network  string
		from, to float64
	}
	turns := map[string][]interval{}
	for _, tr := range inTurns(t, lab.New(), engine.New(), kernel.Bridge(), record.TCPStream, record.TCPRR) {
		work, network := tr.Cell.Workload, tr.Cell.Network
		if tr.Status != record.OK || tr.CPU == nil || tr.CPU.Client.Total() <= 0 || tr.CPU.Server.Total() <= 0 {
			t.Errorf("%s, %s: %s, %s, CPU %+v", network, work, tr.Status, tr.Reason, tr.CPU)
			continue
		}
		var window float64
		var bytes, transactions uint64
		if known := slices.ContainsFunc(tr.Slices, func(s record.Slice) bool { return s.CPU != nil }); known != tr.CPU.Machine.Known() {
			t.Errorf("%s, %s: the cost of slices is known: %v, that of the trial: %v", network, work, known, !known)
		}
		for _, s := range tr.Slices {
			if s.CPU != nil && math.Abs(*s.CPU) > 2*s.Window*float64(runtime.NumCPU()) {
				t.Errorf("%s, %s: a slice of %v s took %v CPU seconds", network, work, s.Window, *s.CPU)
			}
			turns[work] = append(turns[work], interval{network, s.At, s.At + s.Window})
			window, bytes, transactions = window+s.Window, bytes+s.Bytes, transactions+s.Transactions
		}
		if len(tr.Slices) < 2 || math.Abs(window-tr.Window) > 1e-6 || window < 0.2-1e-6 {
			t.Errorf("%s, %s: %d slices of together %v s, the window was %v s", network, work, len(tr.Slices), window, tr.Window)
		}
		figure, want := record.Throughput, float64(bytes)*8/window
		if work == record.TCPRR {
			figure, want = record.TransactionRate, float64(transactions)/window
		}
		// Transactions across the edges of slices are divided between them.
		if got := tr.Metrics[figure].Value; got <= 0 || math.Abs(got-want) > 0.01*want+float64(len(tr.Slices))/window {
			t.Errorf("%s, %s: %s is %v, its slices make it %v", network, work, figure, got, want)
		}
		for _, e := range tr.Endpoints {
			if got := e.Sysctls["net.ipv4.tcp_slow_start_after_idle"]; got != "0" {
				t.Errorf("%s, %s: %s begins anew after a rest: %q", network, work, e.Name, got)
			}
		}
		for _, f := range tr.Flows {
			if own, _ := sampler.ReadCongestion("/proc"); f.TCP.Congestion != own.Unpaced(true) {
				t.Errorf("%s, %s: congestion control %s, want %s", network, work, f.TCP.Congestion, own.Unpaced(true))
			}
		}
	}
	const nearest = 0.3 // seconds
	for work, all := range turns {
		slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
		for i, one := range all {
			if i > 0 && one.from < all[i-1].to {
				t.Errorf("%s: %v had its turn in that of %v", work, one, all[i-1])
			}
			near := slices.ContainsFunc(all, func(o interval) bool {
				return o.network == "host" && math.Abs(o.from-one.from) < nearest
			})
			if !near {
				t.Errorf("%s: %v had no turn of the baseline within %v s", work, one, nearest)
			}
		}
	}
}

// TestTunnelsOfDaemonsHaveLongerTurns checks that a network whose daemons carry the payload has more time to settle, since they are slow
// when they have rested, and more until the next turn begins, since they queue more than the kernel does. The window of its turn
// that does not count is as long as the others, and shorter in networks of the kernel.
func TestTunnelsOfDaemonsHaveLongerTurns(t *testing.T) {
	networks := map[string]network.Driver{"native": kernel.Native(), "tunnel": udpoverlay.NewTUN()}
	type begun struct {
		at      float64
		network string
	}
	var all []begun
	var mu sync.Mutex
	var told []workload.Turns
	tool := engine.New()
	stand := tool.Stand
	tool.Stand = func(ctx context.Context, job workload.Job) (workload.Standing, error) {
		s, err := stand(ctx, job)
		done := make(chan struct{})
		close(done)
		return midStanding{s, done, func(when workload.Turns) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, when)
		}}, err
	}
	trials := again(func() []record.Trial {
		told = nil
		return takeTurns(t, lab.New(), tool, 2, networks, record.TCPStream)
	})
	for _, tr := range trials {
		if tr.Status != record.OK {
			t.Errorf("%s: %s, %s", tr.Cell.Network, tr.Status, tr.Reason)
		}
		for _, s := range tr.Slices {
			all = append(all, begun{s.At, tr.Cell.Network})
		}
	}
	slices.SortFunc(all, func(a, b begun) int { return cmp.Compare(a.at, b.at) })
	turnOf := func(network string) plan.Turn { return plan.TurnOf(record.TCPStream, network == "tunnel") }
	seen := map[string]bool{}
	for i := range max(1, len(all)) - 1 {
		was, next := turnOf(all[i].network), turnOf(all[i+1].network)
		want := was.Slice + was.Rest + next.Settle // they are the times of windows
		if got := all[i+1].at - all[i].at; math.Abs(got-want.Seconds()) > 1e-6 {
			t.Errorf("%v s lie between turns of %s and %s, want %v", got, all[i].network, all[i+1].network, want)
		}
		seen[all[i].network] = true
	}
	if len(seen) != 2 || len(told) < 2 {
		t.Fatalf("turns: %v; %d networks were told of them", all, len(told))
	}
	cold := told[len(told)-2:]
	slices.SortFunc(cold, func(a, b workload.Turns) int { return a.Begins[0].Compare(b.Begins[0]) })
	turn := turnOf("native")
	if cold[0].ColdFor != turn.Cold {
		turn = turnOf("tunnel")
	}
	if got := cold[1].Begins[0].Sub(cold[0].Begins[0]); got != turn.ColdLength() || cold[0].ColdFor == cold[1].ColdFor {
		t.Errorf("cold turns of %v and %v begin %v apart, want %v", cold[0].ColdFor, cold[1].ColdFor, got, turn.ColdLength())
	}
}

// TestProxiesLearnTheCongestionControl checks that a process on the path is told which congestion control a trial uses.
func TestProxiesLearnTheCongestionControl(t *testing.T) {
	own, err := sampler.ReadCongestion("/proc")
	iferr.Fatal(t, err)
	var mu sync.Mutex
	var told []string
	relayed := kernel.Bridge().Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		n.Relay = func(_ context.Context, congestion string) error {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, congestion)
			return nil
		}
		return nil
	})
	inTurns(t, lab.New(), engine.New(), relayed, record.TCPRR)
	if len(told) == 0 || slices.ContainsFunc(told, func(c string) bool { return c != own.Unpaced(true) }) {
		t.Errorf("told %q, want %s", told, own.Unpaced(true))
	}
}

// TestRelayedNetworksTakeNoTurns checks that no network takes turns with one of which it is known only when it stands that its
// traffic is relayed with the machine's own congestion control.
func TestRelayedNetworksTakeNoTurns(t *testing.T) {
	relayed := kernel.Bridge().Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		n.Relays = true
		return nil
	})
	var ends []time.Time
	for _, tr := range inTurns(t, lab.New(), engine.New(), relayed, record.TCPRR) {
		ends = append(ends, tr.Started.Add(time.Duration(tr.Elapsed*float64(time.Second))))
		said := slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return strings.Contains(w.Text, "no turns were taken") })
		if tr.Status != record.OK || len(tr.Slices) > 0 || !said {
			t.Errorf("%s: %s, %s: %d slices; %v", tr.Cell.Network, tr.Status, tr.Reason, len(tr.Slices), tr.Warnings)
		}
	}
	// They were one after the other, though they were saved together.
	slices.SortFunc(ends, time.Time.Compare)
	for i := range len(ends) - 1 {
		if apart := ends[i+1].Sub(ends[i]).Seconds(); apart < 0.199 { // a window
			t.Errorf("a trial ended %.3g s after another", apart)
		}
	}
}

// unsure does not know well how far the clocks of other machines are ahead of this one's.
type unsure struct{ workload.Standing }

func (s unsure) Clocks() *workload.Clocks {
	c := s.Standing.Clocks()
	if c != nil {
		c.Within = time.Second
	}
	return c
}

// TestTurnsApart checks that networks on this machine take turns with each other, and others afterwards, if no clock
// relates them. The times of all slices have one origin.
func TestTurnsApart(t *testing.T) {
	tool := engine.New()
	stand := tool.Stand
	tool.Stand = func(ctx context.Context, job workload.Job) (workload.Standing, error) {
		s, err := stand(ctx, job)
		return unsure{s}, err
	}
	elsewhere := kernel.Bridge().Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		n.Distant = true
		return nil
	})
	last, first := 0.0, 0.0
	for _, tr := range inTurns(t, lab.New(), tool, elsewhere, record.TCPRR) {
		said := slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool {
			return strings.Contains(w.Text, "turns were taken only with networks on the same machines")
		})
		if tr.Status != record.OK || len(tr.Slices) == 0 || !said {
			t.Fatalf("%s: %s, %s: %d slices; %v", tr.Cell.Network, tr.Status, tr.Reason, len(tr.Slices), tr.Warnings)
		}
		if tr.Cell.Network == "bridge" {
			first = tr.Slices[0].At
			continue
		}
		end := tr.Slices[len(tr.Slices)-1]
		last = max(last, end.At+end.Window)
	}
	if first <= last {
		t.Errorf("the slices over bridge begin %.3g s after the first, those of others last until %.3g s", first, last)
	}
}

// lingering has payload on its way after every turn, as over a slow link.
type lingering struct {
	workload.Standing
	begun *atomic.Int32 // how often turns began
}

func (s lingering) Turns(ctx context.Context, when workload.Turns) (each []workload.Result, together workload.Result, err error) {
	s.begun.Add(1)
	each, together, err = s.Standing.Turns(ctx, when)
	for i := range each {
		each[i].Warnings = append(each[i].Warnings, record.Warning{Code: workload.WarnOverran})
	}
	return each, together, err
}

// TestLinkBetweenMachinesLimits has a network on other machines, whose link is slow, beside networks on this one. All have whole
// trials, without any turns in the second round. If no clock relates them, those on this machine take turns all the same.
func TestLinkBetweenMachinesLimits(t *testing.T) {
	congestion, err := sampler.ReadCongestion("/proc")
	iferr.Fatal(t, err)
	elsewhere := kernel.Bridge().Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		n.Distant = true
		return nil
	})
	for _, known := range []bool{true, false} {
		var begun atomic.Int32
		tool := engine.New()
		stand := tool.Stand
		tool.Stand = func(ctx context.Context, job workload.Job) (workload.Standing, error) {
			s, err := stand(ctx, job)
			if err == nil && s.Clocks() != nil {
				s = lingering{s, &begun}
			}
			if err == nil && !known {
				s = unsure{s}
			}
			return s, err
		}
		networks := map[string]runner.Recipe{}
		var cells []record.Cell
		for name, with := range oneHost(elsewhere) {
			networks[name] = runner.Recipe{Platform: lab.New(), Driver: with}
			cells = append(cells, record.Cell{
				Network: name, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementDistinct,
			})
		}
		var wrong []string
		// On a busy machine, turns that an end was late for begin again, a trial fails, or clocks are not known well enough.
		for range 5 {
			begun.Store(0)
			trials := runnertest.Run(t, &runner.Runner{
				Networks: networks, Cells: cells, Tools: map[string]workload.Tool{"engine": tool},
				Settings: record.Settings{Duration: 0.2, MaxRounds: 2, Turns: true, Congestion: congestion.Unpaced(true)},
			})
			wrong = nil
			if n := begun.Load(); n != 1 {
				wrong = append(wrong, fmt.Sprintf("turns began %d times, want once", n))
			}
			for _, tr := range trials {
				said := func(what string) bool {
					return slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return strings.Contains(w.Text, what) })
				}
				whole := known || tr.Cell.Network == "bridge"
				if tr.Status != record.OK || (len(tr.Slices) == 0) != whole || said("still on its way") != whole || said("turns were taken only") == whole {
					wrong = append(wrong, fmt.Sprintf("%s in round %d: %s, %s: %d slices; %v", tr.Cell.Network, tr.Round, tr.Status, tr.Reason, len(tr.Slices), tr.Warnings))
				}
			}
			if wrong == nil {
				break
			}
			t.Logf("it is measured again: %q", wrong)
		}
		for _, what := range wrong {
			t.Errorf("clocks are known: %v; %s", known, what)
		}
	}
}

// TestCardsThatCountLate has the devices of a network be ones that others use, too, and whose driver renews their counters only now and
// then. Its turns are not proved by them, but whole trials are.
func TestCardsThatCountLate(t *testing.T) {
	promptly(t)
	const renewed = time.Second // a whole trial waits for longer
	var turns atomic.Int32      // how many networks have theirs
	late := func(h network.Hop) network.Hop {
		var last network.Count
		var at time.Time
		read := h.Read
		h.Common, h.Keep = true, nil
		h.Read = func(ctx context.Context) (c network.Count, err error) {
			if at.IsZero() || turns.Load() == 0 && time.Since(at) > renewed {
				last, err = read(ctx)
				at = time.Now()
			}
			return last, err
		}
		return h
	}
	cards := kernel.Bridge().Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		path := n.Path
		n.Path = func(from, to platform.Endpoint, f network.Family) []network.Hop {
			hops := path(from, to, f)
			hops[0] = late(hops[0])
			return hops
		}
		return nil
	})
	tool := engine.New()
	stand := tool.Stand
	tool.Stand = func(ctx context.Context, job workload.Job) (workload.Standing, error) {
		s, err := stand(ctx, job)
		if err == nil {
			turns.Add(1)
			s = leaving{s, sync.OnceFunc(func() { turns.Add(-1) })}
		}
		return s, err
	}
	said := func(tr record.Trial) bool {
		return slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return strings.Contains(w.Text, "network cards that count late") })
	}
	var trials []record.Trial
	for range 24 {
		r := turnsOf(t, lab.New(), tool, 1, oneHost(cards), record.TCPRR)
		r.Settings.Duration = 1 // turns that are looked at too late, as on a busy machine, prove nothing: there are some more of them
		if trials = runnertest.Run(t, r); slices.ContainsFunc(trials, said) {
			break
		}
		t.Log("it is measured again")
	}
	for _, tr := range trials {
		if tr.Status != record.OK || len(tr.Slices) > 0 || !said(tr) {
			t.Errorf("%s: %s, %s: %d slices; %v", tr.Cell.Network, tr.Status, tr.Reason, len(tr.Slices), tr.Warnings)
		}
	}
}

// promptly has this process run before others until the test ends, if the user may ask for that. Turns are looked at in a pause of some
// milliseconds; beside other tests, a process can wait for a CPU for longer each time.
func promptly(t *testing.T) {
	t.Helper()
	nice := func(by int) {
		threads, err := os.ReadDir("/proc/self/task")
		iferr.Error(t, err)
		for _, thread := range threads {
			if id, err := strconv.Atoi(thread.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, id, by) // not for everybody; or it has ended
			}
		}
	}
	nice(-15)
	t.Cleanup(func() { nice(0) })
}

// leaving is a job whose turns are over when it is closed.
type leaving struct {
	workload.Standing
	left func()
}

func (l leaving) Close() {
	l.left()
	l.Standing.Close()
}

// midTurn returns the engine with a fault in the middle of turns. missed reports whether it came when they were over, or turns were
// taken again after it, as on a busy machine.
func midTurn(disturb func()) (tool workload.Tool, missed func() bool) {
	var once sync.Once
	var late atomic.Bool
	var over time.Time // of the turns with the fault
	done := make(chan struct{})
	tool = engine.New()
	stand := tool.Stand
	tool.Stand = func(ctx context.Context, job workload.Job) (workload.Standing, error) {
		s, err := stand(ctx, job)
		return midStanding{s, done, func(when workload.Turns) {
			once.Do(func() {
				over = when.Over
				time.AfterFunc(time.Until(when.Begins[when.Cold]), func() {
					defer close(done)
					disturb()
					if time.Now().After(over) {
						late.Store(true)
					}
				})
			})
			if !when.Over.Equal(over) {
				late.Store(true)
			}
		}}, err
	}
	return tool, late.Load
}

type midStanding struct {
	workload.Standing
	done   <-chan struct{}      // closed after the fault
	begins func(workload.Turns) // they are about to begin
}

func (s midStanding) Turns(ctx context.Context, when workload.Turns) ([]workload.Result, workload.Result, error) {
	s.begins(when)
	defer func() { <-s.done }()
	return s.Standing.Turns(ctx, when)
}

// disturbed has networks take turns, with a fault in the middle of them upon which a network fails, or none (""). It does so again if the
// fault came too late, or another network failed.
func disturbed(t *testing.T, fails string, disturb func(), measure func(workload.Tool) []record.Trial) (trials []record.Trial) {
	t.Helper()
	for range 5 {
		tool, missed := midTurn(disturb)
		if trials = measure(tool); !missed() && !anyFailed(trials, fails) {
			break
		}
		t.Log("it is measured again")
	}
	return trials
}

// TestFaultInMidTurn checks that a fault of one network is recorded on its trial, and that the other
// networks keep their turns.
func TestFaultInMidTurn(t *testing.T) {
	var built *network.Network
	agents := &watched{Lab: lab.New(), agents: map[string]platform.Process{}}
	between := shown(kernel.Bridge(), &built)
	connect := between.Connect
	between.Connect = func(ctx context.Context, topo network.Topology, _ platform.Platform) (*network.Network, error) {
		return connect(ctx, topo, agents)
	}
	for _, c := range []struct {
		name   string
		fault  func()
		status record.Status
		said   string // how its reason begins, an expression
	}{
		{"a device that is gone", func() {
			on(t, host(built), func(ns *nl.NS) error { return ns.Remove(node(built.Servers[0]).Port) })
			// turn 2, or a later one where it had its answers before the device was gone
		}, record.Failed, "turn [0-9]+: client h1c2: flow 0 of client h1c2 received nothing"},
		{"another route", func() {
			c, s := node(built.Clients[0]), node(built.Servers[0])
			on(t, c.NS, func(ns *nl.NS) error { return ns.Route(plumb.Single(s.Addr4), plumb.Gateway(0, false), c.Device) })
		}, record.Invalid, "the path changed during the trial: the route of h1c2"},
		{"a container that stops", func() {
			agents.mu.Lock()
			defer agents.mu.Unlock()
			iferr.Error(t, agents.agents["h1c1"].Kill())
		}, record.Failed, "server h1c1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails := ""
			if c.status == record.Failed {
				fails = "bridge"
			}
			trials := disturbed(t, fails, c.fault, func(tool workload.Tool) []record.Trial {
				return takeTurns(t, lab.New(), tool, 1, oneHost(between), record.TCPRR)
			})
			for _, tr := range trials {
				want := record.OK
				if tr.Cell.Network == "bridge" {
					want = c.status
				}
				if tr.Status != want || !regexp.MustCompile("^"+c.said).MatchString(tr.Reason) && want != record.OK {
					t.Errorf("%s: %s, %q; want %s, %q", tr.Cell.Network, tr.Status, tr.Reason, want, c.said)
				}
				if tr.Status == record.Failed && (tr.Metrics != nil || tr.Slices != nil) {
					t.Errorf("%s failed with figures: %v", tr.Cell.Network, tr.Metrics)
				}
			}
		})
	}
}

// TestDaemonKilledInMidTurn kills the process that carries a network's payload.
func TestDaemonKilledInMidTurn(t *testing.T) {
	var built *network.Network
	kill := func() { iferr.Error(t, unix.Kill(built.Daemons[0].PID, unix.SIGKILL)) }
	networks := map[string]network.Driver{"native": kernel.Native(), "udp-overlay-tun": shown(udpoverlay.NewTUN(), &built)}
	trials := disturbed(t, "udp-overlay-tun", kill, func(tool workload.Tool) []record.Trial {
		return takeTurns(t, lab.New(), tool, 2, networks, record.TCPRR)
	})
	for _, tr := range trials {
		want := record.OK
		if tr.Cell.Network == "udp-overlay-tun" {
			want = record.Failed
		}
		if tr.Status != want || want == record.Failed && !strings.HasPrefix(tr.Reason, "udp-overlay on h1: agent has ended: signal: killed") {
			t.Errorf("%s: %s, %q; want %s", tr.Cell.Network, tr.Status, tr.Reason, want)
		}
	}
}

// TestMachinesClockJumps sets the machine's clock forward by an hour in mid-turn, as an administrator
// might: turns use another clock, and no figure contains an hour.
func TestMachinesClockJumps(t *testing.T) {
	m, err := sampler.Machine("/proc", "/sys")
	iferr.Fatal(t, err)
	if m.Virtual != record.Emulated {
		t.Skip("it sets the clock of the whole machine: .ci/test-vm runs it in the virtual machine")
	}
	set := func(by time.Duration) {
		now := unix.NsecToTimeval(time.Now().Round(0).Add(by).UnixNano())
		iferr.Error(t, unix.Settimeofday(&now))
	}
	tool, _ := midTurn(func() { set(time.Hour) })
	defer set(-time.Hour)
	for _, tr := range takeTurns(t, lab.New(), tool, 1, oneHost(kernel.Bridge()), record.TCPRR) {
		if tr.Status != record.OK || tr.Elapsed <= 0 || tr.Elapsed > 1800 || tr.Window > 60 {
			t.Errorf("%s: %s, %q, %v s in all, a window of %v s", tr.Cell.Network, tr.Status, tr.Reason, tr.Elapsed, tr.Window)
		}
	}
}
