package plumb_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
)

// TestPartWithManyContainers builds a part whose bridge stays down until its containers have sent their reports.
func TestPartWithManyContainers(t *testing.T) {
	const containers = 70
	made, err := netns.New(t.Context(), containers+1, func() error { return nl.UpHere("lo") })
	iferr.Fatal(t, err)
	p := plumb.Part{Name: "many", Uplinks: make([]platform.Uplink, 1), Router: made[0].Path()}
	for i, ns := range made {
		defer ns.Close()
		if i > 0 {
			p.Containers = append(p.Containers, ns.Path())
		}
	}
	build := plumb.Handler(nil, func(ctx context.Context, s *plumb.Site, h *plumb.Host) (plumb.Built, error) {
		return plumb.Built{}, s.Bridge(ctx, h, "br0", 0, plumb.Attachment{Gateway: true})
	})
	params, err := json.Marshal(p)
	iferr.Fatal(t, err)
	built, err := build(t.Context(), params)
	if b, ok := built.(plumb.Built); err != nil || !ok || len(b.Ports) != containers {
		t.Fatalf("%+v, %v", built, err)
	}
	iferr.Fatal(t, nl.With(p.Router, func(n *nl.NS) error {
		l, err := n.Link("br0")
		if err == nil && l.Attrs().Flags&net.FlagUp == 0 {
			t.Error("the bridge is down")
		}
		return err
	}))
}

// TestCountersOnAPath checks which counters are on the path of a container to another machine.
func TestCountersOnAPath(t *testing.T) {
	two := 2
	all, four, toTwo := plumb.Counter{Container: 1}, plumb.Counter{Container: 1, Family: network.IPv4}, plumb.Counter{Container: 1, Other: &two}
	for _, c := range []struct {
		counter          plumb.Counter
		container, other int
		f                network.Family
		want             bool
	}{
		{all, 1, 3, network.IPv6, true}, {all, 2, 3, network.IPv6, false},
		{four, 1, 3, network.IPv4, true}, {four, 1, 3, network.IPv6, false},
		{toTwo, 1, 2, network.IPv6, true}, {toTwo, 1, 3, network.IPv6, false},
	} {
		if got := c.counter.Counts(c.container, c.other, c.f); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestUplinkThatMergesPackets checks that nothing forwards on top of an uplink whose LRO, or that of a device below it, this would turn
// off. A bond has it as network cards do. Some kernels turn it off when a device is made above it that has none.
func TestUplinkThatMergesPackets(t *testing.T) {
	if os.Getenv("NETTOLL_TEST_OWN_MACHINE") == "" {
		t.Skip("it loads the module bonding, which adds a device to the machine: .ci/vm has a machine of its own for it")
	}
	made, err := netns.New(t.Context(), 1, func() error { return nil })
	iferr.Fatal(t, err)
	defer made[0].Close()
	const card, above, lro = "card0", "card0.7", "rx-lro"
	iferr.Fatal(t, nl.With(made[0].Path(), func(n *nl.NS) error { return n.Add(netlink.NewLinkBond(nl.Attrs(card, 0))) }))
	build := plumb.Handler(nil, func(_ context.Context, _ *plumb.Site, h *plumb.Host) (plumb.Built, error) {
		return plumb.Built{}, h.SparesLRO()
	})
	refused := func(uplink string) (is bool) {
		params, err := json.Marshal(plumb.Part{Name: "forwards", Uplinks: []platform.Uplink{{Device: uplink}}, Router: made[0].Path()})
		iferr.Fatal(t, err)
		iferr.Fatal(t, netns.Do(made[0].Path(), func() error {
			built, err := build(t.Context(), params)
			if b, ok := built.(plumb.Built); ok {
				is = b.Missing != nil
			}
			return err
		}))
		return is
	}
	for _, on := range []bool{false, true} {
		iferr.Fatal(t, nl.WithEthtool(made[0].Path(), func(e nl.Ethtool) error { return e.Change(card, map[string]bool{lro: on}) }))
		if is := refused(card); is != on {
			t.Errorf("with LRO %v: refused is %v", on, is)
		}
	}
	iferr.Fatal(t, nl.With(made[0].Path(), func(n *nl.NS) error {
		l, err := n.Link(card)
		iferr.Fatal(t, err)
		tagged := &netlink.Vlan{LinkAttrs: nl.Attrs(above, 0), VlanId: 7, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
		tagged.ParentIndex = l.Attrs().Index
		return n.Add(tagged)
	}))
	if on, err := nl.Offload(made[0].Path(), card, lro); err != nil || refused(above) != on {
		t.Errorf("below the uplink, LRO is %v, %v; refused is %v", on, err, refused(above))
	}
}
