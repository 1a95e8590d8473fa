// Package technique says what a way of connecting containers must offer. Each
// technique is a package below this one; docs/adding-a-network.md shows how to
// add another.
package network

import (
	"context"
	"net/netip"

	"nettoll/platform"
)

// Technique connects endpoints.
type Technique interface {
	Name() string
	// About is one sentence on what the packets cross.
	About() string
	// Hosts lists the numbers of hosts that it makes sense on. 2 stands for any number
	// above 1.
	Hosts() []int
	// Probe says whether the technique can be built on the platform. The error
	// wraps platform.ErrUnsupported when something is missing; any other error is a fault.
	Probe(ctx context.Context, p platform.Platform) error
	// Connect builds the network. What it made is gone when it fails.
	Connect(ctx context.Context, topo Topology, p platform.Platform) (Network, error)
}

// Topology is what is to be connected. Servers live on the first host, clients on
// the others in turn, so that with several hosts all traffic crosses the underlay.
type Topology struct {
	Hosts      int
	Servers    int
	Clients    int
	Processes  int // clients in each client container, all of which talk; 0 is 1
	Neighbours int // containers on the clients' host that do not talk
	Rules      int // platform.HostRequest.Rules
	Underlay   platform.Underlay
}

// Pair is the server that a client talks to: client i talks to server i mod n.
func (t Topology) Pair(client int) (server int) { return client % t.Servers }

// Family is an IP version.
type Family int

const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// Network is a technique at work.
type Network interface {
	Servers() []platform.Endpoint
	Clients() []platform.Endpoint
	// Addr is where from reaches to.
	Addr(from, to platform.Endpoint, f Family) (netip.Addr, error)
	// Own is the address of to at which what from sends there arrives: another one where
	// the network translates addresses. A server listens on it, and on no other.
	Own(from, to platform.Endpoint, f Family) (netip.Addr, error)
	// Path lists what the payload between from and to must cross, and what it must not.
	Path(from, to platform.Endpoint, f Family) []Hop
	// Close takes down all that Connect made. It may be called again.
	Close(ctx context.Context) error
}

// Daemoner is a network with processes that carry the payload in user space.
// Their CPU time is a cost of the network.
type Daemoner interface {
	Daemons() []Daemon
}

// Daemon is one of them. One that is a fmt.Stringer is called so in records.
type Daemon interface {
	platform.Process
	OnHost() string // name of the host that it runs on
}

// Faulter is a network that knows when something that it needs has broken: a daemon that
// has ended, a container that was killed. It is asked after every trial. A *WrongPath says
// that the network is up and carries the payload in another way than it claims.
type Faulter interface {
	Fault(ctx context.Context) error
}

// Wired is a network that claims what its payload looks like on the underlay.
type Wired interface {
	// Wire is a filter, as pcap-filter(7) has it, that every packet of payload between
	// hosts matches; empty claims nothing.
	Wire(f Family) string
}

// Fragmenting is a network whose daemons send fragments that are none of the payload's.
type Fragmenting interface {
	// Fragments is how many of them one host may send during a trial.
	Fragments() uint64
}

// Remarker is a network with something worth knowing about how it was built.
type Remarker interface {
	Remarks() []string
}

// Distant is a network of which endpoints may be on other machines than this one. What is
// read of a machine is then read by the agents that are on it.
type Distant interface {
	Distant() bool
}

// Ports of servers begin here, below the ephemeral ones.
const (
	firstPort = 20001
	blockSize = 8 // and its multiples
)

// Ports is the first and the last TCP and UDP port that a network must let
// through to a server. A network that publishes ports publishes these. The first is
// shared by all clients of the server, and each client process has two of its own.
func (t Topology) Ports(server int) (first, last int) {
	clients := (t.Clients + t.Servers - 1) / t.Servers * max(t.Processes, 1)
	size := (1 + 2*clients + blockSize - 1) / blockSize * blockSize
	first = firstPort + size*server
	return first, first + size - 1
}

// Hop is something that counts what crosses it.
type Hop struct {
	Name string // "<where>/<what>"
	Kind HopKind
	// Absent: the payload must not cross it. A bridge without netfilter has such a
	// hop: the rule that would count.
	Absent bool
	// Read gives the counters since the hop was made. Hops of different networks are read at the same time.
	Read func(context.Context) (Count, error)
}

// HopKind says what counts, and so what payload must have left on the counter.
type HopKind string

const (
	Device     HopKind = "device"     // counts packets and bytes of all payload, both ways together
	Rule       HopKind = "rule"       // counts packets and bytes of all payload that matches
	Connection HopKind = "connection" // counts one packet for each new connection, as NAT rules do
	Proxy      HopKind = "process"    // counts bytes that a user-space process carried
)

// Count is what crossed a hop, and where it was read.
type Count struct {
	Packets uint64
	Bytes   uint64
	At      Joint
}

// Joint is how a device is joined to others. As long as it stays the same, the path does.
// It is zero for hops that are no devices.
type Joint struct {
	Kind   string // as the kernel names it
	Index  int    // of the device itself: one that was made anew has another, whatever its name
	Peer   int    // index of the other end of a pair, or of the device below
	Home   int    // where the peer is: the number that this namespace has for that one, or -1
	Master int    // index of the bridge that it is a port of; 0 is none
}
