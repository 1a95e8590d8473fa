package remote

import (
	"context"
	"net/netip"

	"nettoll/internal/nl"
	"nettoll/record"
)

// Addresses returns the machine's own addresses: see nl.NS.Addresses.
func (m *Machine) Addresses(ctx context.Context) (all []nl.Address, err error) {
	err = m.call(ctx, methodAddresses, struct{}{}, &all)
	return all, err
}

// Way returns how the machine sends packets to an address.
func (m *Machine) Way(ctx context.Context, to netip.Addr) (w nl.Way, err error) {
	err = m.call(ctx, methodWay, to, &w)
	return w, err
}

// Card describes a network card of the machine: see sampler.NIC.
func (m *Machine) Card(ctx context.Context, device string) (n record.NIC, err error) {
	err = m.call(ctx, methodNIC, device, &n)
	return n, err
}

func addresses(context.Context, struct{}) ([]nl.Address, error) {
	return nl.Ask("", (*nl.NS).Addresses)
}

func way(_ context.Context, to netip.Addr) (nl.Way, error) {
	return nl.Ask("", func(n *nl.NS) (nl.Way, error) { return n.Way(to) })
}
