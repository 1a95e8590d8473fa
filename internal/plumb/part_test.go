package plumb_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
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

// TestUplinkThatMergesPackets checks that nothing forwards on top of a device whose LRO this would turn off, nor on top of one above
// it. A bond has it as network cards do.
func TestUplinkThatMergesPackets(t *testing.T) {
	if os.Getenv("NETTOLL_TEST_OWN_MACHINE") == "" {
		t.Skip("it loads the module bonding, which adds a device to the machine: .ci/vm has a machine of its own for it")
	}
	made, err := netns.New(t.Context(), 1, func() error { return nil })
	iferr.Fatal(t, err)
	defer made[0].Close()
	const card, above, other = "card0", "card0.7", "other"
	iferr.Fatal(t, nl.With(made[0].Path(), func(n *nl.NS) error {
		if err := errors.Join(n.Add(netlink.NewLinkBond(nl.Attrs(card, 0))), n.Add(&netlink.Dummy{LinkAttrs: nl.Attrs(other, 0)})); err != nil {
			return err
		}
		l, err := n.Link(card)
		iferr.Fatal(t, err)
		tagged := &netlink.Vlan{LinkAttrs: nl.Attrs(above, 0), VlanId: 7, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
		tagged.ParentIndex = l.Attrs().Index
		return n.Add(tagged)
	}))
	build := plumb.Handler(nil, func(_ context.Context, _ *plumb.Site, h *plumb.Host) (plumb.Built, error) {
		return plumb.Built{}, h.SparesLRO()
	})
	for _, on := range []bool{true, false} {
		iferr.Fatal(t, nl.WithEthtool(made[0].Path(), func(e nl.Ethtool) error {
			return e.Change(card, map[string]bool{"rx-lro": on})
		}))
		for _, uplink := range []string{card, above, other} {
			params, err := json.Marshal(plumb.Part{Name: "forwards", Uplinks: []platform.Uplink{{Device: uplink}}, Router: made[0].Path()})
			iferr.Fatal(t, err)
			iferr.Fatal(t, netns.Do(made[0].Path(), func() error {
				built, err := build(t.Context(), params)
				if b, ok := built.(plumb.Built); err != nil || !ok || (b.Missing != nil) != (on && uplink != other) {
					t.Errorf("with LRO %v, on top of %s: %+v, %v", on, uplink, built, err)
				}
				return nil
			}))
		}
	}
}
