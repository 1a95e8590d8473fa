package routedbgp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
)

// startBird runs BIRD on every host, where there are several, and returns when each has
// routes to the containers of all others.
func startBird(ctx context.Context, s *plumb.Site, paths program.Paths) ([]*daemon.Daemon, error) {
	if len(s.Hosts) == 1 {
		return nil, nil // a router that has nobody to tell
	}
	path, err := findBird(paths)
	if err != nil {
		return nil, err
	}
	dir, err := daemon.State(&s.Stack)
	if err != nil {
		return nil, err
	}
	for _, h := range s.Hosts {
		forgetRoutes(s, h)
	}
	return onEach(ctx, s.Hosts, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		file := func(ending string) string { return filepath.Join(dir, h.Name()+ending) }
		if err := os.WriteFile(file(".conf"), []byte(birdConfig(s, h)), 0o644); err != nil {
			return nil, err
		}
		return daemon.Start(ctx, &s.Stack, h, daemon.Spec{
			Name: "bird", Path: path,
			Args:      []string{"-f", "-c", file(".conf"), "-s", file(".ctl"), "-P", file(".pid")},
			Ready:     func(context.Context) error { return routed(s, h) },
			Complaint: func(line string) bool { return strings.Contains(line, "<ERR>") || strings.Contains(line, "<BUG>") },
		})
	})
}

// forgetRoutes pushes the removal of what BIRD puts into the kernel. It does that itself
// unless it is killed.
func forgetRoutes(s *plumb.Site, h *plumb.Host) {
	s.Made("routes of bird", func(context.Context) error {
		return nl.With(h.NS, func(n *nl.NS) error {
			var errs []error
			for _, to := range s.Hosts {
				for _, six := range []bool{false, true} {
					errs = append(errs, n.Unroute(plumb.Subnet(to.Index, six)))
				}
			}
			return errors.Join(errs...)
		})
	})
}

// routed says whether a host has routes to all others' containers over its uplink.
func routed(s *plumb.Site, h *plumb.Host) error {
	return nl.With(h.NS, func(n *nl.NS) error {
		devices, err := n.RouteDevices()
		if err != nil {
			return err
		}
		for _, to := range s.Hosts {
			if to == h {
				continue
			}
			for _, six := range []bool{false, true} {
				if devices[plumb.Subnet(to.Index, six)] != h.Uplink().Device {
					return fmt.Errorf("no route to %s of %s", plumb.Subnet(to.Index, six), to.Name())
				}
			}
		}
		return nil
	})
}

// lost says which routes to other hosts are there no more, although BIRD is.
func lost(s *plumb.Site) error {
	for _, h := range s.Hosts {
		if err := routed(s, h); err != nil {
			return fmt.Errorf("bird on %s has lost a peer: %w", h.Name(), err)
		}
	}
	return nil
}

// autonomous is the number of the autonomous system that Calico's hosts are in, unless
// told otherwise: the first of RFC 6996's private ones.
const autonomous = 64512

// birdConfig is how calico/node sets BIRD up for a full mesh: the block of the host's
// containers is a black hole but for those that are there, and is told to all others.
func birdConfig(s *plumb.Site, h *plumb.Host) string {
	u := h.Uplink()
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr { warning, error, fatal, bug };\nrouter id %s;\nprotocol device { }\n", u.Addr4.Addr())
	for _, f := range []struct {
		name string
		six  bool
		own  netip.Addr
	}{{"ipv4", false, u.Addr4.Addr()}, {"ipv6", true, u.Addr6.Addr()}} {
		fmt.Fprintf(&b, "protocol direct { %s; interface %q; }\n", f.name, u.Device)
		fmt.Fprintf(&b, "protocol static { %s; route %s blackhole; }\n", f.name, plumb.Subnet(h.Index, f.six))
		fmt.Fprintf(&b, "protocol kernel { %s { import none; export where source ~ [ RTS_STATIC, RTS_BGP ]; }; }\n", f.name)
		for _, peer := range s.Hosts {
			if peer == h {
				continue
			}
			to := peer.Uplink().Addr4.Addr()
			if f.six {
				to = peer.Uplink().Addr6.Addr()
			}
			// One of two calls the other, so that their calls do not cross.
			passive := ""
			if h.Index < peer.Index {
				passive = " passive on;"
			}
			fmt.Fprintf(&b, "protocol bgp { local %s as %d; neighbor %s as %d; multihop; connect delay time 1;%s\n", f.own, autonomous, to, autonomous, passive)
			fmt.Fprintf(&b, "\t%s { gateway recursive; import all; export where source = RTS_STATIC; }; }\n", f.name)
		}
	}
	return b.String()
}
