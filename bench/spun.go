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

// spun is a technique whose servers spin for so long before they answer.
type spun struct {
	network.Technique
	spin time.Duration
}

func (s spun) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	n, err := s.Technique.Connect(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	w := spunNetwork{Network: n}
	for _, e := range n.Servers() {
		w.servers = append(w.servers, spunServer{e, s.spin})
	}
	return w, nil
}

type spunNetwork struct {
	network.Network
	servers []platform.Endpoint
}

func (n spunNetwork) Servers() []platform.Endpoint { return n.servers }

func (n spunNetwork) Addr(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	return n.Network.Addr(plain(from), plain(to), f)
}

func (n spunNetwork) Own(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	return n.Network.Own(plain(from), plain(to), f)
}

func (n spunNetwork) Path(from, to platform.Endpoint, f network.Family) []network.Hop {
	return n.Network.Path(plain(from), plain(to), f)
}

func (n spunNetwork) Machines() []platform.Host {
	return n.Network.(interface{ Machines() []platform.Host }).Machines()
}

// spunServer is an endpoint whose agents spin.
type spunServer struct {
	platform.Endpoint
	spin time.Duration
}

func (s spunServer) Unwrap() platform.Endpoint { return s.Endpoint }

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
