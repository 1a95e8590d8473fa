package runner_test

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/runner/runnertest"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// The following tests measure real networks with the real engine.

// altered returns a driver of bridges that applies a change to each.
func altered(change func(n *network.Network) error) network.Driver {
	return kernel.Bridge().Then(func(_ context.Context, _ network.Topology, n *network.Network) error { return change(n) })
}

// node returns the node of the lab behind an endpoint.
func node(e platform.Endpoint) *plumb.Node { return e.(*plumb.Node) }

// host returns the namespace of a network's first host.
func host(n *network.Network) string {
	return n.Hosts[0].Facts().NetNS
}

// measure runs one round over altered bridges.
func measure(t *testing.T, p platform.Platform, tool workload.Tool, a network.Driver, families ...int) []record.Trial {
	t.Helper()
	var cells []record.Cell
	for _, f := range families {
		cells = append(cells, record.Cell{
			Network: "bridge", Hosts: 1, Family: f, Servers: 1, Clients: 1, Tool: "engine",
			Workload: record.TCPRR, Placement: record.PlacementFree,
		})
	}
	return aRound(t, p, tool, a, cells...)
}

// aRound runs one round of cells over one kind of network, whatever the cells call it.
func aRound(t *testing.T, p platform.Platform, tool workload.Tool, tech network.Driver, cells ...record.Cell) []record.Trial {
	t.Helper()
	return runnertest.Run(t, &runner.Runner{
		Networks: map[string]runner.Recipe{cells[0].Network: {Platform: p, Driver: tech}},
		Tools:    map[string]workload.Tool{"engine": tool},
		Cells:    cells,
		Settings: record.Settings{Duration: 0.3, Warmup: 0.4, MaxRounds: 1},
	})
}

// again measures up to three times, until no trial has failed that should not: beside other tests, an agent may get no CPU time for as
// long as the ends wait for each other. What is wrong fails each time.
func again(measure func() []record.Trial) (trials []record.Trial) {
	for range 3 {
		if trials = measure(); !anyFailed(trials, "") {
			break
		}
	}
	return trials
}

// anyFailed reports whether a trial has failed of another network than the given one.
func anyFailed(trials []record.Trial, but string) bool {
	return slices.ContainsFunc(trials, func(tr record.Trial) bool { return tr.Status == record.Failed && tr.Cell.Network != but })
}

// otherPath makes a network report another path.
func otherPath(n *network.Network, path func(real []network.Hop) []network.Hop) {
	real := n.Path
	n.Path = func(from, to platform.Endpoint, f network.Family) []network.Hop { return path(real(from, to, f)) }
}

func TestPathIsProvedByWhatCrossedIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		path   func(ns string, real []network.Hop) []network.Hop
		status record.Status
		reason []string
	}{
		{"as it is", func(_ string, real []network.Hop) []network.Hop { return real }, record.OK, nil},
		{
			"a device that the traffic does not cross",
			func(ns string, real []network.Hop) []network.Hop {
				return append(real, plumb.DeviceHop("h1", ns, "eth0"))
			},
			record.Invalid, []string{"path not proved: ", " bytes crossed h1/eth0, the payload was "},
		},
		{
			"a device that it must not cross, and does not",
			func(ns string, real []network.Hop) []network.Hop {
				return append(real, plumb.Absent(plumb.DeviceHop("h1", ns, "eth0")))
			},
			record.OK, nil,
		},
		{
			"a device that it must not cross, and does",
			func(_ string, real []network.Hop) []network.Hop {
				return append([]network.Hop{plumb.Absent(real[0])}, real[1:]...)
			},
			record.Invalid, []string{"wrong path: ", " bytes crossed h1c2/eth0, which the payload must not cross"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := altered(func(n *network.Network) error {
				otherPath(n, func(real []network.Hop) []network.Hop { return c.path(host(n), real) })
				return nil
			})
			tr := again(func() []record.Trial { return measure(t, lab.New(), engine.New(), a, 4) })[0]
			if tr.Status != c.status || (tr.Status == record.OK) != (tr.Reason == "") {
				t.Errorf("%s with reason %q, want %s", tr.Status, tr.Reason, c.status)
			}
			for _, said := range c.reason {
				if !strings.Contains(tr.Reason, said) {
					t.Errorf("reason %q does not say %q", tr.Reason, said)
				}
			}
			if len(tr.Path) < 4 || tr.Metrics[record.TransactionRate].Value == 0 {
				t.Errorf("path and figures are not kept: %+v, %v", tr.Path, tr.Metrics)
			}
		})
	}
}

// TestDetourOfOneDirection has a host send to the clients over a second link to their host. Everything crosses each device of the
// path in the other direction.
func TestDetourOfOneDirection(t *testing.T) {
	const aside = "aside"
	detour := kernel.Routed().Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		near, far := n.Hosts[0].Facts().NetNS, n.Hosts[1].Facts().NetNS
		own, other := netip.MustParsePrefix("198.51.100.1/30"), netip.MustParsePrefix("198.51.100.2/30")
		err := nl.With(near, func(ns *nl.NS) error {
			return cmp.Or(ns.AddPair(aside, far, aside, 0), ns.Addr(aside, own), ns.Up(aside))
		})
		if err != nil {
			return err
		}
		if err := nl.With(far, func(ns *nl.NS) error { return cmp.Or(ns.Addr(aside, other), ns.Up(aside)) }); err != nil {
			return err
		}
		for _, key := range []string{"all", aside} { // the larger one is in force
			if err := netns.SetSysctl(far, "net/ipv4/conf/"+key+"/rp_filter", "0"); err != nil {
				return err
			}
		}
		return nl.With(near, func(ns *nl.NS) error { return ns.Route(plumb.Single(node(n.Clients[0]).Addr4), other.Addr(), aside) })
	})
	cell := record.Cell{Network: "routed", Hosts: 2, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree}
	stream := cell
	stream.Workload = record.TCPStream
	for _, tr := range again(func() []record.Trial { return aRound(t, lab.New(), engine.New(), detour, cell, stream) }) {
		if tr.Status != record.Invalid || !strings.Contains(tr.Reason, " packets crossed h2/eth0 in one of the two directions, at least ") {
			t.Errorf("%s: %s with reason %q", tr.Cell.Workload, tr.Status, tr.Reason)
		}
	}
}
