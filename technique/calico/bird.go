package calico

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
)

// startBird runs BIRD on every host, where there are several, and returns when each has
// routes to the containers of all others.
func (n *network) startBird(ctx context.Context, dir string) ([]*daemon.Daemon, error) {
	s := n.Site
	if len(s.Hosts) == 1 {
		return nil, nil // a router that has nobody to tell
	}
	return onEach(ctx, s.Hosts, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		file := func(ending string) string { return filepath.Join(dir, h.Name()+ending) }
		if err := os.WriteFile(file(".conf"), []byte(n.birdConfig(h)), 0o644); err != nil {
			return nil, err
		}
		return daemon.Start(ctx, &s.Stack, h, daemon.Spec{
			Name: "bird", Path: n.programs.bird,
			Args:      []string{"-f", "-c", file(".conf"), "-s", file(".ctl"), "-P", file(".pid")},
			Ready:     func(context.Context) error { return n.reaches(h) },
			Complaint: func(line string) bool { return strings.Contains(line, "<ERR>") || strings.Contains(line, "<BUG>") },
		})
	})
}

// autonomous is the number of the autonomous system that Calico's hosts are in, unless
// told otherwise: the first of RFC 6996's private ones.
const autonomous = 64512

// birdConfig is how calico/node sets BIRD up for a full mesh: the block of the host's
// containers is a black hole but for those that are there, and is told to all others.
func (n *network) birdConfig(h *plumb.Host) string {
	u := h.Uplink()
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr { warning, error, fatal, bug };\nrouter id %s;\nprotocol device { }\n", u.Addr4.Addr())
	for _, six := range n.families() {
		name, own := "ipv4", u.Addr4.Addr()
		if six {
			name, own = "ipv6", u.Addr6.Addr()
		}
		fmt.Fprintf(&b, "protocol direct { %s; interface %q; }\n", name, u.Device)
		fmt.Fprintf(&b, "protocol static { %s; route %s blackhole; }\n", name, block(h, six))
		fmt.Fprintf(&b, "protocol kernel { %s { import none; export where source ~ [ RTS_STATIC, RTS_BGP ]; }; }\n", name)
		resolving := "gateway recursive;"
		if n.tech.way == ipip {
			// Calico's own BIRD leads what it exports into the tunnel. Debian's can be
			// led to believe that the other hosts are on the tunnel's link.
			b.WriteString("ipv4 table tunnelled;\n")
			resolving += " igp table tunnelled;"
		}
		for _, peer := range n.Site.Hosts {
			if peer == h {
				continue
			}
			b.WriteString(n.session(h, peer, name, own, address(peer, six), resolving))
		}
	}
	return b.String()
}

func address(h *plumb.Host, six bool) netip.Addr {
	if six {
		return h.Uplink().Addr6.Addr()
	}
	return h.Uplink().Addr4.Addr()
}

// session is what a host's BIRD has to know of another one.
func (n *network) session(h, peer *plumb.Host, family string, own, to netip.Addr, resolving string) string {
	var b strings.Builder
	if n.tech.way == ipip {
		fmt.Fprintf(&b, "protocol static { ipv4 { table tunnelled; }; route %s/32 via %s%%%s onlink; }\n", to, to, tunnel)
	}
	// One of two calls the other, so that their calls do not cross.
	passive := ""
	if h.Index < peer.Index {
		passive = " passive on;"
	}
	fmt.Fprintf(&b, "protocol bgp { local %s as %d; neighbor %s as %d; multihop; connect delay time 1;%s\n", own, autonomous, to, autonomous, passive)
	fmt.Fprintf(&b, "\t%s { %s import all; export where source = RTS_STATIC; }; }\n", family, resolving)
	return b.String()
}
