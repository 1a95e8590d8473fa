package calico

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// patience is how long felix may take to be ready: it reads all of etcd and writes hundreds of rules.
const patience = 50 * time.Second

// startFelix runs felix on every host, and returns when each has written the routes and
// rules of its containers.
func (n *build) startFelix(ctx context.Context, etcd string) ([]*daemon.Daemon, error) {
	s := n.Site
	// A machine that has Calico itself keeps files for its CNI plugin there, which this felix must not
	// change.
	if err := daemon.Hide(&s.Stack, "/var/lib/calico"); err != nil {
		return nil, err
	}
	for _, h := range s.Hosts {
		if err := n.tidy(h); err != nil {
			return nil, err
		}
	}
	return s.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		return daemon.Start(ctx, &s.Stack, h, daemon.Spec{
			Name: "felix", Path: n.Programs["calico-felix"], Patience: patience,
			Env: []string{
				"DATASTORE_TYPE=etcdv3", "ETCD_ENDPOINTS=" + etcd,
				"FELIX_DATASTORETYPE=etcdv3", "FELIX_ETCDENDPOINTS=" + etcd, "FELIX_FELIXHOSTNAME=" + h.Name(),
				"FELIX_LOGSEVERITYSCREEN=WARNING", "FELIX_LOGFILEPATH=none", "FELIX_LOGSEVERITYSYS=none",
				// Tables of nf_tables can be listed, so that those which felix makes can be removed; see tidy.
				"FELIX_IPTABLESBACKEND=nft",
				"FELIX_USAGEREPORTINGENABLED=false", "FELIX_HEALTHENABLED=false",
				"FELIX_BPFENABLED=false", "FELIX_XDPENABLED=false",
			},
			Ready:     func(ctx context.Context) error { return n.written(ctx, h) },
			Complaint: complaint,
		})
	})
}

// complaint reports whether a line of felix's log is an error that matters. Felix also logs errors when it
// cannot clean up after an earlier felix (BPF programs, tracked connections), although there was none.
func complaint(line string) bool {
	return strings.Contains(line, "[ERROR]") && !strings.Contains(line, "bpftool") && !strings.Contains(line, "conntrack")
}

// written returns an error that names something that felix has not written on a host yet.
func (n *build) written(ctx context.Context, h *plumb.Host) error {
	if err := n.routed(h); err != nil {
		return err
	}
	if err := tabled(h); err != nil {
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
		passed, err := n.passed(ctx, h, six)
		if err != nil {
			return err
		}
		for _, node := range h.Nodes {
			if _, err := passed.sum(chains(node)); err != nil {
				return err
			}
		}
		if err := n.ruled(h, passed); err != nil {
			return err
		}
	}
	return nil
}

// tabled returns an error if a host lacks one of felix's firewall tables. Felix writes each of the four
// separately, for both IP versions, and a packet passes all of them.
func tabled(h *plumb.Host) error {
	there, err := nl.FirewallTables(h.NS)
	if err != nil {
		return err
	}
	for _, name := range []string{"raw", "mangle", "nat", "filter"} {
		versions := 0 // of IP
		for _, t := range there {
			if t.Name == name {
				versions++
			}
		}
		if versions < 2 {
			return fmt.Errorf("felix on %s has not written the table %s of both IP versions", h.Name(), name)
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
