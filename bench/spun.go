package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/workload/engine"
)

// spinning begins the argument by which an agent of this program has its servers spin.
const spinning = "spin="

// engineHandlers are the engine's, as the arguments of an agent want them.
func engineHandlers(ctx context.Context, args []string) (map[string]agent.Handler, error) {
	if len(args) == 0 {
		return engine.Handlers(ctx), nil
	}
	text, ok := strings.CutPrefix(args[0], spinning)
	spin, err := time.ParseDuration(text)
	if !ok || err != nil {
		return nil, fmt.Errorf("agent %s: unknown", args[0])
	}
	return engine.Spinning(ctx, spin), nil
}

// spun is a driver of networks whose servers spin for so long before they answer.
func spun(d network.Driver, spin time.Duration) network.Driver {
	return d.Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		for i, e := range n.Servers {
			n.Servers[i] = spunServer{e, spin}
		}
		addr, own, path := n.Addr, n.Own, n.Path
		n.Addr = func(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
			return addr(plain(from), plain(to), f)
		}
		n.Own = func(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
			return own(plain(from), plain(to), f)
		}
		n.Path = func(from, to platform.Endpoint, f network.Family) []network.Hop {
			return path(plain(from), plain(to), f)
		}
		return nil
	})
}

// spunServer is an endpoint whose agents spin.
type spunServer struct {
	platform.Endpoint
	spin time.Duration
}

// plain is the endpoint that a network knows as its own.
func plain(e platform.Endpoint) platform.Endpoint {
	if s, ok := e.(spunServer); ok {
		return s.Endpoint
	}
	return e
}

func (s spunServer) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	if cmd.Path == platform.Self && len(cmd.Args) == 1 && cmd.Args[0] == "agent" {
		cmd.Args = []string{"agent", spinning + s.spin.String()}
	}
	return s.Endpoint.Start(ctx, cmd)
}
