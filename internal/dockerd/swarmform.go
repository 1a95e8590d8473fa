package dockerd

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// The addresses of private swarms. They overlap no bridge of private engines, and what
// shares the second half of 198.19.0.0/16 with them is never built on engines of a swarm.
var (
	// SwarmOverlay4 is for networks that are made for a measurement.
	SwarmOverlay4 = netip.MustParsePrefix("198.19.128.0/18")
	// swarmPool4 is where a swarm takes subnets from for its own networks.
	swarmPool4 = netip.MustParsePrefix("198.19.192.0/19")
	// gatewayBridge4 is each engine's bridge by which containers of overlays leave it.
	gatewayBridge4 = netip.MustParsePrefix("198.19.224.0/20")
)

const (
	swarmSubnetBits = 24
	swarmPort       = 2377 // where managers listen for nodes
)

// everywhere is where engines listen: their hosts have an underlay and nothing else.
var everywhere = netip.AddrPortFrom(netip.IPv4Unspecified(), swarmPort).String()

// FormSwarm joins private engines, which are in no swarm yet, into one whose manager is
// the first of them. It returns when all are ready.
func FormSwarm(ctx context.Context, engines []*Private) (*Swarm, error) {
	hosts := make([]*Host, len(engines))
	for i, p := range engines {
		hosts[i] = p.Host
		if err := p.bridgeOut(ctx); err != nil {
			return nil, err
		}
	}
	first := engines[0]
	_, err := first.Engine.Client.SwarmInit(ctx, client.SwarmInitOptions{
		ListenAddr: everywhere, AdvertiseAddr: first.Addr(false).String(), DataPathAddr: first.Addr(false).String(),
		DefaultAddrPool: []netip.Prefix{swarmPool4}, SubnetSize: swarmSubnetBits,
	})
	if err != nil {
		return nil, fmt.Errorf("docker: swarm init on %s: %w", first.name, brief(err))
	}
	if err := first.invite(ctx, engines[1:]); err != nil {
		return nil, err
	}
	s, err := awaitSwarm(ctx, hosts)
	if err == nil {
		return s, nil
	}
	for _, p := range engines {
		if said := p.said(); said != "" {
			err = fmt.Errorf("%w; dockerd of %s logs: %s", err, p.name, said)
		}
	}
	return nil, err
}

// bridgeOut makes the engine's docker_gwbridge as the engine would, but for the addresses.
func (p *Private) bridgeOut(ctx context.Context) error {
	const name = "docker_gwbridge"
	_, err := p.Engine.Client.NetworkCreate(ctx, name, client.NetworkCreateOptions{
		Driver: "bridge",
		Options: map[string]string{
			"com.docker.network.bridge.name":                 name,
			"com.docker.network.bridge.enable_icc":           "false",
			"com.docker.network.bridge.enable_ip_masquerade": "true",
		},
		IPAM: &network.IPAM{Driver: "default", Config: []network.IPAMConfig{{Subnet: gatewayBridge4}}},
	})
	if err != nil {
		return fmt.Errorf("docker: create %s on %s: %w", name, p.name, brief(err))
	}
	return nil
}

// invite makes the others workers of the manager's swarm.
func (p *Private) invite(ctx context.Context, others []*Private) error {
	if len(others) == 0 {
		return nil
	}
	res, err := p.Engine.Client.SwarmInspect(ctx, client.SwarmInspectOptions{})
	if err != nil {
		return fmt.Errorf("docker: ask %s for the swarm's token: %w", p.name, brief(err))
	}
	for _, o := range others {
		_, err := o.Engine.Client.SwarmJoin(ctx, client.SwarmJoinOptions{
			ListenAddr: everywhere, AdvertiseAddr: o.Addr(false).String(), DataPathAddr: o.Addr(false).String(),
			RemoteAddrs: []string{netip.AddrPortFrom(p.Addr(false), swarmPort).String()}, JoinToken: res.Swarm.JoinTokens.Worker,
		})
		if err != nil {
			return fmt.Errorf("docker: swarm join on %s: %w", o.name, brief(err))
		}
	}
	return nil
}

// swarmReady is how long nodes may take. It is a second or two, and more than a minute on
// an emulated machine.
const swarmReady = 2 * time.Minute

// awaitSwarm returns when all nodes are ready, and done with the network of published
// ports, which they make in the background.
func awaitSwarm(ctx context.Context, hosts []*Host) (*Swarm, error) {
	for deadline := time.Now().Add(swarmReady); ; {
		s, err := FindSwarm(ctx, hosts)
		for _, h := range hosts {
			if err == nil {
				err = h.hasIngress(ctx)
			}
		}
		if err == nil || time.Now().After(deadline) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// hasIngress says whether the engine has joined the network of published ports.
func (h *Host) hasIngress(ctx context.Context) error {
	n, err := h.Engine.Client.NetworkInspect(ctx, Ingress, client.NetworkInspectOptions{})
	if err != nil {
		return fmt.Errorf("docker: inspect network %s of %s: %w", Ingress, h.name, brief(err))
	}
	if _, ok := n.Network.Containers["ingress-sbox"]; !ok {
		return fmt.Errorf("docker: %s has not joined the network %s", h.name, Ingress)
	}
	return nil
}
