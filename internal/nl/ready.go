package nl

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// readyTime bounds how long the kernel may take to finish what it has accepted.
const readyTime = 30 * time.Second

// await asks until the answer is yes, or ctx ends.
func await(ctx context.Context, what string, ready func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("not after %v", readyTime))
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

// Running waits until devices that are up have a carrier that the kernel knows of,
// so that bridges forward to them. The kernel takes notice of about a hundred carriers
// a second; newer ones do so at once for a device that is asked for by itself.
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

// Own waits until the namespace takes what is sent to addresses for its own. For IPv6
// that comes later than the address, by seconds where many namespaces are configured.
func (n *NS) Own(ctx context.Context, addrs ...netip.Addr) error {
	for _, a := range addrs {
		err := await(ctx, fmt.Sprintf("wait for address %s", a), func() (bool, error) {
			var routes []netlink.Route
			err := again(func() (err error) {
				routes, err = n.RouteGet(a.AsSlice())
				return err
			})
			if err == unix.ENETUNREACH {
				return false, nil
			}
			if err != nil {
				return false, fmt.Errorf("find route to %s: %w", a, err)
			}
			return len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
