package docker

import (
	"context"
	"slices"

	"nettoll/docker/engine"
	"nettoll/platform"
)

// find finds the swarm of the user's engines. A swarm that never existed is reported as unsupported; one that has
// disappeared is a failure.
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
		Remedy: "run docker swarm init and docker swarm join, and name the engines with --docker-host; " +
			"or use --private-engine, which starts engines of one swarm for the measurement",
	}
}

// discardBroken ends private swarms that have lost a node.
func (d *Docker) discardBroken(ctx context.Context) error {
	for _, s := range slices.Clone(d.private) {
		if s.swarm == nil || s.taken {
			continue
		}
		if _, err := engine.FindSwarm(ctx, s.hosts()); err == nil || ctx.Err() != nil {
			continue
		}
		if err := d.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// drop ends the engines of a set.
func (d *Docker) drop(ctx context.Context, s *set) error {
	i := slices.Index(d.private, s)
	if i < 0 {
		return nil
	}
	d.private = slices.Delete(d.private, i, i+1)
	for _, h := range s.hosts() {
		h.Forget() // the manager can no longer remove anything on request
	}
	return s.close(ctx)
}
