// Package network says what connects containers: a driver builds one kind of network, on a
// platform. Kinds that need nothing but the kernel are in network/kernel, each other one in a
// package of its own; docs/adding-a-network.md shows how to add another.
package network

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"nettoll/platform"
)

// Info is what a kind of network is.
type Info struct {
	Name  string
	About string // one sentence on what the packets cross
	// Hosts are the numbers of hosts that it makes sense on. 2 stands for any number above 1.
	Hosts    []int
	Families []int // IP versions, 4 and 6; none is both
	// Endpoints is how many containers one host can hold; 0 is what addresses there are.
	// Overflow says that there is room for more neighbours, on bridges of their own.
	Endpoints int
	Overflow  bool
	MTU       int           // the largest of an underlay, in bytes; 0 is any
	Startup   time.Duration // that its daemons take to start and to end
	Like      string        // the network of the lab that this one of another platform is the real form of, where the names differ
	Around    platform.Surroundings
}

// Driver builds one kind of network.
type Driver struct {
	Info
	// Probe says whether a platform can have it. The error wraps platform.ErrUnsupported when
	// something is missing; any other error is a fault.
	Probe func(context.Context, platform.Platform) error
	// Connect builds a network. What it made is gone when it fails.
	Connect func(context.Context, Topology, platform.Platform) (*Network, error)
	// HostsOn gives the very hosts that Connect builds on as long as they are kept; nil: those
	// of the platform.
	HostsOn func(context.Context, platform.Platform, platform.HostRequest) (platform.Hosts, error)
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

// Then is the driver whose networks are looked at, or changed, once they stand.
func (d Driver) Then(look func(context.Context, Topology, *Network) error) Driver {
	connect := d.Connect
	d.Connect = func(ctx context.Context, topo Topology, p platform.Platform) (*Network, error) {
		n, err := connect(ctx, topo, p)
		if err != nil {
			return nil, err
		}
		if err := look(ctx, topo, n); err != nil {
			return nil, errors.Join(err, n.Close(ctx))
		}
		return n, nil
	}
	return d
}

// Network is one that stands. Functions that are nil have nothing to tell.
type Network struct {
	Servers, Clients []platform.Endpoint
	Hosts            []platform.Host // in order

	// Addr is where from reaches to.
	Addr func(from, to platform.Endpoint, f Family) (netip.Addr, error)
	// Own is the address of to at which what from sends there arrives: another one where
	// the network translates addresses. A server listens on it, and on no other.
	Own func(from, to platform.Endpoint, f Family) (netip.Addr, error)
	// Path lists what the payload between from and to must cross, and what it must not.
	Path func(from, to platform.Endpoint, f Family) []Hop
	// Close takes down all that Connect made. It may be called again.
	Close func(context.Context) error

	// Daemons carry the payload in user space. Their CPU time is a cost of the network.
	Daemons []Daemon
	// Fault says when something that the network needs has broken: a daemon that has ended, a
	// container that was killed. It is asked after every trial. A *WrongPath says that the
	// network is up and carries the payload in another way than it claims.
	Fault func(context.Context) error
	// Wire is what payload between hosts looks like on the underlay: a filter, as
	// pcap-filter(7) has it, that every packet matches; empty claims nothing.
	Wire func(Family) string
	// Fragments is how many fragments that are none of the payload's daemons of one host may
	// send during a trial.
	Fragments uint64
	// Remarks are worth knowing about how it was built, and went.
	Remarks func() []string
	// Distant says that endpoints may be on other machines than this one. What is read of a
	// machine is then read by the agents that are on it.
	Distant bool

	Page Page
}

// Page is what only the page of a kind of network in docs/networks tells.
type Page struct {
	Firewall  []string          // the rules that were made, as nft(8) prints them
	Concealed map[string]string // network namespaces that engines hide, by what is in them
	MadeUp    func() []string   // names that plugins made up, each followed by what it belongs to
}

// Broken asks for a fault.
func (n *Network) Broken(ctx context.Context) error {
	if n.Fault == nil {
		return nil
	}
	return n.Fault(ctx)
}

// Daemon is a process that carries payload.
type Daemon struct {
	Name string // in records
	Host string // that it runs on
	PID  int
}

// WrongPath is the error of a network that was built and leads elsewhere than it
// claims: its trials are invalid, and not failures of the machine.
type WrongPath struct {
	Finding string // what is wrong, in words
}

func (w *WrongPath) Error() string { return "wrong path: " + w.Finding }

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
