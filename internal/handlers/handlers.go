// Package handlers is the one list of what agents can be asked for. Like cmd it names
// drivers, since some have a half that runs where the endpoint is; and every program
// that is started as an agent serves this list, so that it does not matter which of
// them a platform has put into a container.
package handlers

import (
	"context"
	"maps"

	"nettoll/agent"
	dockerd "nettoll/docker/engine"
	"nettoll/internal/program"
	"nettoll/network/kernel"
	"nettoll/network/udpoverlay"
	"nettoll/sampler"
	"nettoll/workload/engine"
	"nettoll/workload/pgbench"
	"nettoll/workload/redisbench"
	"nettoll/workload/wrk"
)

// All is every method that an agent answers, by name. What the methods have begun
// ends with ctx at the latest.
func All(ctx context.Context) map[string]agent.Handler {
	all := map[string]agent.Handler{}
	for _, part := range parts(ctx) {
		maps.Copy(all, part)
	}
	return all
}

// parts are the methods of each package that has some.
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
	}
}
