package networktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/await"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/runner/runnertest"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// crowded sets conditions that only some networks take, where this one does and they count something. Policies have tests of
// their own, since few clusters enforce them.
func (s *subject) crowded(c *record.Cell) {
	for _, d := range record.Dimensions(record.Condition) {
		if _, _, counted := d.Counted(*c); counted && d.In != "" && d.In != record.Policies && d.TakenBy(s.Has) {
			d.Set(c, 20)
		}
	}
}

// overhead is more than any tunnel takes off the underlay's MTU, in bytes.
const overhead = 200

// traffic measures over a network with one pair of containers, the usual case, and over a crowded
// one, and checks that every path is proved. Between two hosts it also captures what the pair sends
// on the wire.
func traffic(t *testing.T, s *subject, hosts int) {
	tap := hosts == 2
	if tap {
		_, err := exec.LookPath("tcpdump")
		platformtest.Require(t, "tcpdump", err)
	}
	w := &watched{t: t, s: s, clients: 1}
	if tap {
		w.dir = t.TempDir()
	}
	mtu := s.largeMTU()
	if hosts == 2 {
		mtu = 0 // the default
	}
	pair := record.Cell{
		Network: s.network(), Hosts: hosts, Servers: 1, Clients: 1, Tool: "engine", Placement: record.PlacementFree,
	}
	crowd := pair
	crowd.Servers, crowd.Clients, crowd.Processes, crowd.Neighbours, crowd.Rules, crowd.MTU = 2, 3, 2, 3, 30, mtu
	s.crowded(&crowd)
	var cells []record.Cell
	for _, family := range s.families() {
		add := func(c record.Cell, loads ...string) {
			c.Family = int(family)
			for _, c.Workload = range loads {
				cells = append(cells, c)
			}
		}
		if hosts <= 2 {
			add(pair, record.TCPRR)
			add(crowd, record.TCPStream)
		}
		add(crowd, record.TCPRR, record.UDPRR)
	}
	trials := measureAfter(t, s.warmup, s.platform, s.Then(w.look), cells)
	want(t, trials)
	w.check(trials)
}

// engineTraffic measures one workload for each family, between several containers, since engines are
// slow. The hosts are kept, and the traffic must leave nothing on them. Between two nodes of a cluster it
// also captures what is sent on the wire.
func engineTraffic(t *testing.T, s *subject, hosts int) {
	w := &watched{t: t, s: s, clients: 2}
	if _, cluster := s.platform.(kube.Provider); cluster && hosts == 2 {
		_, err := exec.LookPath("tcpdump")
		platformtest.Require(t, "tcpdump", err)
		w.dir = t.TempDir()
	}
	_, kept := s.keep(t, hosts)
	before := State(t, kept.All()...)
	loads := []string{record.TCPStream, record.TCPRR}
	var cells []record.Cell
	for i, family := range s.families() {
		cells = append(cells, record.Cell{
			Network: s.network(), Hosts: hosts, Family: int(family), Servers: 2, Clients: w.clients,
			Tool: "engine", Workload: loads[i], Placement: record.PlacementFree,
		})
	}
	trials := Measure(t, s.platform, s.Then(w.look), cells)
	want(t, trials)
	w.check(trials)
	Same(t, "after the traffic", before, State(t, kept.All()...))
}

// engineCrowd measures a network with everything that a topology can have and that engines, which
// start a few containers per second and publish a few ports, can build in time.
func engineCrowd(t *testing.T, s *subject, hosts int) {
	cell := record.Cell{
		Network: s.network(), Hosts: hosts, Family: int(s.families()[0]), Servers: 1, Clients: max(1, hosts-1), MTU: s.largeMTU(),
		Tool: "engine", Placement: record.PlacementFree, Setup: record.Setup{Neighbours: 1, Rules: 30},
	}
	if hosts == 1 {
		cell.Processes = 2
	}
	s.crowded(&cell)
	var cells []record.Cell
	for _, cell.Workload = range []string{record.TCPRR, record.UDPRR} {
		cells = append(cells, cell)
	}
	w := &watched{t: t, s: s}
	want(t, Measure(t, s.platform, s.Then(w.look), cells))
}

