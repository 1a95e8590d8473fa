package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"

	"nettoll/internal/atonce"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/platform"
	"nettoll/record"
)

// Host is the machine that an engine runs on.
type Host struct {
	Engine *Engine
	// Index is its index among the hosts of a network, from 0.
	Index int

	name     string
	place    int             // among the networks that stand on a borrowed engine at once, from 0
	under    platform.Host   // the host that a private engine runs on; nil for an engine of the user
	settings Settings        // of a private engine
	here     bool            // the engine runs on this machine
	link     platform.Uplink // of an engine of the user, towards the others of its network

	sandboxes string // directory in which the engine names the namespaces of its containers and networks

	starting sync.Mutex
	outside  *Container // for processes on a host that is another machine

	mu   sync.Mutex
	next int // number of the last container
	holdings
}

// holdings are the objects that were made on an engine.
type holdings struct {
	made     []*Container
	removals [stages][]removal
}

// removal removes something.
type removal = func(context.Context) error

// The order in which objects can be removed.
const (
	servicesFirst = iota // services of the swarm that the engine manages
	theirTasks           // containers of services on this host
	containersThen
	networksLast
	stages
)

// holds records how to remove an object.
func (h *Host) holds(stage int, remove removal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.removals[stage] = append(h.removals[stage], remove)
}

