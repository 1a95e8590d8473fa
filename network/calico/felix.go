package calico

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nettoll/internal/daemon"
	"nettoll/internal/felix"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/record"
)

// startFelix runs felix on every host, and returns when each has written the routes and
// rules of its containers.
func (n *build) startFelix(ctx context.Context, etcd *daemon.Etcd) ([]*daemon.Daemon, error) {
	s := n.Site
	if err := daemon.Hide(&s.Stack, felix.State); err != nil {
		return nil, err
	}
	if err := record.Try(s.Hosts, n.tidy); err != nil {
		return nil, err
	}
	return s.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		spec := felix.Spec(n.Programs[felix.Program.Name], h.Name(),
			"DATASTORE_TYPE=etcdv3", "ETCD_ENDPOINTS="+etcd.URL, "FELIX_DATASTORETYPE=etcdv3", "FELIX_ETCDENDPOINTS="+etcd.URL)
		spec.Needs = []*daemon.Daemon{etcd.Daemon}
		spec.Ready = func(ctx context.Context) error { return n.written(ctx, h) }
		return daemon.Start(ctx, &s.Stack, h, spec)
	})
}

// written returns an error that names something that felix has not written on a host yet.
func (n *build) written(ctx context.Context, h *plumb.Host) error {
	if err := n.routed(h); err != nil {
		return err
	}
	if err := felix.Tabled(h.Name(), h.NS); err != nil {
		return err
	}
	for _, node := range h.Nodes {
		on, err := netns.Sysctl(h.NS, "net/ipv4/conf/"+node.Port+"/proxy_arp")
		if err == nil && on != "1" {
			err = fmt.Errorf("%s does not answer ARP for the gateway of %s", node.Port, node.Name())
		}
		if err != nil {
			return err
		}
	}
	for _, six := range []bool{false, true} {
		passed, err := felix.Read(ctx, h, n.Programs, six)
		if err != nil {
			return err
		}
		for _, node := range h.Nodes {
			if _, err := passed.Sum(felix.Chains(node.Port)); err != nil {
				return err
			}
		}
		if err := n.ruled(h, passed); err != nil {
			return err
		}
	}
	return nil
}

// routed returns an error if a host lacks one of felix's routes.
func (n *build) routed(h *plumb.Host) error {
	devices, err := h.RouteDevices()
	if err != nil {
		return err
	}
	for _, node := range h.Nodes {
		for _, a := range []netip.Addr{node.Addr4, node.Addr6} {
			if devices[plumb.Single(a)] != node.Port {
				return fmt.Errorf("no route to %s of %s", a, node.Name())
			}
		}
	}
	if n.tech.way != vxlan {
		return nil
	}
	return n.routes.Reach(h)
}

// tidy pushes the removal of what felix and BIRD leave on a host.
func (n *build) tidy(h *plumb.Host) error {
	s := n.Site
	s.Made("IP sets of felix", func(ctx context.Context) error { return plumb.RemoveSets(ctx, h, n.Programs["ipset"], "cali") })
	if err := s.ForgetTables(h); err != nil {
		return err
	}
	if n.tech.way == ipip {
		if err := prepareTunnel(s, h); err != nil {
			return err
		}
	}
	n.routes.Forget(h)
	if n.tech.way == vxlan {
		for _, six := range n.tech.families() {
			s.MadeDevice(h.NS, n.toward(h, six))
		}
	}
	return nil
}

// prepareTunnel makes the tunnel's device if the kernel has not made it in this namespace
// (fb_tunnels_only_for_init_net). Felix cannot make it: it runs the ip program, whose request goes to that very
// device. prepareTunnel also pushes the removal of the device, or its return to the present state.
func prepareTunnel(s *plumb.Site, h *plumb.Host) error {
	tunnel := ipip.device4
	return nl.With(h.NS, func(n *nl.NS) error {
		l, err := n.Link(tunnel)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			s.MadeDevice(h.NS, tunnel)
			attrs := netlink.NewLinkAttrs()
			attrs.Name = tunnel
			return n.Add(nl.IPIP(attrs, netip.Addr{}, netip.Addr{}))
		}
		if err != nil {
			return err
		}
		mtu := l.Attrs().MTU
		s.MadeIn(h.NS, tunnel, func(n *nl.NS) error { return n.Reset(tunnel, mtu) })
		return nil
	})
}
