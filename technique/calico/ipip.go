package calico

import (
	"context"
	"errors"
	"net"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// probeIPIP tries to make a tunnel. Its far end is of RFC 5737's addresses: one without
// a far end there is at most once.
func probeIPIP(ctx context.Context) error {
	if err := plumb.Check(ctx, plumb.Veth); err != nil {
		return err
	}
	ns, err := netns.New(1, func() error { return nil })
	if err != nil {
		return err
	}
	defer ns[0].Close()
	err = nl.With(ns[0].Path(), func(n *nl.NS) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "tried"
		return n.Add(&netlink.Iptun{LinkAttrs: attrs, Remote: net.IPv4(192, 0, 2, 1), Local: net.IPv4(192, 0, 2, 2)})
	})
	if err != nil {
		return &platform.Unsupported{
			Feature: "IPIP tunnels", Option: "CONFIG_NET_IPIP", Err: err,
			Remedy: "modprobe ipip as root, or use a kernel that has CONFIG_NET_IPIP",
		}
	}
	return nil
}

// tunnel is the device that felix sets up for IPIP. The kernel makes it in each
// namespace when the module is loaded, unless it is told not to.
const tunnel = "tunl0"

// restoreTunnel pushes that the device is again as it is now.
func restoreTunnel(s *plumb.Site, h *plumb.Host) error {
	mtu := 0 // it is not there
	err := nl.With(h.NS, func(n *nl.NS) error {
		l, err := n.Link(tunnel)
		if err == nil {
			mtu = l.Attrs().MTU
		}
		return err
	})
	if err != nil && !errors.As(err, &netlink.LinkNotFoundError{}) {
		return err
	}
	s.Made(tunnel, func(context.Context) error {
		return nl.With(h.NS, func(n *nl.NS) error {
			if mtu == 0 {
				return n.Remove(tunnel)
			}
			return n.Reset(tunnel, mtu)
		})
	})
	return nil
}
