package docker

import (
	"context"
	"errors"
	"slices"
	"time"

	"nettoll/internal/dockerd"
	"nettoll/internal/emulated"
	"nettoll/platform"
)

// Swarm is the platform of engines that are nodes of one swarm: those that the user
// has, or private ones.
type Swarm struct{ *Docker }

// NewSwarm gives the platform. It connects when it is probed. Close it.
func NewSwarm(o Options) *Swarm { return &Swarm{New(o)} }

// Name implements platform.Platform.
func (*Swarm) Name() string { return "swarm" }

// Probe implements platform.Platform.
func (s *Swarm) Probe(ctx context.Context) error {
	if err := s.Docker.Probe(ctx); err != nil || s.o.Lab != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.find(ctx)
	return err
}

// Private says that engines are started for the measurement, on this machine.
func (s *Swarm) Private() bool { return s.o.Lab != nil }

// Hosts implements platform.Platform.
func (s *Swarm) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	return s.Engines(ctx, req, dockerd.Settings{})
}

// Engines implements dockerd.Provider. What it gives are dockerd.SwarmHosts.
func (s *Swarm) Engines(ctx context.Context, req platform.HostRequest, with dockerd.Settings) (dockerd.Hosts, error) {
	with.Swarm = true
	return s.Docker.Engines(ctx, req, with)
}

// find finds the swarm of the user's engines. One that was never there is something
// that is missing; one that is there no more is a fault.
func (d *Docker) find(ctx context.Context) (*dockerd.Swarm, error) {
	found, err := dockerd.FindSwarm(ctx, d.borrowed)
	if err == nil {
		d.seen = true
		return found, nil
	}
	if d.seen || ctx.Err() != nil {
		return nil, err
	}
	return nil, &platform.Unsupported{
		Feature: "Docker Swarm", Option: "engines that are nodes of one swarm, at least one of them a manager", Err: err,
		Remedy: "docker swarm init and docker swarm join, and name the engines with --docker-host; " +
			"or --private-engine, which starts engines of one swarm for the measurement",
	}
}

// inSwarm gives those of the user's engines that are used. The manager may be another.
func (d *Docker) inSwarm(ctx context.Context, used hosts) (dockerd.Hosts, error) {
	found, err := d.find(ctx)
	if err != nil {
		return nil, err
	}
	return &swarmHosts{hosts: used, swarm: found}, nil
}

// swarmHosts are nodes of a swarm in use by one network.
type swarmHosts struct {
	hosts
	swarm   *dockerd.Swarm
	discard func(context.Context) error // ends private engines; nil for those of the user
}

// Swarm implements dockerd.SwarmHosts.
func (h *swarmHosts) Swarm() *dockerd.Swarm { return h.swarm }

// emptyTime is how long a private swarm may take to let go what was made on it. A node
// that nobody reaches keeps its networks in use.
const emptyTime = 15 * time.Second

// Close implements platform.Hosts. A private swarm that lets something not go is given
// up with its engines.
func (h *swarmHosts) Close(ctx context.Context) error {
	if h.free != nil {
		defer h.free()
	}
	if h.discard != nil {
		within, cancel := context.WithTimeout(ctx, emulated.Patience(emptyTime))
		defer cancel()
		ctx = within
	}
	all := h.all
	if !slices.Contains(all, h.swarm.Manager) {
		all = append(slices.Clip(all), h.swarm.Manager)
	}
	// At the same time, since the manager's networks go when the containers of all are gone.
	err := errors.Join(dockerd.Each(-1, all, func(_ int, host *dockerd.Host) error { return host.Empty(ctx) })...)
	if err == nil {
		err = dockerd.Settle(ctx, all)
	}
	if err != nil && h.discard != nil {
		return h.discard(context.WithoutCancel(ctx))
	}
	return err
}

// discardBroken ends private swarms that have lost a node.
func (d *Docker) discardBroken(ctx context.Context) error {
	for _, s := range slices.Clone(d.private) {
		if s.swarm == nil || s.taken {
			continue
		}
		var nodes []*dockerd.Host
		for _, e := range s.engines {
			nodes = append(nodes, e.Host)
		}
		if _, err := dockerd.FindSwarm(ctx, nodes); err == nil || ctx.Err() != nil {
			continue
		}
		if err := d.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// discard ends the engines of a set.
func (d *Docker) discard(ctx context.Context, s *set) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.drop(ctx, s)
}

func (d *Docker) drop(ctx context.Context, s *set) error {
	i := slices.Index(d.private, s)
	if i < 0 {
		return nil
	}
	d.private = slices.Delete(d.private, i, i+1)
	for _, e := range s.engines {
		e.Forget() // nothing of it can be removed by asking the manager
	}
	return s.close(ctx)
}
