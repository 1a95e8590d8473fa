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

	"nettoll/internal/nl"
	"nettoll/internal/process"
	"nettoll/platform"
)

// Host is the machine that an engine runs on.
type Host struct {
	Engine *Engine
	// Index is its place among the hosts of a network, from 0.
	Index int

	name     string
	under    platform.Host // what a private engine runs on; nil for an engine of the user's
	settings Settings      // of a private engine
	here     bool          // the engine runs on this very machine

	sandboxes string // where the engine has names of its containers' and networks' namespaces

	mu      sync.Mutex
	next    int        // number of the last container
	outside *Container // for processes of a host that is elsewhere
	holdings
}

// holdings are what was made on an engine.
type holdings struct {
	made     []*Container
	networks []Object
	services []Object // of the swarm that it manages
	tasks    []Object // services whose tasks run here
}

// Provider is a platform whose hosts run Docker engines.
type Provider interface {
	platform.Platform
	// Engines gives hosts whose engines have the settings. The error wraps
	// platform.ErrUnsupported where there are none.
	Engines(ctx context.Context, req platform.HostRequest, s Settings) (Hosts, error)
}

// Hosts are hosts with engines.
type Hosts interface {
	platform.Hosts
	Docker() []*Host
	// Swarm is the swarm that all engines are nodes of; nil where none was asked for.
	Swarm() *Swarm
}

// Borrow makes a host of an engine of the user's. Nothing of the machine itself is
// changed, but by the engine. here says that it is this machine.
func Borrow(e *Engine, index int, here bool) *Host {
	return &Host{Engine: e, Index: index, name: fmt.Sprintf("h%d", index+1), here: here, sandboxes: "/var/run/docker/netns"}
}

// Name implements platform.Endpoint.
func (h *Host) Name() string { return h.name }

// OnHost implements platform.Endpoint.
func (h *Host) OnHost() string { return h.name }

// Here says that the host is this very machine, or made on it.
func (h *Host) Here() bool { return h.here }

// Borrowed says that it is the user's own machine.
func (h *Host) Borrowed() bool { return h.under == nil }

// Facts implements platform.Endpoint.
func (h *Host) Facts() platform.Facts {
	if h.under != nil {
		return platform.Facts{NetNS: h.NetNS(), Around: h.under.Facts().Around}
	}
	around := platform.Surroundings{Outlive: h.here, Open: true} // elsewhere it is a container
	return platform.Facts{NetNS: h.NetNS(), Borrowed: true, Around: around}
}

// Uplink implements platform.Host. A machine of the user's has none: no traffic goes
// through its own devices.
func (h *Host) Uplink() platform.Uplink {
	if h.under == nil {
		return platform.Uplink{}
	}
	return h.under.Uplink()
}

// NetNS is a path to its network namespace. It is empty for a machine elsewhere.
func (h *Host) NetNS() string {
	switch {
	case h.under != nil:
		return h.under.Facts().NetNS
	case h.here:
		return "/proc/self/ns/net"
	}
	return ""
}

// reachable says that namespaces of the host can be entered from here.
func (h *Host) reachable() bool { return h.here && os.Geteuid() == 0 }

// Start implements platform.Endpoint: a process outside all containers. On a machine
// elsewhere it is a container with the host's network.
func (h *Host) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	switch {
	case h.under != nil:
		return h.under.Start(ctx, c)
	case h.here:
		return process.Start(ctx, h.name, "", os.Environ(), c)
	}
	out, err := h.out(ctx)
	if err != nil {
		return nil, err
	}
	return out.Start(ctx, c)
}

// out is the container with the host's network.
func (h *Host) out(ctx context.Context) (*Container, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.outside == nil {
		c, err := h.Engine.start(ctx, Spec{Name: h.name + "out", Mode: "host"}, false)
		if err != nil {
			return nil, err
		}
		c.host, c.open = h.name, true
		h.outside, h.made = c, append(h.made, c)
	}
	return h.outside, nil
}

// Interfaces lists the host's network devices.
func (h *Host) Interfaces(ctx context.Context) (all []nl.Interface, err error) {
	if h.here && h.under == nil {
		return InterfacesIn("") // its own needs no permission
	}
	if h.here {
		return InterfacesIn(h.NetNS())
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
	all := make([]platform.Endpoint, n)
	for i, c := range made {
		all[i] = c
	}
	return all, nil
}

// Share implements platform.Sharer.
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

// atOnce is how many containers an engine is asked for at the same time. Of 1, 2, 4, 8
// and 16, four were fastest for 20 containers on a bridge (Docker 20.10 on 2 CPUs, the
// median of seven times in turn): 1 took 1.9 times as long, 2 took 1.3, 8 took 1.1 and
// 16 took 1.3; likewise for their removal.
const atOnce = 4

// Run makes containers, several at a time. They get names where they have none. All go
// with the hosts, also those of a call that failed.
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
	}
	all := make([]*Container, len(specs))
	err := cmp.Or(Each(atOnce, specs, func(i int, s Spec) error {
		c, err := h.Engine.start(ctx, s, h.reachable())
		if err != nil {
			return err
		}
		c.host, c.open = h.name, s.Mode == "host" && h.under == nil
		all[i] = c
		h.mu.Lock()
		defer h.mu.Unlock()
		h.made = append(h.made, c)
		return nil
	})...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Number gives the next container's name.
func (h *Host) Number() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	return fmt.Sprintf("%sc%d", h.name, h.next)
}

// Addr is the host's address on the underlay; the zero value where it has none.
func (h *Host) Addr(six bool) netip.Addr {
	if six {
		return h.Uplink().Addr6.Addr()
	}
	return h.Uplink().Addr4.Addr()
}

// Empty removes what was made on the engine: services, then containers, then networks.
// What cannot be removed is tried again the next time. The error is one line.
func (h *Host) Empty(ctx context.Context) error {
	h.mu.Lock()
	was := h.holdings
	h.holdings, h.outside, h.next = holdings{}, nil, 0
	h.mu.Unlock()
	var left holdings
	var errs []error
	each := func(all []Object, remove func(context.Context, Object) error) (failed []Object) {
		for _, o := range all {
			if err := remove(ctx, o); err != nil {
				errs, failed = append(errs, err), append(failed, o)
			}
		}
		return failed
	}
	whole := func(ctx context.Context, o Object) error { return o.remove(ctx, h.Engine.Client) }
	left.services = each(was.services, whole)
	left.tasks = each(was.tasks, h.Engine.removeTasks)
	for i, err := range Each(atOnce, was.made, func(_ int, c *Container) error { return c.remove(ctx) }) {
		if err != nil {
			errs, left.made = append(errs, err), append(left.made, was.made[i])
			if h.under != nil {
				was.made[i].end()
			}
		}
	}
	slices.Reverse(was.networks)
	left.networks = each(was.networks, whole)
	slices.Reverse(left.networks)

	h.mu.Lock()
	defer h.mu.Unlock()
	h.made, h.networks = append(left.made, h.made...), append(left.networks, h.networks...)
	h.services, h.tasks = append(left.services, h.services...), append(left.tasks, h.tasks...)
	if len(errs) > 1 { // of an engine that is gone all say the same
		return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
	}
	return errors.Join(errs...)
}
