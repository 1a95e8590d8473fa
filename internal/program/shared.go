package program

import (
	"net/netip"
	"slices"

	"nettoll/workload"
)

// Shared is what the pairs have in common that talk to one server.
type Shared struct {
	Flows  int          // of all its clients
	Order  int          // how many other servers come before it
	Listen []netip.Addr // where its clients' packets arrive, each once
}

// SharedBy is that of the pairs which have the server of a pair.
func SharedBy(job workload.Job, pair int) Shared {
	var s Shared
	p, before := job.Pairs[pair], map[any]bool{}
	for i, other := range job.Pairs {
		if other.Server == p.Server && other.Port == p.Port {
			s.Flows += max(job.Options.Streams, 1)
			if at := other.Listen.Unmap(); !slices.Contains(s.Listen, at) {
				s.Listen = append(s.Listen, at)
			}
		} else if i < pair {
			before[other.Server] = true
		}
	}
	s.Order = len(before)
	return s
}

// Ports are a port at each of several addresses.
func Ports(protocol string, at []netip.Addr, port int) (all []Port) {
	for _, a := range at {
		all = append(all, Port{protocol, netip.AddrPortFrom(a.Unmap(), uint16(port))})
	}
	return all
}
