package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload/engine"
	"nettoll/workload/workloadtest"
)

// TestPathThatChangesInMidTrial changes a path, or a condition, during a trial. Counters keep counting and the traffic
// continues: only the changed devices and routes show that it took another path, and only settings that it was another network.
func TestPathThatChangesInMidTrial(t *testing.T) {
	for _, c := range []struct {
		name   string
		tech   network.Driver
		hosts  int
		change func(t *testing.T, n *network.Network)
		want   string // empty: it stays valid
	}{
		{"nothing", kernel.Bridge(), 1, func(*testing.T, *network.Network) {}, ""},
		{"another bridge", kernel.BridgeWithoutNetfilter(), 1, func(t *testing.T, n *network.Network) {
			on(t, host(n), func(ns *nl.NS) error {
				if err := ns.Add(&netlink.Bridge{LinkAttrs: nl.Attrs("br1", 0)}); err != nil {
					return err
				}
				if err := ns.Up("br1"); err != nil {
					return err
				}
				for _, one := range node(n.Servers[0]).Host.Nodes {
					if err := ns.Master(one.Port, "br1"); err != nil {
						return err
					}
				}
				return nil
			})
		}, "the path changed during the trial: h1/veth1 was a port of br0, and is now a port of br1"},
		{"another route of a host", kernel.Routed(), 2, func(t *testing.T, n *network.Network) {
			h := n.Hosts[0]
			on(t, host(n), func(ns *nl.NS) error {
				other := n.Hosts[1]
				return ns.Route(plumb.Single(node(n.Clients[0]).Addr4), other.Uplink().Addr4.Addr(), h.Uplink().Device)
			})
		}, "the path changed during the trial: h1 has a new route to 198.19.16.2/32, which leads via 198.18.0.2 dev eth0"},
		{"another route of a container", kernel.Bridge(), 1, func(t *testing.T, n *network.Network) {
			c, s := node(n.Clients[0]), node(n.Servers[0])
			on(t, c.NS, func(ns *nl.NS) error { return ns.Route(plumb.Single(s.Addr4), plumb.Gateway(0, false), c.Device) })
		}, "the path changed during the trial: the route of h1c2 to 198.19.0.2 led dev eth0"},
		{"another MTU of a container", kernel.Bridge(), 1, func(t *testing.T, n *network.Network) {
			c := node(n.Clients[0])
			on(t, c.NS, func(ns *nl.NS) error { return ns.MTU(c.Device, 1400) })
		}, "the network was changed: the MTU of h1c2/eth0 was 1500 at first, and is 1400 now"},
		{"another MTU on the way", kernel.Bridge(), 1, func(t *testing.T, n *network.Network) {
			on(t, host(n), func(ns *nl.NS) error { return ns.MTU(node(n.Servers[0]).Port, 1400) })
		}, "the network was changed: the MTU of h1/veth0 was 1500 at first, and is 1400 now"},
		{"offloads", kernel.Bridge(), 1, func(t *testing.T, n *network.Network) {
			s := node(n.Servers[0])
			iferr.Error(t, nl.WithEthtool(s.NS, func(tool nl.Ethtool) error { return tool.Change(s.Device, map[string]bool{"rx-gro": true}) }))
		}, "the network was changed: gro of h1c1/eth0 was off at first, and is on now"},
		{"a parameter", kernel.Bridge(), 1, func(t *testing.T, n *network.Network) {
			iferr.Error(t, netns.SetSysctl(node(n.Servers[0]).NS, "net/ipv4/tcp_sack", "0"))
		}, "the network was changed: net.ipv4.tcp_sack of h1c1 was 1 at first, and is 0 now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var built *network.Network
			var tr record.Trial
			// On a busy machine a trial may fail, or begin again after the change.
			for range 3 {
				tool := workloadtest.Disturbed(engine.New(), func() { c.change(t, built) })
				tr = aRound(t, lab.New(), tool, shown(c.tech, &built), record.Cell{
					Network: "shown", Hosts: c.hosts, Family: 4, Servers: 1, Clients: 1, Tool: "engine",
					Workload: record.TCPRR, Placement: record.PlacementFree,
				})[0]
				if tr.Status != record.Failed && (tr.Status == record.OK) == (c.want == "") {
					break
				}
			}
			if c.want == "" {
				if tr.Status != record.OK {
					t.Errorf("%s: %s", tr.Status, tr.Reason)
				}
				return
			}
			if tr.Status != record.Invalid || !strings.HasPrefix(tr.Reason, c.want) {
				t.Errorf("%s: %s; want invalid: %s", tr.Status, tr.Reason, c.want)
			}
			if tr.Metrics[record.TransactionRate].Value == 0 {
				t.Error("its figures are not kept")
			}
		})
	}
}

// shown makes the network that was built last accessible.
func shown(d network.Driver, built **network.Network) network.Driver {
	return d.Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		*built = n
		return nil
	})
}

func on(t *testing.T, ns string, fn func(*nl.NS) error) {
	t.Helper()
	iferr.Error(t, nl.With(ns, fn))
}
