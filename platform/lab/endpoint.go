package lab

import (
	"context"
	"os"
	"slices"
	"strings"

	"nettoll/internal/netns"
	"nettoll/internal/process"
	"nettoll/platform"
)

// endpoint is a namespace in which processes run.
type endpoint struct {
	name string
	host string
	ns   *netns.NS
}

// Name implements platform.Endpoint.
func (e *endpoint) Name() string { return e.name }

// OnHost implements platform.Endpoint.
func (e *endpoint) OnHost() string { return e.host }

// Facts implements platform.Endpoint.
func (e *endpoint) Facts() platform.Facts {
	return platform.Facts{NetNS: e.NetNS(), Around: platform.Surroundings{Outlive: !Inside()}}
}

// NetNS is a path to its network namespace.
func (e *endpoint) NetNS() string { return e.ns.Path() }

// Start implements platform.Endpoint. The process ends with the lab at the latest.
func (e *endpoint) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	return process.Start(ctx, e.name, e.NetNS(), environ(), c)
}

// environ is the environment without the marks of the process inside, so that
// nettoll can be run within a lab's shell.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, insideEnv+"=") || strings.HasPrefix(kv, firstEnv+"=")
	})
}
