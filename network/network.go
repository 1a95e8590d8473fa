// Package network defines what connects containers: a driver builds one kind of network, on a
// platform. Kinds that need nothing but the kernel are in network/kernel, each other one in a
// package of its own; docs/adding-a-network.md shows how to add another.
package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nettoll/platform"
	"nettoll/record"
)

// Info describes a kind of network.
type Info struct {
	Name  string
	About string // one sentence on what the packets cross
	// Hosts lists the numbers of hosts for which it makes sense. 2 stands for any number above 1.
	Hosts    []int
	Families []int // IP versions, 4 and 6; none means both
	// Endpoints is how many containers one host can hold; 0 means that only addresses limit it.
	// Overflow reports whether there is room for more neighbours, on bridges of their own.
	Endpoints int
	Overflow  bool
	Single    bool // two of its kind cannot stand at once on hosts that they share
	// Apart says that its daemons keep CPUs busy, or wake them hundreds of times a second, even if nothing is sent. All
	// that stood at the same time would have other figures, also the baseline, so it stands alone.
	Apart bool
	// Relays says that a process on the path, such as a proxy, accepts the clients' TCP connections and makes others, whose
	// congestion control is always the machine's default.
	Relays bool
	// Carried says that daemons carry its payload, for which turns are longer: see plan.TurnOf.
	Carried bool
	// Between says that it can connect machines of the user's, over the network that is between them.
	Between bool
	Has     []string      // what conditions need that not all networks take, such as record.Services
	MTU     int           // the largest MTU of an underlay that it can use, in bytes; 0 means any
	Startup time.Duration // how long its daemons take to start and to stop
	Like    string        // the lab's network that models this network of another platform, where the names differ
	Around  platform.Surroundings
}

// Driver builds one kind of network.
type Driver struct {
	Info
	// Probe checks whether a platform can run it. The error wraps platform.ErrUnsupported when
	// something is missing; any other error is a fault.
	Probe func(context.Context, platform.Platform) error
	// Connect builds a network. When it fails, it leaves nothing behind.
	Connect func(context.Context, Topology, platform.Platform) (*Network, error)
	// HostsOn returns hosts. As long as these are kept, Connect builds on them. Nil means the
	// platform's hosts.
	HostsOn func(context.Context, platform.Platform, platform.HostRequest) (platform.Hosts, error)
}

// Topology describes the endpoints to connect. Servers are on the first host, clients on the others
// in turn, so that with several hosts all traffic crosses the underlay.
type Topology struct {
	Hosts     int
	Servers   int
	Clients   int
	Processes int // clients in each client container, all of which send traffic; 0 means 1
	record.Setup
	Underlay  platform.Underlay
	FirstPort int // of the first server; 0 means 20001
}

// HostRequest describes the hosts that it needs.
func (t Topology) HostRequest() platform.HostRequest {
	return platform.HostRequest{Count: t.Hosts, Underlay: t.Underlay, Rules: t.Rules}
}

// Pair returns the server of a client: client i talks to server i mod n.
func (t Topology) Pair(client int) (server int) { return client % t.Servers }

// Family is an IP version.
type Family int

const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// Then returns a driver that calls look on every network it has built, to check or change it. When
// look fails, the network is closed.
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