// want reports the trials that are not as they should be.
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
		for _, e := range trial.Endpoints {
			if least := trial.Cell.MTU - overhead; e.MTU < least {
				t.Errorf("%s: %s of %s has the MTU %d, where the underlay has %d", trial.Cell.Key(), e.Device, e.Name, e.MTU, trial.Cell.MTU)
			}
		}
	}
}

// watched checks, once networks have been built, whether they have what the topology requests. With
// a directory, it captures what the first two hosts send to the underlay, for networks with the given
// number of clients.
type watched struct {
	t       *testing.T
	s       *subject
	dir     string // of captures; if empty, nothing is captured
	clients int    // of the networks that are captured

	captures map[string][]capture // by host: one of each time that the network was built
	filters  map[network.Family]string
}

// capture is a file of packets, and the filters that match the payload of the network as it was built then.
type capture struct {
	file    string
	filters map[network.Family]string
}

func (w *watched) look(ctx context.Context, topo network.Topology, n *network.Network) error {
	endpoints(w.t, w.s, n, topo)
	for _, h := range n.Hosts {
		if hasRules := further(w.t, h); hasRules != (topo.Rules > 0) {
			w.t.Errorf("%s has further rules: %v, and %d were asked for", h.Name(), hasRules, topo.Rules)
		}
	}
	if w.dir == "" || topo.Clients != w.clients || n.Wire == nil {
		return nil
	}
	w.filters = map[network.Family]string{}
	for _, f := range w.s.families() {
		if filter := n.Wire(f); filter != "" {
			w.filters[f] = filter
		}
	}
	if len(w.filters) == 0 {
		return nil
	}
	if w.captures == nil {
		w.captures = map[string][]capture{}
	}
	tap := &tap{}
	end := n.Close
	n.Close = func(ctx context.Context) error {
		return errors.Join(tap.end(), end(ctx))
	}
	for _, h := range n.Hosts[:2] {
		file := filepath.Join(w.dir, fmt.Sprintf("%s-%d", h.Name(), len(w.captures[h.Name()])))
		if err := tap.capture(ctx, h, file); err != nil {
			return err
		}
		w.captures[h.Name()] = append(w.captures[h.Name()], capture{file, w.filters})
	}
	return nil
}

// further reports whether a host has the further rules that a topology requests.
func further(t *testing.T, h platform.Host) bool {
	t.Helper()
	ns := h.Facts().NetNS
	if ns == "" {
		return false
	}
	all, err := nl.FirewallTables(ns)
	iferr.Fatal(t, err)
	for _, table := range all {
		if strings.Contains(table.Name, "further-rules") {
			return true
		}
	}
	return false
}

// bare matches packets of containers by their addresses, as a capture filter.
var bare = map[network.Family]string{
	network.IPv4: "net 198.19.0.0/16",
	network.IPv6: "net 2001:2::/56",
}

// check checks that the payload of the clients' transactions looks on the wire as the network claims,
// and that none of it is there in another form. Only packets that hosts send are captured: received
// ones are captured again by the kernel once they are decrypted.
func (w *watched) check(trials []record.Trial) {
	w.t.Helper()
	needed := map[string]uint64{} // transactions, by filter: some filters are the same for both families
	of := map[string]network.Family{}
	for _, trial := range trials {
		f := network.Family(trial.Cell.Family)
		filter := w.filters[f]
		if trial.Cell.Clients != w.clients || filter == "" {
			continue
		}
		of[filter] = f
		for _, flow := range trial.Flows {
			needed[filter] += flow.Transactions
		}
	}
	for host := range w.captures {
		for filter, transactions := range needed {
			// A pair that got no CPU time completes no transaction in its window, but has sent
			// something.
			got := w.count(host, func(c capture) string { return c.filters[of[filter]] })
			if uint64(got) < max(1, transactions) {
				w.t.Errorf("%d packets that %s sent match %q, for %d transactions", got, host, filter, transactions)
			}
		}
		for f, filter := range w.filters {
			got := w.count(host, func(c capture) string { return bare[f] + " and not (" + c.filters[f] + ")" })
			if got > 0 {
				w.t.Errorf("IPv%d: %d packets of containers left %s as they are, and do not match %q", f, got, host, filter)
			}
		}
	}
}

