// Package platform says what a place where networks are built must offer:
// hosts, containers on them, and processes in either. The lab (private
// namespaces of this machine) is the default platform.
package platform

import (
	"context"
	"io"
	"net/netip"
	"time"
)

// Platform provides hosts.
type Platform interface {
	Name() string
	// Probe says whether the platform can be used here; the error says why not
	// and what would fix it.
	Probe(ctx context.Context) error
	// Hosts gives hosts that reach each other over an underlay. In the lab they
	// are made for the caller, who closes them.
	Hosts(ctx context.Context, req HostRequest) (Hosts, error)
}

// HostRequest says what hosts are wanted.
type HostRequest struct {
	Count    int
	Underlay Underlay
	// Rules is how many further firewall rules each host has in front of what it
	// receives and what it forwards. None of them matches.
	Rules int
}

// Underlay is the shape of each host's link to the others. Zero is unshaped.
type Underlay struct {
	Rate  uint64        // bit/s that a host can send
	Delay time.Duration // that a packet from a host takes longer
	MTU   int           // bytes; 0 is 1500
}

// Hosts are joined by one underlay.
type Hosts interface {
	All() []Host
	// Transient says that they were made for the caller: whatever is made on them is gone
	// when they are closed.
	Transient() bool
	Close(ctx context.Context) error
}

// Endpoint is where processes run: a container, or a host itself.
type Endpoint interface {
	Name() string
	// OnHost is the name of the host that it is on: a host's own, and of a container that
	// is nobody's yet none.
	OnHost() string
	Facts() Facts
	Start(ctx context.Context, cmd Command) (Process, error)
}

// Host is a machine on the underlay, real or made.
type Host interface {
	Endpoint
	// Containers makes n containers that have nothing but a loopback device.
	// They go when the hosts are closed.
	Containers(ctx context.Context, n int) ([]Endpoint, error)
	// Uplink is the host's device on the underlay and its addresses there.
	Uplink() Uplink
}

// Uplink is a host's connection to the underlay.
type Uplink struct {
	Device string
	MTU    int
	Addr4  netip.Prefix
	Addr6  netip.Prefix
}

// Facts are what else there is to know of an endpoint.
type Facts struct {
	// NetNS is a path to its network namespace, where that can be reached from here, so that
	// networks which only plumb namespaces work on it.
	NetNS string
	// About is what of its platform is worth a word: which engine, and how it is set up.
	About string
	// Borrowed: it is a host that is the user's own machine. Nothing of it is changed but by
	// what the platform itself makes on it: no device, address, route, rule or kernel parameter.
	Borrowed bool
	Around   Surroundings
	// CPUTime is what all processes of a container have used since it began, by its control
	// group; nil where it is not counted as a whole. The error names the container, and wraps
	// ErrUnsupported where nobody counts.
	CPUTime func(context.Context) (time.Duration, error)
}

// Surroundings is what the processes of an endpoint share with others than those of the
// run. Of a container, and of all in a lab, that is nothing: the zero value.
type Surroundings struct {
	// Outlive: a process there goes on when nettoll is killed, unless something of its own
	// ends it.
	Outlive bool
	// Open: its network is that of a machine of the user's. Whoever reaches the machine
	// reaches what listens there on all addresses.
	Open bool
}

// Self as the Path of a Command is nettoll's own program, wherever the platform
// has put it.
const Self = "nettoll:self"

// Sharer is a host that can make a container in the network namespace of
// another, as docker run --network container:NAME does.
type Sharer interface {
	Share(ctx context.Context, with Endpoint) (Endpoint, error)
}

// Undertaker is a host in a lab.
type Undertaker interface {
	// Leaves has a control group removed when the lab has ended, in whatever way: the kernel
	// does not do that.
	Leaves(cgroup string) error
}

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
	PID() int              // as this machine numbers it; 0 where it has no meaning here
	Stdin() io.WriteCloser // nil when the command brought its own
	Stdout() io.Reader     // nil when the command brought its own
	Stderr() string        // the last lines
	Wait() error           // may be called often; the error includes the last lines of stderr
	Kill() error           // at once, and waits; nil when it has ended already
}