// took records a container. If its private engine does not remove it, it is killed without the engine.
func (h *Host) took(c *Container) {
	h.holds(containersThen, func(ctx context.Context) error {
		err := c.remove(ctx)
		if err != nil && h.under != nil {
			c.end()
		}
		return err
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made = append(h.made, c)
}

// Provider is a platform whose hosts run Docker engines.
type Provider interface {
	platform.Platform
	// Engines returns hosts with engines that have the settings. The error wraps
	// platform.ErrUnsupported if there are none.
	Engines(ctx context.Context, req platform.HostRequest, s Settings) (*Hosts, error)
	// Private reports whether engines are started for the measurement, on this machine.
	Private() bool
}

// Borrow returns an engine of the user as a host. Only the engine changes anything on that machine.
// here means that it is this machine.
func Borrow(e *Engine, index int, here bool) *Host {
	return &Host{Engine: e, Index: index, name: fmt.Sprintf("h%d", index+1), here: here, sandboxes: "/var/run/docker/netns"}
}

// Beside returns the same machine for another network that stands there at the same time, with names of its own for
// containers and networks. Places count from 0, which is that of h.
func (h *Host) Beside(place int) *Host {
	return &Host{Engine: h.Engine, Index: h.Index, name: h.name, place: place, here: h.here, sandboxes: h.sandboxes}
}

// Place returns the network's place among those that stand on the engine at once.
func (h *Host) Place() int { return h.place }

// fullName returns the engine's name of an object.
func (h *Host) fullName(what string) string {
	if h.place > 0 {
		what = fmt.Sprintf("beside%d-%s", h.place, what)
	}
	return h.Engine.name(what)
}

// Name implements platform.Endpoint.
func (h *Host) Name() string { return h.name }

// OnHost implements platform.Endpoint.
func (h *Host) OnHost() string { return h.name }

// Here reports whether the host is this machine, or made on it.
func (h *Host) Here() bool { return h.here }

// Borrowed reports whether it is the user's own machine.
func (h *Host) Borrowed() bool { return h.under == nil }

// Facts implements platform.Endpoint.
func (h *Host) Facts() platform.Facts {
	if h.under != nil {
		return platform.Facts{NetNS: h.NetNS(), Around: h.under.Facts().Around, Share: h.Share}
	}
	around := platform.Surroundings{Outlive: h.here, Open: true} // on another machine it is a container
	return platform.Facts{NetNS: h.NetNS(), Borrowed: true, Around: around, Share: h.Share, NIC: h.nic()}
}

// NetNS returns the path of its network namespace, or "" for another machine.
func (h *Host) NetNS() string {
	switch {
	case h.under != nil:
		return h.under.Facts().NetNS
	case h.here:
		return "/proc/self/ns/net"
	}
	return ""
}

// reachable reports whether namespaces of the host can be entered from here.
func (h *Host) reachable() bool { return h.here && os.Geteuid() == 0 }

// Start implements platform.Endpoint. It starts a process outside all containers; on another machine the
// process is in a container with the host's network.
func (h *Host) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	switch {
	case h.under != nil:
		return h.under.Start(ctx, c)
	case h.here:
		return nsexec.Start(ctx, h.name, "", os.Environ(), c)
	}
	out, err := h.out(ctx)
	if err != nil {
		return nil, err
	}
	return out.Start(ctx, c)
}

// out returns the container with the host's network.
func (h *Host) out(ctx context.Context) (*Container, error) {
	h.starting.Lock()
	defer h.starting.Unlock()
	if h.outside == nil {
		c, err := h.Engine.start(ctx, Spec{Name: h.name + "out", Mode: "host", full: h.fullName(h.name + "out")}, false)
		if err != nil {
			return nil, err
		}
		c.host, c.open, c.nic = h.name, true, h.nic()
		h.took(c)
		h.outside = c
	}
	return h.outside, nil
}

// Interfaces lists the host's network devices.
func (h *Host) Interfaces(ctx context.Context) (all []nl.Interface, err error) {
	if h.here && h.under == nil {
		return nl.Ask("", (*nl.NS).Interfaces) // this process's own namespace requires no permission
	}
	if h.here {
		return nl.Ask(h.NetNS(), (*nl.NS).Interfaces)
	}
	out, err := h.out(ctx)
	if err != nil {
		return nil, err
	}
	return out.Interfaces(ctx)
}

// Containers implements platform.Host: containers without a network.
func (h *Host) Containers(ctx context.Context, n int) ([]platform.Endpoint, error) {
	specs := make([]Spec, n)
	for i := range specs {
		specs[i].Mode = "none"
	}
	made, err := h.Run(ctx, specs...)
	if err != nil {
		return nil, err
	}
	return record.Each(made, func(c *Container) platform.Endpoint { return c }), nil
}

// Share makes a container in the network namespace of another: see platform.Facts.
func (h *Host) Share(ctx context.Context, with platform.Endpoint) (platform.Endpoint, error) {
	c, ok := with.(*Container)
	if !ok {
		return nil, fmt.Errorf("docker: %s is not a container of this engine", with.Name())
	}
	made, err := h.Run(ctx, Spec{Mode: "container:" + c.id})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

// atOnce is how many containers are requested from an engine concurrently. Of 1, 2, 4, 8 and 16, four
// were fastest for 20 containers on a bridge (Docker 20.10 on 2 CPUs, the median of seven runs each, in
// turns): 1 took 1.9 times as long, 2 took 1.3, 8 took 1.1 and 16 took 1.3; likewise for their removal.
const atOnce = 4

// Run makes containers, several at a time. Those without a name get one. All are removed with the
// hosts, including those of a failed call.
func (h *Host) Run(ctx context.Context, specs ...Spec) ([]*Container, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	if _, err := h.Engine.Load(ctx); err != nil {
		return nil, err
	}
	specs = slices.Clone(specs)
	for i := range specs {
		if specs[i].Name == "" {
			specs[i].Name = h.Number()
		}
		specs[i].full = h.fullName(specs[i].Name)
	}
	all := make([]*Container, len(specs))
	err := cmp.Or(atonce.Each(atOnce, specs, func(i int, s Spec) error {
		c, err := h.Engine.start(ctx, s, h.reachable())
		if err != nil {
			return err
		}
		c.host, c.open, c.nic = h.name, s.Mode == "host" && h.under == nil, h.nic()
		all[i] = c
		h.took(c)
		return nil
	})...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Number returns the next container's name.
func (h *Host) Number() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	return fmt.Sprintf("%sc%d", h.name, h.next)
}

// Addr returns the host's address on the underlay; the zero value if it has none.
func (h *Host) Addr(six bool) netip.Addr { return h.Uplink().Addr(six).Addr() }

// Empty removes the objects that were made on the engine: services, then containers, then networks.
// Objects that cannot be removed are tried again by the next call. The error is one line.
func (h *Host) Empty(ctx context.Context) error {
	was := h.forget()
	var errs []error
	for stage, all := range was.removals {
		for i, err := range atonce.Each(atOnce, all, func(_ int, remove removal) error { return remove(ctx) }) {
			if err != nil {
				errs = append(errs, err)
				h.holds(stage, all[i])
			}
		}
	}
	if len(errs) > 1 { // if the engine is gone, all errors are the same
		return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
	}
	return errors.Join(errs...)
}

func (h *Host) forget() (was holdings) {
	h.starting.Lock()
	defer h.starting.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	was, h.holdings, h.outside, h.next = h.holdings, holdings{}, nil, 0
	return was
}

// Forget leaves the objects that were made on the host to the end of its engine.
func (h *Host) Forget() { h.forget() }
