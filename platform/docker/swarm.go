package docker

import (
	"context"

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
