package remote

import (
	"context"
	"net/netip"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/record"
)

// Addresses returns the machine's own addresses: see nl.NS.Addresses.
func (m *Machine) Addresses(ctx context.Context) ([]nl.Address, error) {
	return agent.Ask[[]nl.Address](ctx, m, methodAddresses, struct{}{})
}

// Way returns how the machine sends packets to an address.
func (m *Machine) Way(ctx context.Context, to netip.Addr) (nl.Way, error) {
	return agent.Ask[nl.Way](ctx, m, methodWay, to)
}

// Card describes a network card of the machine: see sampler.NIC.
func (m *Machine) Card(ctx context.Context, device string) (record.NIC, error) {
	return agent.Ask[record.NIC](ctx, m, methodNIC, device)
}

func addresses(context.Context, struct{}) ([]nl.Address, error) {
	return nl.Ask("", (*nl.NS).Addresses)
}

func way(_ context.Context, to netip.Addr) (nl.Way, error) {
	return nl.Ask("", func(n *nl.NS) (nl.Way, error) { return n.Way(to) })
}
