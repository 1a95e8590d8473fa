package networktest

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// overhead is more than any tunnel takes of the underlay's MTU, in bytes.
const overhead = 200

// traffic measures over a network with one pair of containers, as most are, and over a
// crowded one, and wants every path proved. Between two hosts, what the pair sends is
// looked at on the wire.
func traffic(t *testing.T, s *subject, hosts int) {
	tap := hosts == 2
	if tap {
		_, err := exec.LookPath("tcpdump")
		platformtest.Require(t, "tcpdump", err)
	}
	w := &watched{t: t, s: s}
	if tap {
		w.dir = t.TempDir()
	}
	mtu := s.largeMTU()
	if hosts == 2 {
		mtu = 0 // the usual one
	}
	pair := record.Cell{
		Network: s.network(), Hosts: hosts, Servers: 1, Clients: 1, Tool: "engine", Placement: record.PlacementFree,
	}
	crowd := pair
	crowd.Servers, crowd.Clients, crowd.Processes, crowd.Neighbours, crowd.Rules, crowd.MTU = 2, 3, 2, 3, 30, mtu
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

// engineTraffic is one workload for each family, among several, since engines take
// long. These stay, and nothing of the traffic may be left on them.
func engineTraffic(t *testing.T, s *subject, hosts int) {
	_, kept := s.keep(t, hosts)
	before := State(t, kept.All()...)
	loads := []string{record.TCPStream, record.TCPRR}
	var cells []record.Cell
	for i, family := range s.families() {
		cells = append(cells, record.Cell{
			Network: s.network(), Hosts: hosts, Family: int(family), Servers: 2, Clients: 2,
			Tool: "engine", Workload: loads[i], Placement: record.PlacementFree,
		})
	}
	want(t, Measure(t, s.platform, s.Driver, cells))
	Same(t, "after the traffic", before, State(t, kept.All()...))
}

// engineCrowd is a network with all that a topology can have and that engines, which
// start a few containers in a second and publish a few ports, can build in time.
func engineCrowd(t *testing.T, s *subject, hosts int) {
	cell := record.Cell{
		Network: s.network(), Hosts: hosts, Family: int(s.families()[0]), Servers: 1, Clients: max(1, hosts-1), Neighbours: 1, Rules: 30, MTU: s.largeMTU(),
		Tool: "engine", Placement: record.PlacementFree,
	}
	if hosts == 1 {
		cell.Processes = 2
	}
	var cells []record.Cell
	for _, cell.Workload = range []string{record.TCPRR, record.UDPRR} {
		cells = append(cells, cell)
	}
	w := &watched{t: t, s: s}
	want(t, Measure(t, s.platform, s.Then(w.look), cells))
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
		for _, e := range trial.Endpoints {
			if least := trial.Cell.MTU - overhead; e.MTU < least {
				t.Errorf("%s: %s of %s has the MTU %d, where the underlay has %d", trial.Cell.Key(), e.Device, e.Name, e.MTU, trial.Cell.MTU)
			}
		}
	}
}

// watched looks at networks when they have been built: whether they have what the topology asks
// for. With a directory, what two hosts of a network with one pair of containers send to the
// underlay is captured.
type watched struct {
	t   *testing.T
	s   *subject
	dir string // of captures; empty captures nothing

	hosts   []string // that were captured
	filters map[network.Family]string
}

func (w *watched) look(ctx context.Context, topo network.Topology, n *network.Network) error {
	endpoints(w.t, w.s, n, topo)
	for _, h := range n.Hosts {
		if hasRules := further(w.t, h); hasRules != (topo.Rules > 0) {
			w.t.Errorf("%s has further rules: %v, and %d were asked for", h.Name(), hasRules, topo.Rules)
		}
	}
	if w.dir == "" || topo.Clients > 1 || n.Wire == nil {
		return nil
	}
	w.filters, w.hosts = map[network.Family]string{}, nil
	for _, f := range w.s.families() {
		if filter := n.Wire(f); filter != "" {
			w.filters[f] = filter
		}
	}
	if len(w.filters) == 0 {
		return nil
	}
	tap := &tap{}
	end := n.Close
	n.Close = func(ctx context.Context) error {
		tap.end()
		return end(ctx)
	}
	for _, h := range n.Hosts[:2] {
		w.hosts = append(w.hosts, h.Name())
		if err := tap.capture(ctx, h, w.file(h.Name())); err != nil {
			return err
		}
	}
	return nil
}

// further reports whether a host has the rules that a topology asks for.
func further(t *testing.T, h platform.Host) bool {
	t.Helper()
	ns := h.Facts().NetNS
	if ns == "" {
		return false
	}
	all, err := nl.FirewallTables(ns)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range all {
		if strings.Contains(table.Name, "further-rules") {
			return true
		}
	}
	return false
}
