package nl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// readyTime bounds how long the kernel may take to complete a change that it has accepted.
const readyTime = 30 * time.Second

// await calls ready until it returns true or an error, or ctx ends.
func await(ctx context.Context, what string, ready func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("not ready after %v", readyTime))
	defer cancel()
	for {
		ok, err := ready()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}

// Running waits until the kernel has noticed the carrier of devices that are up, so that bridges
// forward to them. The kernel processes about a hundred carriers per second; newer kernels do so at
// once for a device that is looked up individually.
func (n *NS) Running(ctx context.Context, names ...string) error {
	for _, name := range names {
		err := await(ctx, "wait for carrier of "+name, func() (bool, error) {
			l, err := n.Link(name)
			return err == nil && l.Attrs().OperState == netlink.OperUp, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Own waits until the namespace accepts packets to the addresses as its own. For IPv6 that is later
// than the address appears, by seconds if many namespaces are being configured.
func (n *NS) Own(ctx context.Context, addrs ...netip.Addr) error {
	return own(ctx, addrs, func(a netip.Addr) (uint8, error) {
		r, err := n.routeTo(a)
		return uint8(r.Type), err
	})
}

// own waits until the routes to all addresses, whose types routeType returns, end in the namespace.
func own(ctx context.Context, addrs []netip.Addr, routeType func(netip.Addr) (uint8, error)) error {
	for _, a := range addrs {
		err := await(ctx, fmt.Sprintf("wait for address %s", a), func() (bool, error) {
			kind, err := routeType(a)
			if errors.Is(err, unix.ENETUNREACH) {
				return false, nil
			}
			return kind == unix.RTN_LOCAL, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
