package plumb_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform/lab"
)

// TestBridgeWithAPortThatHasNoCarrier attaches a container next to a port that never has a carrier, such as a tunnel's.
func TestBridgeWithAPortThatHasNoCarrier(t *testing.T) {
	s, err := plumb.Begin(t.Context(), network.Topology{Hosts: 1, Servers: 1}, lab.New())
	iferr.Fatal(t, err)
	defer s.Close(t.Context())
	h := s.Hosts[0]
	err = nl.With(h.NS, func(n *nl.NS) error {
		if err := n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}); err != nil {
			return err
		}
		if err := n.AddPair("tunnel", h.Nodes[0].NS, "tunnel", 0); err != nil {
			return err
		}
		return n.Master("tunnel", "br0")
	})
	iferr.Fatal(t, err)
	b := &plumb.Bridge{Name: "br0", Host: h}
	iferr.Error(t, b.Attach(t.Context(), s, h.Nodes, plumb.Attachment{Flat: true, Kept: 1}))
}

func TestBridgedPacketsMeetNoRule(t *testing.T) {
	for _, plug := range []plumb.Attachment{{Gateway: true}, {Flat: true}} {
		s, err := plumb.Begin(t.Context(), network.Topology{Hosts: 1, Servers: 1}, lab.New())
		iferr.Fatal(t, err)
		defer s.Close(t.Context())
		h := s.Hosts[0]
		iferr.Fatal(t, s.Bridge(t.Context(), h, "br0", 0, plug))
		for _, key := range netns.BridgeNetfilter {
			got, err := netns.Sysctl(h.NS, key)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("br_netfilter is not loaded")
			}
			if err != nil || got != "0" {
				t.Errorf("%+v: %s is %q, %v", plug, key, got, err)
			}
		}
	}
}
