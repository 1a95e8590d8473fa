// Package platform defines what a place where networks are built must offer: hosts, containers on them, and
// processes in either. The lab (private namespaces of this machine) is the default platform.
package platform

import (
	"context"
	"io"
	"net/netip"
	"time"

	"nettoll/record"
)

// Platform provides hosts.
type Platform interface {
	Info() Info
	// Probe checks whether the platform can be used here; the error says why not and what would fix it.
	Probe(ctx context.Context) error
	// Hosts returns hosts that reach each other over an underlay. In the lab they are made for the caller, who
	// closes them.
	Hosts(ctx context.Context, req HostRequest) (Hosts, error)
}

// As returns a platform as one that offers more, on which alone a network can be built. The error names that one.
func As[P Platform](p Platform, feature, venue, network string) (P, error) {
	as, ok := p.(P)
	if !ok {
		return as, &Unsupported{Feature: feature, Option: "the platform " + venue, Remedy: "write " + venue + ":" + network}
	}
	return as, nil
}

// Info is what a platform says of itself. Functions may be nil.
type Info struct {
	Name string
	// AtOnce is how many of its networks can stand at once: those on the same hosts must not use the same names, ports and
	// addresses. Crowd is how many containers they can have together, unless one alone has more. 0 is any number.
	AtOnce, Crowd int
	// Stood describes the engines, clusters or machines that were used so far, one text for each time that some were
	// started. It is nil where hosts are made anew for each network. Others are kept from one network to the next, since
	// they are expensive to start or are the user's; only devices that carry payload are made anew.
	Stood func() []string
	// Starts is how long those that are kept may take to start: the network that is the first to need them waits for them.
	Starts time.Duration
	// Gone waits, for a bounded time, until nothing is left of the hosts that were closed. It is nil unless that takes time:
	// the kernel removes the namespaces of a lab in the background.
	Gone func(ctx context.Context) error
	// Quiet has the platform send no packets of its own, such as heartbeats, over the network that is measured, as far as it
	// can, until end is called. It is nil where it never sends any.
	Quiet func() (end func())
}

// HostRequest describes the hosts that are wanted.
type HostRequest struct {
	Count    int
	Underlay Underlay
	// Rules is how many extra firewall rules each host applies to packets that it receives and that it forwards.
	// None of them matches.
	Rules int
	// CNI is what connects the pods of a cluster that is started on the hosts, as record has its name; "" is the usual one.
	CNI string
}

// Changed reports whether the hosts are to be other than they are by themselves.
func (r HostRequest) Changed() bool { return r != HostRequest{Count: r.Count} }

// Underlay is the shape of each host's link to the others. Zero is unshaped.
type Underlay struct {
	Rate  uint64        // bit/s that a host can send, and receive
	Delay time.Duration // added to each packet that a host sends
	MTU   int           // bytes; 0 is 1500
}

// Burst is how many bytes a link that has a rate lets through at once after a pause.
func (u Underlay) Burst() uint64 { return max(u.Rate/8/100, 64<<10) }

// Hosts are joined by one underlay.
type Hosts interface {
	All() []Host
	// Transient reports whether the hosts were made for the caller: everything made on them is gone when they are
	// closed.
	Transient() bool
	Close(ctx context.Context) error
}

// Endpoint is where processes run: a container, or a host itself.
type Endpoint interface {
	Name() string
	// OnHost returns the name of the host that the endpoint is on: its own name for a host, and "" for a container
	// that belongs to no host yet.
	OnHost() string
	Facts() Facts
	Start(ctx context.Context, cmd Command) (Process, error)
}

// Host is where containers run: a namespace of the lab, or a machine.
type Host interface {
	Endpoint
	// Containers makes n containers that have only a loopback device. They are removed when the hosts are closed.
	Containers(ctx context.Context, n int) ([]Endpoint, error)
	// Uplink returns the host's device on the underlay and its addresses there.
	Uplink() Uplink
}

// Uplink is a host's connection to the underlay.
type Uplink struct {
	Device string
	MTU    int
	Addr4  netip.Prefix
	Addr6  netip.Prefix
}

// Addr returns the address of one version of IP; the zero value if the host has none.
func (u Uplink) Addr(six bool) netip.Prefix {
	if six {
		return u.Addr6
	}
	return u.Addr4
}

// Facts are further properties of an endpoint.
type Facts struct {
	// NetNS is a path to its network namespace, if that can be reached from here, so that networks which only
	// configure namespaces work on it.
	NetNS string
	// About describes its platform for users: which engine, and how it is set up.
	About string
	// Borrowed says that the host is the user's own machine. Nothing on it may be changed (no device, address,
	// route, rule or kernel parameter), except through the platform itself.
	Borrowed bool
	Around   Surroundings
	// CPUTime returns the CPU time that all processes of a container have used since it began, by its control
	// group; it is nil where that is not counted as a whole. The error names the container, and wraps
	// ErrUnsupported where nothing counts CPU time.
	CPUTime func(context.Context) (time.Duration, error)
	// NIC describes the network card of the endpoint's machine towards the other machines; it is nil where hosts
	// are parts of one machine.
	NIC func(context.Context) (record.NIC, error)
	// Resources are those of its container in a user's cluster, as in record.Endpoint.
	Resources *record.Resources
	// Send makes a program of this machine available on the endpoint's, for as long as nettoll is connected to that. It
	// returns the files there that the program is loaded from, as internal/keeper takes them; none if it is there under
	// the same path. Alone says that it needs no other files than its libraries. The error wraps ErrUnsupported where the
	// program is missing and cannot be sent. Send is nil where programs are those of this machine anyway.
	Send func(ctx context.Context, path string, alone bool) (files []string, err error)
	// Share makes a container in the network namespace of another container of the same host, as docker run --network
	// container:NAME does. Hosts of the lab, and those that run Docker engines, can; it is nil for all other endpoints.
	Share func(ctx context.Context, with Endpoint) (Endpoint, error)
	// Leaves registers a control group to be removed when the lab has ended, in whatever way: the kernel does not remove
	// it with the lab's namespaces. It is nil for all endpoints but hosts of the lab.
	Leaves func(cgroup string) error
}

// Surroundings describes what the processes of an endpoint share with processes outside the run. In a container,
// and anywhere in a lab, that is nothing: the zero value.
type Surroundings struct {
	// Outlive says that a process there survives when nettoll is killed, unless it ends by its own means.
	Outlive bool
	// Open says that its network is that of a machine of the user's. Whoever can reach the machine can reach a
	// server that listens there on all addresses.
	Open bool
}

// Self as the Path of a Command is nettoll's own program, wherever the platform has put it.
const Self = "nettoll:self"

// Command is a process to be started.
type Command struct {
	Path   string // a program, looked up in PATH, or Self
	Args   []string
	Env    []string  // added to the platform's environment
	Dir    string    // working directory there; empty is the platform's
	Stdin  io.Reader // nil: a pipe, see Process
	Stdout io.Writer // nil: a pipe, see Process
	Stderr io.Writer // nil: kept, see Process
	// Foreground gives the process the terminal, when Stdin is one.
	Foreground bool
}

// Process is a started command.
type Process interface {
	PID() int              // in this machine's numbering; 0 where it has no meaning here
	Stdin() io.WriteCloser // nil if the command brought its own
	Stdout() io.Reader     // nil if the command brought its own
	Stderr() string        // the last lines
	Wait() error           // may be called repeatedly; the error includes the last lines of stderr
	Kill() error           // kills at once, and waits; nil if the process has already ended
}
