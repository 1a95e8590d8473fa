package uplink

import (
	"context"
	"net/netip"

	"nettoll/internal/nl"
)

// Here is this machine.
type Here struct{}

// Addresses implements Asked.
func (Here) Addresses(context.Context) ([]nl.Address, error) { return nl.Ask("", (*nl.NS).Addresses) }

// Way implements Asked.
func (Here) Way(_ context.Context, to netip.Addr) (nl.Way, error) {
	return nl.Ask("", func(n *nl.NS) (nl.Way, error) { return n.Way(to) })
}
