package plumb_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

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

// TestUplinkThatMergesPackets checks that nothing forwards on top of an uplink whose LRO this would turn off. A bond has it as network
// cards do.
func TestUplinkThatMergesPackets(t *testing.T) {
	made, err := netns.New(t.Context(), 1, func() error { return nil })
	iferr.Fatal(t, err)
	defer made[0].Close()
	const device = "bond0"
	err = nl.With(made[0].Path(), func(n *nl.NS) error { return n.Add(netlink.NewLinkBond(nl.Attrs(device, 0))) })
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("it needs the module bonding, which the kernel of .ci/test-vm has")
	}
	iferr.Fatal(t, err)
	build := plumb.Handler(nil, func(_ context.Context, _ *plumb.Site, h *plumb.Host) (plumb.Built, error) {
		return plumb.Built{}, h.SparesLRO()
	})
	params, err := json.Marshal(plumb.Part{Name: "forwards", Uplinks: []platform.Uplink{{Device: device}}, Router: made[0].Path()})
	iferr.Fatal(t, err)
	for _, on := range []bool{true, false} {
		iferr.Fatal(t, nl.WithEthtool(made[0].Path(), func(e nl.Ethtool) error {
			return e.Change(device, map[string]bool{"rx-lro": on})
		}))
		iferr.Fatal(t, netns.Do(made[0].Path(), func() error {
			built, err := build(t.Context(), params)
			if b, ok := built.(plumb.Built); err != nil || !ok || (b.Missing != nil) != on {
				t.Errorf("with LRO %v: %+v, %v", on, built, err)
			}
			return nil
		}))
	}
}
