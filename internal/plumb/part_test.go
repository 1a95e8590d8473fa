package plumb_test

import (
	"context"
	"encoding/json"
	"net"
	"testing"

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
