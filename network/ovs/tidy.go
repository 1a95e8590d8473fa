package ovs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nettoll/internal/nl"
)

// ending bounds the orderly end of ovs-vswitchd.
const ending = 5 * time.Second

// cleanup ends ovs-vswitchd with all that it has made in the kernel.
func (v *vswitch) cleanup(ctx context.Context, t variant) error {
	if v.daemon.Fault() != nil {
		return v.sweep(ctx, t)
	}
	if _, err := ask(ctx, v.control(), "exit", "--cleanup"); err != nil && v.daemon.Fault() == nil {
		return err
	}
	for until := time.Now().Add(ending); v.daemon.Fault() == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			return fmt.Errorf("%s was told to end and has not within %v", v.daemon, ending)
		}
	}
	return nil
}

// What ovs-vswitchd calls the datapaths that it makes, and a device of each.
const (
	kernelDatapath = "ovs-system"
	userDatapath   = "ovs-netdev"
)

// sweep removes what an ovs-vswitchd that has died has left. Its tap devices stay, so that the next
// one finds them, and so does a datapath in the kernel.
func (v *vswitch) sweep(ctx context.Context, t variant) error {
	errs := []error{v.removeDatapath(ctx)}
	names := []string{bridge, physical, userDatapath}
	if t.ports == internal {
		for _, n := range v.host.Nodes {
			names = append(names, n.Port) // until it is in its container
			errs = append(errs, nl.With(n.NS, func(in *nl.NS) error { return in.Remove(n.Device) }))
		}
	}
	errs = append(errs, nl.With(v.host.NS, func(n *nl.NS) error {
		if t.tunnel != nil {
			names = append(names, t.tunnel.device)
		}
		for _, name := range names {
			if err := n.Remove(name); err != nil {
				return err
			}
		}
		return nil
	}))
	return errors.Join(errs...)
}

// removeDatapath removes that in the kernel with its ports, if there is one.
func (v *vswitch) removeDatapath(ctx context.Context) error {
	left := false
	err := nl.With(v.host.NS, func(n *nl.NS) error {
		all, err := n.Interfaces()
		for _, d := range all {
			left = left || d.Name == kernelDatapath
		}
		return err
	})
	if err != nil || !left {
		return err
	}
	return v.run(ctx, "ovs-dpctl", "del-dp", kernelDatapath)
}
