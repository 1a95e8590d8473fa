// Package bird runs BIRD on the hosts of a site, so that the hosts exchange routes to their containers
// by BGP, as Calico's hosts do.
package bird

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Program is the program bird.
var Program = daemon.Program{Name: "bird", Get: platform.Install("bird2")}

// Mesh is a BIRD on each host, each connected to all others.
type Mesh struct {
	plumb.Routes        // the routes that BIRD has to write
	Path         string // of the program
	// Tunnel is the IPIP device that leads to the other hosts; empty if packets to them are sent to
	// the underlay without a tunnel.
	Tunnel string
}

// Start runs BIRD on every host, if there are several, and returns when each has routes to the
// containers of all others.
func (m Mesh) Start(ctx context.Context) ([]*daemon.Daemon, error) {
	s := m.Site
	if len(s.Hosts) == 1 {
		return nil, nil // a single router has no peers
	}
	dir, err := daemon.State(&s.Stack)
	if err != nil {
		return nil, err
	}
	return s.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		file := func(ending string) string { return filepath.Join(dir, h.Name()+ending) }
		if err := os.WriteFile(file(".conf"), []byte(m.config(h)), 0o644); err != nil {
			return nil, err
		}
		return daemon.Start(ctx, &s.Stack, h, daemon.Spec{
			Name: "bird", Path: m.Path,
			Args:      []string{"-f", "-c", file(".conf"), "-s", file(".ctl"), "-P", file(".pid")},
			Ready:     func(context.Context) error { return m.Reach(h) },
			Complaint: func(line string) bool { return strings.Contains(line, "<ERR>") || strings.Contains(line, "<BUG>") },
		})
	})
}

// autonomous is the number of the autonomous system that Calico's hosts are in by default: the first
// of the private ones in RFC 6996.
const autonomous = 64512

// config returns the configuration that calico/node writes for a full mesh: the block of the host's
// containers is a black hole except for existing containers, and is announced to all others.
func (m Mesh) config(h *plumb.Host) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr { warning, error, fatal, bug };\nrouter id %s;\nprotocol device { }\n", h.OnUnderlay(false))
	for _, six := range m.Families {
		name := "ipv4"
		if six {
			name = "ipv6"
		}
		fmt.Fprintf(&b, "protocol direct { %s; interface %q; }\n", name, h.Uplink().Device)
		fmt.Fprintf(&b, "protocol static { %s; route %s blackhole; }\n", name, m.To(h, six))
		fmt.Fprintf(&b, "protocol kernel { %s { import none; export where source ~ [ RTS_STATIC, RTS_BGP ]; }; }\n", name)
		resolving := "gateway recursive;"
		if m.Tunnel != "" {
			// Calico's own BIRD routes what it exports into the tunnel. Debian's does so if it is made to
			// believe that the other hosts are on the tunnel's link.
			b.WriteString("ipv4 table tunnelled;\n")
			resolving += " igp table tunnelled;"
		}
		for _, peer := range m.Site.Others(h) {
			own, to := h.OnUnderlay(six), peer.OnUnderlay(six)
			if m.Tunnel != "" {
				fmt.Fprintf(&b, "protocol static { ipv4 { table tunnelled; }; route %s/32 via %s%%%s onlink; }\n", to, to, m.Tunnel)
			}
			// Of each two hosts only one connects to the other, so that connections do not collide.
			passive := ""
			if h.Index < peer.Index {
				passive = " passive on;"
			}
			fmt.Fprintf(&b, "protocol bgp { local %s as %d; neighbor %s as %d; multihop; connect delay time 1;%s\n", own, autonomous, to, autonomous, passive)
			fmt.Fprintf(&b, "\t%s { %s import all; export where source = RTS_STATIC; }; }\n", name, resolving)
		}
	}
	return b.String()
}
