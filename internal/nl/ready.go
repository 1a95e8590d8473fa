package nl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/await"
	"nettoll/record"
)

// readyTime bounds how long the kernel may take to complete a change that it has accepted.
const readyTime = 30 * time.Second

// ready waits until the kernel has completed a change.
func ready(ctx context.Context, what string, done func() (bool, error)) error {
	err := await.Until(ctx, readyTime, time.Millisecond, func(context.Context) (missing, err error) {
		is, err := done()
		if !is {
			missing = fmt.Errorf("wait for %s: not ready", what)
		}
		return missing, err
	})
	if errors.As(err, new(*await.Late)) {
		return fmt.Errorf("%w after %v", err, readyTime)
	}
	return err
}

// Running waits until the kernel has noticed the carrier of devices that are up, so that bridges
// forward to them. The kernel processes about a hundred carriers per second; newer kernels do so at
// once for a device that is looked up individually.
func (n *NS) Running(ctx context.Context, names ...string) error {
	return record.Try(names, func(name string) error {
		return ready(ctx, "carrier of "+name, func() (bool, error) {
			l, err := n.Link(name)
			return err == nil && l.Attrs().OperState == netlink.OperUp, err
		})
	})
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
	return record.Try(addrs, func(a netip.Addr) error {
		return ready(ctx, fmt.Sprintf("address %s", a), func() (bool, error) {
			kind, err := routeType(a)
			if errors.Is(err, unix.ENETUNREACH) {
				return false, nil
			}
			return kind == unix.RTN_LOCAL, err
		})
	})
}