// count returns the number of packets sent by a host that match a filter, which depends on the capture.
func (w *watched) count(host string, filter func(capture) string) (packets int) {
	w.t.Helper()
	for _, c := range w.captures[host] {
		// The optimizer of libpcap 1.10 gets "net A and not net A" wrong: it matches packets.
		out, err := exec.CommandContext(w.t.Context(), "tcpdump", "-nn", "-O", "-r", c.file, filter(c)).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			w.t.Fatalf("tcpdump %q: %v: %s", filter(c), err, exit.Stderr)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		packets += strings.Count(string(out), "\n")
	}
	return packets
}

// tap is a set of captures on the hosts of a network. They end before the network is closed.
type tap struct{ procs []platform.Process }

// capture writes the packets that a host sends to the underlay to a file.
func (t *tap) capture(ctx context.Context, h platform.Host, file string) error {
	_ = os.Remove(file) // left by an attempt that failed
	var said bytes.Buffer
	proc, err := h.Start(ctx, platform.Command{
		Path: "tcpdump", Stderr: &said,
		// Packets are delivered at once, into a large buffer: dropped packets would not be counted.
		Args: []string{"-i", h.Uplink().Device, "-Q", "out", "-w", file, "-s", "128", "-B", "16384", "-U", "-Z", "root", "--immediate-mode"},
	})
	if err != nil {
		return err
	}
	t.procs = append(t.procs, proc)
	return await.Until(ctx, patience, 5*time.Millisecond, func(context.Context) (missing, err error) {
		if !exists(file) {
			missing = errors.New("tcpdump captures nothing")
		}
		return missing, nil
	})
}

func exists(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Size > 0
}

// end stops the captures, each when tcpdump sleeps: then it has written all packets that were sent. It would forget those
// that it has not read yet.
func (t *tap) end() error {
	var errs []error
	for _, p := range t.procs {
		errs = append(errs, await.Until(context.Background(), patience, 5*time.Millisecond, func(context.Context) (missing, err error) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
			if err == nil && !strings.Contains(string(stat), ") S ") {
				missing = errors.New("tcpdump has not written all packets")
			}
			return missing, err
		}))
		if err := unix.Kill(p.PID(), syscall.SIGINT); err == nil {
			_ = p.Wait()
		}
	}
	t.procs = nil
	return errors.Join(errs...)
}

// tries is how often a trial is run that fails: on a busy machine, a flow can stall for longer than
// the window. A wrong path is not a matter of luck, and is not tried again.
const tries = 3

// usualWarmup is long enough for connections to be made.
const usualWarmup = 50 * time.Millisecond

// Measure runs one round of cells over one network, whatever its name in them, and repeats trials
// that fail.
func Measure(t *testing.T, p platform.Platform, tech network.Driver, cells []record.Cell) []record.Trial {
	t.Helper()
	return measureAfter(t, usualWarmup, p, tech, cells)
}

// measureAfter measures with the given warm-up.
func measureAfter(t *testing.T, warmup time.Duration, p platform.Platform, tech network.Driver, cells []record.Cell) []record.Trial {
	t.Helper()
	trials := measure(t, warmup, p, tech, cells)
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
		trials = append(trials, measure(t, warmup, p, tech, again)...)
	}
	return trials
}

func measure(t *testing.T, warmup time.Duration, p platform.Platform, tech network.Driver, cells []record.Cell) []record.Trial {
	t.Helper()
	more := machine.Slack(t).Seconds()
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{},
		Tools:    map[string]workload.Tool{"engine": engine.New()},
		Settings: record.Settings{Duration: 0.1 + more, Warmup: warmup.Seconds() + more, MaxRounds: 1},
		Cells:    cells,
		// The cost of the traffic is not tested here.
		Unwatched: true,
	}
	for _, c := range cells {
		r.Networks[c.Network] = runner.Recipe{Platform: p, Driver: tech}
	}
	return runnertest.Run(t, r)
}

// Slow reports whether this machine is emulated: it takes a minute for what others do in a second.
func Slow(t *testing.T) bool { return machine.Slack(t) > 0 }
