package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/emulated"
	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/sampler"
)

// How long it takes until a service or a policy is in force is measured when all others are in force, and the programs that
// work on them are at rest: otherwise it would be the time for which these still have work to do.

// rested returns when all services made so far are in force, and kube-proxy is at rest. Nodes of the user's are not seen: there the
// last of the further services must lead to its endpoint.
func (n *build) rested(ctx context.Context) error {
	others := n.cluster.InForce
	if n.borrowed() {
		others = n.behindFurther
	}
	if err := others(ctx); err != nil {
		return fmt.Errorf("with %d further services: %w", n.Topo.Services, err)
	}
	return await.Sleep(ctx, kube.ProxyRest(n.Topo.Services))
}

// behindFurther waits until the last of the further services answers. It asks over one IP version, since both take the same time.
func (n *build) behindFurther(ctx context.Context) error {
	server := n.Servers[0]
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		at, err := n.cluster.LastFurther(ctx, f == network.IPv6)
		if err != nil {
			return err
		}
		if !at.IsValid() || !server.Addr(f).IsValid() {
			continue
		}
		un, err := n.meet(ctx, sampler.Meet, kube.ProxyPatience(n.Topo.Services), sampler.Pair{
			Client: n.containers[n.Clients[0]], Server: n.containers[server],
			At: netip.AddrPortFrom(at, kube.FurtherPort), Own: netip.AddrPortFrom(server.Addr(f), uint16(n.beyond)), OnlyTCP: true,
		})
		if err == nil && un != nil {
			err = errors.New(un.text)
		}
		return err
	}
	return nil
}

// timeService measures the time until the service of the last server, which was made just now, is in force, if all others were
// when it was made. reach returns the address at which a client dials a server.
func (n *build) timeService(ctx context.Context, reach func(from, to *plumb.Node, f network.Family) netip.Addr) error {
	if !n.timed {
		return nil
	}
	last := len(n.Servers) - 1
	client, server := n.Clients[last], n.Servers[last]
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		at := reach(client, server, f)
		if !at.IsValid() || !server.Addr(f).IsValid() {
			continue
		}
		took, err := n.until(ctx, client, last, at, f, kube.ProxyPatience(n.Topo.Services), n.cluster.Accepted(last))
		if err != nil {
			return fmt.Errorf("with %d further services: %w", n.Topo.Services, err)
		}
		n.InForce.Service = took
		return nil
	}
	return nil
}

// until returns how many seconds after a time a greeting to server i at an address passes, over UDP and over TCP.
func (n *build) until(ctx context.Context, client *plumb.Node, i int, at netip.Addr, f network.Family, within time.Duration, since time.Time) (float64, error) {
	server := n.Servers[i]
	_, port := n.Topo.Ports(i) // the last, which no trial uses
	var passed time.Time
	un, err := n.meet(ctx, sampler.MeetSteadily, within, sampler.Pair{
		Client: n.containers[client], Server: n.containers[server], At: netip.AddrPortFrom(at, uint16(port)), Own: netip.AddrPortFrom(server.Addr(f), uint16(port)),
		Met: &passed,
	})
	if err == nil && un != nil {
		err = errors.New(un.text)
	}
	return passed.Sub(since).Seconds(), err
}

// meet has clients greet servers. It returns nil if all got an answer in time.
func (n *build) meet(ctx context.Context, meet func(context.Context, []sampler.Pair, time.Duration) (*sampler.Unmet, error), within time.Duration, pairs ...sampler.Pair) (*unanswered, error) {
	within = emulated.Patience(within)
	unmet, err := meet(ctx, pairs, within)
	if unmet == nil || err != nil {
		return nil, err
	}
	return &unanswered{unmet.Half, fmt.Sprintf("%s does not answer within %v, %s", pairs[unmet.Pair].At.Addr(), within, unmet.Last)}, nil
}
