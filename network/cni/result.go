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
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// settle sets the addresses of the container to those that its device got, and returns when they
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
			return fmt.Errorf("the plugins report the address %s, but %s does not have it", addr, device)
		}
	}
	// Reported addresses come first: a runtime would announce them to others.
	for _, addr := range append(told, has...) {
		switch {
		case addr.Is4() && !n.Addr4.IsValid():
			n.Addr4 = addr
		case addr.Is6() && !n.Addr6.IsValid():
			n.Addr6 = addr
		}
	}
	return nl.With(n.NS, func(in *nl.NS) error {
		return in.Own(ctx, record.Those([]netip.Addr{n.Addr4, n.Addr6}, netip.Addr.IsValid)...)
	})
}

// addresses returns the addresses of the container's device.
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

// reported returns the addresses of a result that belong to the container's device.
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
			return nil, fmt.Errorf("result of the plugins: %q is not an address", ip.Address.IP)
		}
		all = append(all, addr.Unmap())
	}
	return all, nil
}

// refuse returns an error for a family without addresses from the plugins, and for one without a
// way between the hosts.
func (n *build) refuse(from, to *plumb.Node, f network.Family, at netip.Addr) error {
	if !at.IsValid() {
		return &platform.Unsupported{
			Feature: fmt.Sprintf("IPv%d", f), Option: fmt.Sprintf("a conflist that gives containers IPv%d addresses", f),
			Remedy: fmt.Sprintf("add an IPv%d range to the conflist, or measure IPv%d alone (-%[2]d)", f, other(f)),
		}
	}
	return n.closed[leg{from, to, f}]
}

func other(f network.Family) network.Family {
	if f == network.IPv6 {
		return network.IPv4
	}
	return network.IPv6
}

// distinct rejects an address that two nodes or hosts have: which of them would answer is random.
func distinct(s *plumb.Site) error {
	has := map[netip.Addr]string{}
	for _, h := range s.Hosts {
		has[h.OnUnderlay(false)], has[h.OnUnderlay(true)] = h.Name(), h.Name()
	}
	for _, node := range s.Nodes() {
		for _, addr := range []netip.Addr{node.Addr4, node.Addr6} {
			if !addr.IsValid() {
				continue
			}
			if who, taken := has[addr]; taken {
				return fmt.Errorf("the plugins gave %s the address %s, which %s has: use host-local, or a subnet for each host that is not the underlay's", node.Name(), addr, who)
			}
			has[addr] = node.Name()
		}
	}
	return nil
}
