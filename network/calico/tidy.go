package calico

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/process"
	"nettoll/platform"
)

// tidy pushes the removal of what felix and BIRD leave on a host.
func (n *build) tidy(h *plumb.Host) error {
	s := n.Site
	s.Made("IP sets of felix", func(ctx context.Context) error { return n.removeSets(ctx, h) })
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
		for _, six := range n.families() {
			s.MadeDevice(h.NS, n.toward(h, six))
		}
	}
	return nil
}

// removeSets removes felix's IP sets, which no rule refers to any more.
func (n *build) removeSets(ctx context.Context, h *plumb.Host) error {
	run := func(in string, args ...string) (string, error) {
		var out strings.Builder
		cmd := platform.Command{Path: n.programs.ipset, Args: args, Stdin: strings.NewReader(in), Stdout: &out}
		err := process.Run(ctx, h, cmd)
		return out.String(), err
	}
	names, err := run("", "list", "-n")
	if err != nil {
		return err
	}
	var destroy strings.Builder
	for name := range strings.FieldsSeq(names) {
		if strings.HasPrefix(name, "cali") {
			destroy.WriteString("destroy " + name + "\n")
		}
	}
	_, err = run(destroy.String(), "restore")
	return err
}

// prepareTunnel makes the device where the kernel has not (fb_tunnels_only_for_init_net): the
// ip program, by which felix would, asks the device itself to be made. It pushes that the
// device is again as it is now.
func prepareTunnel(s *plumb.Site, h *plumb.Host) error {
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
		s.Made(tunnel, func(context.Context) error {
			return nl.With(h.NS, func(n *nl.NS) error { return n.Reset(tunnel, mtu) })
		})
		return nil
	})
}
