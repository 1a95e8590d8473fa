package plumb

import (
	"context"
	"fmt"
	"os"

	"nettoll/internal/nl"
)

// Pairs gives each of the nodes, which are on the host, a veth pair: Device in the node, and
// Port on the host, which comes up there. master is the index of the bridge that ports
// belong to, 0 is none; MTU 0 is the kernel's.
func (s *Site) Pairs(ctx context.Context, h *Host, nodes []*Node, master, mtu int) error {
	var pairs nl.Batch
	for _, n := range nodes {
		ns, err := os.Open(n.NS)
		if err != nil {
			return fmt.Errorf("open network namespace of %s: %w", n.Name(), err)
		}
		defer ns.Close()
		s.MadeDevice(h.NS, n.Port)
		pairs.AddVeth(nl.Veth{Name: n.Port, Master: master, MTU: mtu, Peer: n.Device, PeerNS: int(ns.Fd())})
	}
	return pairs.Do(ctx, h.NS)
}
