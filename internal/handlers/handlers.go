// Package handlers is the list of all methods that agents serve. Like cmd it names drivers, since
// some have a half that runs where the endpoint is; every program that can be started as an agent
// serves this list, so that it does not matter which of them a platform has put into a container.
package handlers

import (
	"context"
	"maps"

	"nettoll/agent"
	dockerd "nettoll/docker/engine"
	"nettoll/internal/program"
	"nettoll/internal/remote"
	"nettoll/network/kernel"
	"nettoll/network/ovs"
	"nettoll/network/udpoverlay"
	"nettoll/network/wireguard"
	"nettoll/sampler"
	"nettoll/workload/engine"
	"nettoll/workload/pgbench"
	"nettoll/workload/redisbench"
	"nettoll/workload/wrk"
)

// All returns every method that an agent answers, by name. Anything that the methods have started
// ends with ctx at the latest.
func All(ctx context.Context) map[string]agent.Handler {
	all := map[string]agent.Handler{}
	for _, part := range parts(ctx) {
		maps.Copy(all, part)
	}
	all[sampler.MethodSeries] = sampler.InSeries(all)
	return all
}

// parts returns the methods of each package that has some.
func parts(ctx context.Context) []map[string]agent.Handler {
	return []map[string]agent.Handler{
		engine.Handlers(ctx),
		sampler.Handlers(),
		kernel.Handlers(),
		udpoverlay.Handlers(),
		program.Handlers(),
		pgbench.Handlers(),
		redisbench.Handlers(),
		wrk.Handlers(),
		dockerd.Handlers(),
		remote.Handlers(ctx),
		wireguard.Handlers(),
		ovs.Handlers(),
	}
}
