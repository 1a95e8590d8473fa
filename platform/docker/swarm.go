package docker

import (
	"context"
	"slices"

	"nettoll/docker/engine"
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
	return s.Engines(ctx, req, engine.Settings{})
}

// Engines implements engine.Provider.
func (s *Swarm) Engines(ctx context.Context, req platform.HostRequest, with engine.Settings) (engine.Hosts, error) {
	with.Swarm = true
	return s.Docker.Engines(ctx, req, with)
}

// find finds the swarm of the user's engines. One that was never there is something
// that is missing; one that is there no more is a fault.
func (d *Docker) find(ctx context.Context) (*engine.Swarm, error) {
	found, err := engine.FindSwarm(ctx, d.borrowed)
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

// discardBroken ends private swarms that have lost a node.
func (d *Docker) discardBroken(ctx context.Context) error {
	for _, s := range slices.Clone(d.private) {
		if s.swarm == nil || s.taken {
			continue
		}
		var nodes []*engine.Host
		for _, e := range s.engines {
			nodes = append(nodes, e.Host)
		}
		if _, err := engine.FindSwarm(ctx, nodes); err == nil || ctx.Err() != nil {
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
