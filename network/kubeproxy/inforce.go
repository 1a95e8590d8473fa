package kubeproxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nettoll/agent"
	"nettoll/internal/await"
	"nettoll/internal/daemon"
	"nettoll/internal/emulated"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/sampler"
)

// timed reports whether the time until a service is in force is measured. That service, the last server's, is then made when
// kube-proxy has the rules of all others and is at rest.
func (n *build) timed() bool { return n.Topo.Services > 0 }

// timeService makes the service of the last server, and measures the time until it is in force: from when the API server has
// accepted the service until a client's greeting to its address is answered, over UDP and over TCP. Its EndpointSlices are made
// right after it, as the controllers of a cluster do it. The function returns when all hosts have the rules of all services.
func (n *build) timeService(ctx context.Context, s *kube.Server, all []kube.Fixed, proxies []*daemon.Daemon) (err error) {
	if err := n.Settle(ctx); err != nil {
		return err
	}
	if err := await.Sleep(ctx, kube.ProxyRest(n.Topo.Services)); err != nil {
		return err
	}
	last := len(n.Servers) - 1
	from, to := n.Clients[last], n.Servers[last]
	client, err := agent.Start(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	server, err := agent.Start(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	defer s.Idle()
	objects := all[last].Objects(namespace, nil) // the service is the first
	if err := s.MakeAll(ctx, 1, objects[:1]); err != nil {
		return err
	}
	accepted := time.Now()
	if err := s.MakeAll(ctx, atOnce, objects[1:]); err != nil {
		return err
	}
	at := n.reach(from, to, network.IPv4)
	_, port := n.Topo.Ports(last) // the last, which no trial uses
	within := kube.ProxyPatience(n.Topo.Services)
	var passed time.Time
	unmet, err := sampler.MeetSteadily(ctx, []sampler.Pair{{
		Client: client, Server: server, At: netip.AddrPortFrom(at, uint16(port)), Own: netip.AddrPortFrom(to.Addr4, uint16(port)), Met: &passed,
	}}, emulated.Patience(within))
	n.InForce.Service = passed.Sub(accepted).Seconds()
	if err == nil && unmet != nil {
		err = fmt.Errorf("the service of %s at %s does not answer within %v, %s", to.Name(), at, within, unmet.Last)
	}
	if err != nil {
		return err
	}
	return n.inForce(ctx, proxies, served(all))
}
