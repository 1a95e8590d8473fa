package program

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"nettoll/workload"
)

// Pair is a client and its server, with what they are started with.
type Pair struct {
	workload.Pair
	Job          workload.Job
	Lead, Window time.Duration // of the trial
	Found        Paths         // of the tool's programs
	Password     string        // made for the trial
	Streams      int           // of the client, 1 at least
	ServerCPUs   []int
	ClientCPUs   []int

	// What the server is for: the flows of all its clients, and where their packets arrive,
	// each address once.
	Flows     int
	Addresses []netip.Addr
	port      int
}

// Ports are those that the server opens.
func (p Pair) Ports(protocol string) (all []Port) {
	for _, a := range p.Addresses {
		all = append(all, Port{protocol, netip.AddrPortFrom(a, uint16(p.port))})
	}
	return all
}

// Joined are the addresses that the server listens at, with a text between.
func (p Pair) Joined(between string) string {
	var all []string
	for _, a := range p.Addresses {
		all = append(all, a.String())
	}
	return strings.Join(all, between)
}

// Family is the option by which programs are told what IP version to speak: -4 or -6.
func (p Pair) Family() string {
	if p.Addr.Is4() {
		return "-4"
	}
	return "-6"
}

// pair is the n-th of a job.
func (s Serves) pair(job workload.Job, n int) Pair {
	p := Pair{Pair: job.Pairs[n], Job: job, Streams: max(job.Options.Streams, 1)}
	p.port = p.Port
	if s == OneClient {
		p.port = p.Own[0]
	}
	order, before := n, map[any]bool{}
	for i, other := range job.Pairs {
		if s.together(p.Pair, other, i == n) {
			p.Flows += p.Streams
			if at := other.Listen.Unmap(); !slices.Contains(p.Addresses, at) {
				p.Addresses = append(p.Addresses, at)
			}
		} else if i < n {
			before[other.Server] = true
		}
	}
	if s == Endpoint {
		order = len(before)
	}
	p.ServerCPUs = CPUs(job.CPUs.Server, order, p.Flows)
	p.ClientCPUs = CPUs(job.CPUs.Client, n, p.Streams)
	return p
}

// together says whether two pairs, which may be the same, have one server.
func (s Serves) together(p, other workload.Pair, same bool) bool {
	one := p.Server == other.Server && p.Port == other.Port
	switch s {
	case Address:
		return one && p.Listen.Unmap() == other.Listen.Unmap()
	case Endpoint:
		return one
	}
	return same
}

// CPUs is where the program of the n-th client, or its server, may run. One with a
// single flow gets a CPU of its own, the n-th of the set, as a flow of the engine
// does; one with several gets the set.
func CPUs(set []int, n, flows int) []int {
	if len(set) == 0 || flows > 1 {
		return set
	}
	return set[n%len(set) : n%len(set)+1]
}

// WholeSeconds is a duration as programs take it that know no fractions: rounded up,
// at least 1.
func WholeSeconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// Window is the warm-up and the window of a job in whole seconds, rounded up.
func Window(job workload.Job) (lead, window time.Duration) {
	if job.Warmup > 0 {
		lead = time.Duration(WholeSeconds(job.Warmup)) * time.Second
	}
	return lead, time.Duration(WholeSeconds(job.Duration)) * time.Second
}
