package flannel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	answer  = 300 * time.Millisecond // without the underlay's delay
	discard = 9                      // IANA's port of a service that nobody runs
)

// mesh waits until every host reaches the containers' segment of every other. This is more than
// flanneld reports: flannelds learn of each other gradually.
func (b *build) mesh(ctx context.Context) error {
	err := daemon.Until(ctx, b.patience, func(ctx context.Context) error {
		return b.pairs(func(from, to *plumb.Host, six bool) error {
			// Each packet is delayed, those that look for the next hop as well.
			if err := reach(ctx, from.NS, plumb.Gateway(to.Index, six), answer+4*b.Topo.Underlay.Delay); err != nil {
				return fmt.Errorf("%s does not reach the containers of %s: %w; the log of flanneld there ends with: %s",
					from.Name(), to.Name(), err, b.flannelds[from.Index].Log())
			}
			return nil
		})
	}, b.Needed...)
	if err != nil {
		return err
	}
	return b.routes(ctx)
}

// reach tries to open a connection from a host within a time. A refused one has crossed in both directions.
func reach(ctx context.Context, ns string, to netip.Addr, within time.Duration) error {
	d := net.Dialer{Timeout: within}
	err := netns.Do(ns, func() error {
		c, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(to, discard).String())
		if err == nil {
			c.Close()
		}
		return err
	})
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	return err
}

// pairs runs fn for every ordered pair of hosts, over each IP version, until one fails.
func (b *build) pairs(fn func(from, to *plumb.Host, six bool) error) error {
	for _, from := range b.Hosts {
		for _, to := range b.Others(from) {
			if err := b.families(func(six bool) error { return fn(from, to, six) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// routes checks that packets still leave through the backend's devices.
func (b *build) routes(context.Context) error { return b.pairs(b.route) }

func (b *build) route(from, to *plumb.Host, six bool) error {
	gateway, want := plumb.Gateway(to.Index, six), b.leads(from, six)
	return nl.With(from.NS, func(n *nl.NS) error {
		l, err := n.Toward(gateway)
		if err != nil {
			return fmt.Errorf("%s: containers of %s: %w", from.Name(), to.Name(), err)
		}
		if got := l.Attrs().Name; got != want {
			return &network.WrongPath{Finding: fmt.Sprintf(
				"%s sends packets for the containers of %s through %s, not through %s of flannel's %s backend",
				from.Name(), to.Name(), got, want, b.kind)}
		}
		return nil
	})
}
