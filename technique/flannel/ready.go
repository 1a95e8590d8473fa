package flannel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/technique"
)

const (
	interval = 20 * time.Millisecond // between two tries
	answer   = 300 * time.Millisecond
	discard  = 9 // IANA's port of a service that nobody runs
)

// mesh waits until every host reaches the containers' segment of every other, which is
// more than what flanneld tells: its daemons learn of each other by and by.
func (b *build) mesh(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	return b.pairs(func(from, to *plumb.Host, six bool) error {
		for {
			err := reach(asking, from.NS, plumb.Gateway(to.Index, six))
			if err == nil {
				return b.route(from, to, six)
			}
			if fault := b.fault(); fault != nil {
				return fault
			}
			select {
			case <-asking.Done():
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return fmt.Errorf("%s did not reach the containers of %s within %v: %w; the log of flanneld there ends with: %s",
					from.Name(), to.Name(), b.patience, err, b.flannelds[from.Index].Log())
			case <-time.After(interval):
			}
		}
	})
}

// fault is that of the first daemon that has ended.
func (b *build) fault() error {
	for _, d := range b.Needed {
		if err := d.Fault(); err != nil {
			return err
		}
	}
	return nil
}

// reach tries to open a connection from a host. One that is refused has got there and
// back.
func reach(ctx context.Context, ns string, to netip.Addr) error {
	d := net.Dialer{Timeout: answer}
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

// pairs runs fn for each host and each other one, over each IP version, until one fails.
func (b *build) pairs(fn func(from, to *plumb.Host, six bool) error) error {
	for _, from := range b.Hosts {
		for _, to := range b.Hosts {
			if from == to {
				continue
			}
			if err := b.families(func(six bool) error { return fn(from, to, six) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// routes looks whether packets still leave through the backend's devices.
func (b *build) routes(context.Context) error { return b.pairs(b.route) }

func (b *build) route(from, to *plumb.Host, six bool) error {
	gateway, want := plumb.Gateway(to.Index, six), b.leads(from, six)
	return nl.With(from.NS, func(n *nl.NS) error {
		l, err := n.Toward(gateway)
		if err != nil {
			return fmt.Errorf("%s: containers of %s: %w", from.Name(), to.Name(), err)
		}
		if got := l.Attrs().Name; got != want {
			return &technique.WrongPath{Finding: fmt.Sprintf(
				"%s sends what is for the containers of %s through %s, and not through %s of flannel's %s backend",
				from.Name(), to.Name(), got, want, b.kind)}
		}
		return nil
	})
}
