package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Provider is a platform whose hosts are machines behind agents.
type Provider interface {
	platform.Platform
	Machines(ctx context.Context, req platform.HostRequest) (*Hosts, error)
}

// Hosts are machines in use by one network.
type Hosts struct {
	Machines []*Host
	// Left is called when the network is gone; nil: nobody needs to know.
	Left func()
}

// All implements platform.Hosts.
func (h *Hosts) All() []platform.Host {
	return record.Each(h.Machines, func(one *Host) platform.Host { return one })
}

// Transient implements platform.Hosts: the agents stay for the next network.
func (*Hosts) Transient() bool { return false }

// Close implements platform.Hosts.
func (h *Hosts) Close(ctx context.Context) error {
	errs := record.Each(h.Machines, func(one *Host) error { return one.empty(ctx) })
	if h.Left != nil {
		h.Left()
	}
	return errors.Join(errs...)
}

// Host is a machine as a host of networks.
type Host struct {
	*Machine
	// About describes it for users.
	About string
	// Link is the device and the addresses by which the other machines reach it; zero for a machine that is alone.
	Link platform.Uplink

	place  int // of the network among those that stand on the machine at once, from 0
	mu     sync.Mutex
	spaces []string // of containers
	next   int      // number of the last container
}

// NewHost returns the machine behind an agent as a host with the given name. Programs that it lacks are sent from tools,
// unless that is nil.
func NewHost(name, about string, c *agent.Client, tools *bootstrap.Tools) *Host {
	m := &Machine{name: name, agent: c}
	m.tools.from = tools
	return &Host{Machine: m, About: about}
}

// Beside returns the same machine as the host of another network that stands there at the same time. Places count from
// 0; h has place 0.
func (h *Host) Beside(place int) *Host {
	return &Host{Machine: h.Machine, About: h.About, Link: h.Link, place: place}
}

// Place returns the network's place among those that stand on the machine at once.
func (h *Host) Place() int { return h.place }

// Name implements platform.Endpoint.
func (h *Host) Name() string { return h.name }

// OnHost implements platform.Endpoint.
func (h *Host) OnHost() string { return h.name }

// Known returns the machine's name with what users know it by, for what they have to do there: h1 (ssh a).
func (h *Host) Known() string {
	if h.About == "" {
		return h.name
	}
	return fmt.Sprintf("%s (%s)", h.name, h.About)
}

// Uplink implements platform.Host.
func (h *Host) Uplink() platform.Uplink { return h.Link }

// Facts implements platform.Endpoint. Processes end with the agent that started them; those that they leave behind do
// not.
func (h *Host) Facts() platform.Facts {
	return platform.Facts{About: h.About, NIC: h.nic(), Send: h.Sender(), Borrowed: true, Around: platform.Surroundings{Outlive: true, Open: true}}
}

// nic returns a function that describes the card of Link, or nil if there is none.
func (h *Host) nic() func(context.Context) (record.NIC, error) {
	if h.Link.Device == "" {
		return nil
	}
	return func(ctx context.Context) (record.NIC, error) { return h.Card(ctx, h.Link.Device) }
}

// Sender returns the function that sends programs, or nil if none are sent: see platform.Facts.
func (h *Host) Sender() func(ctx context.Context, path string, alone bool) ([]string, error) {
	if h.tools.from == nil {
		return nil
	}
	return h.Send
}

// Start implements platform.Endpoint.
func (h *Host) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	return h.start(ctx, h.name, "", c)
}

// Containers implements platform.Host.
func (h *Host) Containers(ctx context.Context, n int) ([]platform.Endpoint, error) {
	made, err := h.Make(ctx, n)
	return record.Each(made, func(c *Container) platform.Endpoint { return c }), err
}

// Make makes n containers: network namespaces, which the agent holds.
func (h *Host) Make(ctx context.Context, n int) ([]*Container, error) {
	paths, err := h.makeSpaces(ctx, n)
	if err != nil && !strings.Contains(err.Error(), unix.EPERM.Error()) {
		return nil, err
	}
	if err != nil {
		return nil, &platform.Unsupported{
			Feature: "containers on " + h.Known(), Option: "root there", Remedy: "log in as root, or add --sudo", Err: err,
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spaces = append(h.spaces, paths...)
	all := make([]*Container, n)
	for i, path := range paths {
		h.next++
		all[i] = &Container{host: h, name: fmt.Sprintf("%sc%d", h.name, h.next), Space: path}
	}
	return all, nil
}

// Space makes a namespace that is not a container, and returns its path. It is removed with the containers.
func (h *Host) Space(ctx context.Context) (string, error) {
	paths, err := h.makeSpaces(ctx, 1)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spaces = append(h.spaces, paths...)
	return paths[0], nil
}

// In returns the namespace at a path, which lists its devices as a container does; "" is the machine's own.
func (h *Host) In(space string) Container { return Container{host: h, name: h.name, Space: space} }

// empty removes the containers.
func (h *Host) empty(ctx context.Context) error {
	h.mu.Lock()
	paths := h.spaces
	h.spaces, h.next = nil, 0
	h.mu.Unlock()
	if len(paths) == 0 {
		return nil
	}
	err := h.release(ctx, paths)
	if h.agent.Err() != nil { // the namespaces have gone with the agent
		return nil
	}
	return err
}

// Container is a network namespace on a machine.
type Container struct {
	host *Host
	name string
	// Space is its path, which only means something to the machine's agent.
	Space string
}

// Name implements platform.Endpoint.
func (c *Container) Name() string { return c.name }

// OnHost implements platform.Endpoint.
func (c *Container) OnHost() string { return c.host.name }

// Facts implements platform.Endpoint.
func (c *Container) Facts() platform.Facts {
	return platform.Facts{About: c.host.About, NIC: c.host.nic(), Send: c.host.Sender(), Around: platform.Surroundings{Outlive: true}}
}

// Start implements platform.Endpoint.
func (c *Container) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	return c.host.start(ctx, c.name, c.Space, cmd)
}

// Interfaces lists the devices of the container.
func (c *Container) Interfaces(ctx context.Context) ([]nl.Interface, error) {
	return c.host.interfacesIn(ctx, c.Space)
}

// Agent returns the machine's agent, which knows the container by Space.
func (c *Container) Agent() network.Agent { return c.host.agent }

var (
	_ platform.Host     = (*Host)(nil)
	_ platform.Endpoint = (*Container)(nil)
)