// Network is a network that has been built. Functions may be nil.
type Network struct {
	Servers, Clients []platform.Endpoint
	Hosts            []platform.Host // in order

	// Addr returns the address at which from reaches to.
	Addr func(from, to platform.Endpoint, f Family) (netip.Addr, error)
	// Own returns the address of to at which packets that from sends to Addr arrive. It differs
	// from Addr where the network translates addresses. A server listens on this address only.
	Own func(from, to platform.Endpoint, f Family) (netip.Addr, error)
	// Path lists the hops that the payload between from and to must cross, and those that it must
	// not.
	Path func(from, to platform.Endpoint, f Family) []Hop
	// Close takes down everything that Connect made. It may be called again.
	Close func(context.Context) error

	// Daemons carry the payload in user space. Their CPU time is a cost of the network.
	Daemons []Daemon
	// NodeDaemons are daemons of the machines that the endpoints are on, whose CPU time is recorded. They serve other networks,
	// too, and need not carry payload.
	NodeDaemons []NodeDaemons
	// Fault returns an error when something that the network needs has broken: a daemon that has
	// exited, a container that was killed. It is called after every trial. A *WrongPath means that
	// the network is up and carries the payload in another way than it claims.
	Fault func(context.Context) error
	// Wire returns a filter in the syntax of pcap-filter(7) that every packet of the payload
	// matches on the underlay between hosts. An empty one claims nothing.
	Wire func(Family) string
	// Relay sets the TCP congestion control of the connections that a process on the path makes from then on, as proxies do
	// for each that they accept. "" means the machine's default. Nil means that there is no such process, or one that cannot
	// be told: see Info.Relays.
	Relay func(ctx context.Context, congestion string) error
	// Relays is Info.Relays of a network that has such a process only on some hosts.
	Relays bool
	// FirstPort is the value for Topology.FirstPort if the network had to choose another one.
	FirstPort int
	// Fragments is how many IP fragments that do not belong to the payload the daemons of one host
	// may send during a trial.
	Fragments uint64
	// InForce says how long it took, when the network was built, until what was made last had an effect.
	InForce record.InForce
	// Remarks returns notes on how the network was built, and on how it went, that matter for an IP version.
	Remarks func(Family) []string
	// Unproved says what of the path is not proved, and why; each becomes a warning of every trial.
	Unproved []string
	// Found describes the hops with May that the payload of a trial crossed, and those of which that is not known.
	Found func(crossed, unsure []Hop, f Family) Finding
	// Translator says what has translated the addresses that the clients of a trial dialled, which has just ended, or why that is
	// not proved. It may take some milliseconds, and cause traffic.
	Translator func(ctx context.Context, f Family) (remark, unproved string)
	// Distant reports whether endpoints may be on other machines than this one. Readings of a
	// machine are then taken by the agents that run on it.
	Distant bool

	Page Page
}

// Page is what only the pages in docs/networks need to know of a network.
type Page struct {
	Concealed map[string]string // network namespaces that engines hide, by their contents
	MadeUp    func() []string   // names and addresses that plugins made up, each followed by what stands for it
}

// Broken calls Fault, if there is one.
func (n *Network) Broken(ctx context.Context) error {
	if n.Fault == nil {
		return nil
	}
	return n.Fault(ctx)
}

// Daemon is a process that carries payload.
type Daemon struct {
	Name string // in records
	Host string // on which it runs
	PID  int
}

// NodeDaemons are daemons of one machine.
type NodeDaemons struct {
	Host  string // a host of the network that is on the machine
	Agent Agent  // on the machine; it sees their processes
	Names []string
	PIDs  []int // as the agent numbers them
}

// WrongPath is the error of a network that was built but does not lead where it claims to: its
// trials are invalid, which is not a failure of the machine.
type WrongPath struct {
	Finding string // what is wrong, in words
}

func (w *WrongPath) Error() string { return "wrong path: " + w.Finding }

// Ports returns the first and the last TCP and UDP port that a network must let through to a
// server. A network that publishes ports publishes these. The first is shared by all clients of the
// server, and each client process has two of its own.
func (t Topology) Ports(server int) (first, last int) {
	size := record.ServerPorts(t.Servers, t.Clients, t.Processes)
	first = cmp.Or(t.FirstPort, record.FirstPort) + size*server
	return first, first + size - 1
}

// AllPorts returns the first of the ports of all servers, and how many there are.
func (t Topology) AllPorts() (first, size int) {
	first, _ = t.Ports(0)
	_, last := t.Ports(t.Servers - 1)
	return first, last - first + 1
}

// Beside returns the topology with ports that no other network has that stands on the same machines at once, and has as many servers.
// place is the network's among them, from 0, and last the last port that servers may have there.
func (t Topology) Beside(place, last int) (Topology, error) {
	if place == 0 {
		return t, nil
	}
	first, size := t.AllPorts()
	t.FirstPort = first + place*size
	if end := t.FirstPort + size - 1; end > last {
		return t, &platform.Unsupported{
			Feature: fmt.Sprintf("ports of servers up to %d", end), Option: fmt.Sprintf("ports up to %d", last), Remedy: "use fewer clients, or compare fewer networks at once (--together)",
		}
	}
	return t, nil
}

// Finding is what hops with May say of a path. Each part is "" if there is nothing to say.
type Finding struct {
	Remark   string // what the payload crossed
	Unproved string // what that does not prove
	Doubt    string // how it differs from what those who have built the network say of it
	Wrong    string // how it contradicts what the user expects; then the trial is invalid
}

