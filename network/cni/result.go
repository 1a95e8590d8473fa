package cni

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// settle gives the container the addresses that its device got, and returns when they
// can be reached.
func settle(ctx context.Context, n *plumb.Node, result types.Result) error {
	n.Device, n.Addr4, n.Addr6 = device, netip.Addr{}, netip.Addr{}
	has, err := addresses(n)
	if err != nil {
		return err
	}
	told, err := reported(result)
	if err != nil {
		return err
	}
	for _, addr := range told {
		if !slices.Contains(has, addr) {
			return fmt.Errorf("the plugins report the address %s, and %s does not have it", addr, device)
		}
	}
	// Those that were reported come first: they are what a runtime would tell others.
	for _, addr := range append(told, has...) {
		switch {
		case addr.Is4() && !n.Addr4.IsValid():
			n.Addr4 = addr
		case addr.Is6() && !n.Addr6.IsValid():
			n.Addr6 = addr
		}
	}
	return nl.With(n.NS, func(in *nl.NS) error {
		for _, addr := range []netip.Addr{n.Addr4, n.Addr6} {
			if !addr.IsValid() {
				continue
			}
			if err := in.Own(ctx, addr); err != nil {
				return err
			}
		}
		return nil
	})
}

// addresses are those that the container's device has.
func addresses(n *plumb.Node) (all []netip.Addr, err error) {
	err = nl.With(n.NS, func(in *nl.NS) error {
		devices, err := in.Devices()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(devices, func(d nl.Device) bool { return d.Name == device })
		if i < 0 {
			return fmt.Errorf("the plugins made no device %s", device)
		}
		for _, text := range devices[i].Addrs {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return fmt.Errorf("address of %s: %w", device, err)
			}
			all = append(all, p.Addr())
		}
		if len(all) == 0 {
			return fmt.Errorf("the plugins gave %s no address; the conflist may lack an ipam", device)
		}
		return nil
	})
	return all, err
}

// reported are the addresses of a result that belong to the container's device.
func reported(result types.Result) (all []netip.Addr, err error) {
	r, err := current.NewResultFromResult(result)
	if err != nil {
		return nil, fmt.Errorf("result of the plugins: %w", err)
	}
	for _, ip := range r.IPs {
		if i := ip.Interface; i != nil {
			if *i < 0 || *i >= len(r.Interfaces) {
				return nil, fmt.Errorf("result of the plugins: address %s belongs to interface %d of %d", ip.Address.IP, *i, len(r.Interfaces))
			}
			if r.Interfaces[*i].Name != device {
				continue
			}
		}
		addr, ok := netip.AddrFromSlice(ip.Address.IP)
		if !ok {
			return nil, fmt.Errorf("result of the plugins: %q is no address", ip.Address.IP)
		}
		all = append(all, addr.Unmap())
	}
	return all, nil
}