// Hop is a counter on a path, such as a device or a rule.
type Hop struct {
	Name string // "<where>/<what>"
	Kind HopKind
	// Absent means that the payload must not cross it. A bridge without netfilter has such a hop:
	// the rule that would count the payload.
	Absent bool
	// Device is equal for hops that count the same device, which several networks of one machine can cross; "" for
	// other hops, and where the device is only this network's.
	Device string
	// Link is the kind of device that it must be, as the kernel names it, such as "vxlan"; "" is any. A name alone proves nothing.
	Link string
	// Meets names the hop, if it is on the path, whose device is the other end of this one, or the one below it.
	Meets string
	// Master is the index of the bridge that the device must be a port of; 0 is any, or none.
	Master int
	// MTU is the device's, in bytes; 0 is any.
	MTU int
	// Adds is how many bytes each packet of the path has there that it has not at its ends: the headers of a tunnel.
	Adds int
	// Common means that others use it, too, and that other networks' payload can cross it although their paths do not name
	// it, as with the network card of a machine.
	Common bool
	// Packs means that what crosses may be several packets of containers in one, so that their number proves nothing.
	Packs bool
	// May means that it is not known beforehand whether the payload crosses the device. It belongs to the path if it counts
	// at least two fifths of the bytes that the first devices on the paths of its pairs count in the turns of its network, without
	// what others send over it at the rate at which it counts when no network has a turn. Otherwise it is left out, also if it cannot be
	// read; if only what others send makes it as much, it is not known whether the payload crosses it.
	May bool
	// About is what the device is, of one that May be crossed.
	About string
	// Slow means that Read runs a program, which takes longer than the pause between two turns and would disturb the next one. So
	// it is read before the first turn and after the last only.
	Slow bool
	// Read returns the counters since the hop was made. Hops of different networks are read
	// concurrently.
	Read func(context.Context) (Count, error)
	// Keep returns a Read that keeps open what it needs, such as a socket in a namespace, until it is closed: between two turns,
	// the hops of all networks are read, and they would otherwise still be read when the next slice has begun. Nil means that
	// there is nothing to keep open.
	Keep func() (read func(context.Context) (Count, error), closes func(), err error)
	// Asked is how an agent on another machine reads the counters, so that it can do so by itself at a given time; nil
	// means that only Read can read them.
	Asked *Asked
}

// Asked is a call of an agent's method, and how to read the answer.
type Asked struct {
	Agent  Agent
	Method string
	Params any
	Count  func(answer func(into any) error) (Count, error)
}

// Agent is an agent whose methods can be called.
type Agent interface {
	Call(ctx context.Context, method string, in, out any) error
}

// HopKind is the kind of a counter, which decides what the payload must have added to it.
type HopKind string

const (
	Device     HopKind = "device"     // counts packets and bytes of all payload, both ways together
	Rule       HopKind = "rule"       // counts packets and bytes of all payload that matches
	Connection HopKind = "connection" // counts one packet for each new connection, as NAT rules do
	Proxy      HopKind = "process"    // counts bytes that a user-space process carried
)

// Tunnels reports whether devices of a kind encapsulate packets.
func Tunnels(kind string) bool {
	_, ok := Overheads[kind]
	return ok
}

// Overheads are the bytes that each kind of tunnel adds to a packet, over IPv4 unless it needs IPv6, by the names of the kinds that the
// kernel and the netlink library have. 0 is not known: it depends on the program behind the device.
var Overheads = map[string]int{
	"vxlan": 50, "geneve": 50, "bareudp": 28, "gretap": 38, "gre": 24, "ipip": 20, "sit": 20, "ip6tnl": 40, "ip6gre": 44, "ip6gretap": 58,
	"wireguard": 60, "vti": 0, "vti6": 0, "xfrm": 0, "tun": 0, "tuntap": 0,
}

// Count is what has crossed a hop, and how the device was attached when it was read.
type Count struct {
	Packets uint64
	Bytes   uint64
	// InPackets and InBytes are those of them that a device received; 0 for hops that are no devices.
	InPackets, InBytes uint64
	// IP is Bytes, but with what IP has received by the device in place of what the device has counted as received; 0 is not
	// known. It is never more than Bytes where the device counts all that it receives.
	IP uint64
	// MTU of the device, in bytes; 0 if it was not read.
	MTU int
	At  Joint
}

// Joint describes how a device is attached to others. As long as it stays the same, so does the
// path. It is zero for hops that are not devices.
type Joint struct {
	Kind   string // as the kernel names it
	Index  int    // of the device itself: a device made anew has another one, even under the same name
	Peer   int    // index of the other end of a pair, or of the device below
	Home   int    // the ID that this namespace has for the peer's namespace, or -1
	Master int    // index of its bridge; 0 if it is not a port of one
}
