package docker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Features that need virtual servers of the kernel, as in errors.
const (
	virtualIPs  = "virtual IPs of services"
	routingMesh = "the routing mesh"
)

// service is the network of docker service create --network OVERLAY: clients are containers on the
// overlay and know the services by name.
func service(vip bool) func(context.Context, *build) error {
	return func(ctx context.Context, n *build) error {
		if n.balances = vip; vip {
			if err := n.balanced(ctx, virtualIPs); err != nil {
				return err
			}
		}
		t, err := n.overlaid(ctx, map[string]string{})
		if err != nil {
			return err
		}
		if n.Clients, err = n.place(ctx, n.Topo.Clients, n.ClientHost, plain(t.name)); err != nil {
			return err
		}
		if err := n.silent(ctx, plain(t.name)); err != nil {
			return err
		}
		services, err := n.serve(ctx, func(int) engine.ServiceSpec { return engine.ServiceSpec{Network: t.name, VIP: vip} })
		if err != nil {
			return err
		}
		n.Translated = true
		at := func(server int) netip.Addr {
			if vip {
				return services[server].VIP
			}
			return n.Servers[server].Addr4
		}
		if err := n.lookedUp(ctx, func(server int) string { return services[server].Name }, at); err != nil {
			return err
		}
		if vip {
			if err := n.forward(t.balancer()); err != nil {
				return err
			}
		}
		if err := n.open(ctx, t); err != nil {
			return err
		}
		n.Hops = t.path
		if vip { // through the load balancer of the client's node
			ends := n.insides(t.balancer(), "lb-"+t.label, "eth0")
			n.Hops = func(from, to *plumb.Node, f network.Family) []network.Hop {
				hops := t.path(from, to, f)
				return slices.Concat(hops[:1], ends[from.Host], hops[1:])
			}
		}
		return nil
	}
}

// balanced checks that the nodes' kernels can lead connections to services.
func (n *build) balanced(ctx context.Context, what string) error {
	for _, h := range n.engines {
		has, err := h.HasIPVS(ctx)
		if err != nil {
			return err
		}
		if !has {
			return noIPVS(what, h.Name())
		}
	}
	return nil
}

// noIPVS is the error of a kernel without virtual servers.
func noIPVS(what, where string) error {
	return &platform.Unsupported{
		Feature: what, Option: "CONFIG_IP_VS and CONFIG_NETFILTER_XT_MATCH_IPVS",
		Remedy: "modprobe ip_vs as root, or measure swarm:service-dnsrr",
		Err:    fmt.Errorf("the kernel of %s has no virtual servers (IPVS)", where),
	}
}

// forward turns on IP forwarding in load balancers, so that they pass on answers of the services.
// An engine turns it on for its machine, and new namespaces inherit the machine's setting: those of
// an engine in a lab would be without it.
func (n *build) forward(sandbox string) error {
	for _, h := range n.engines {
		if path := h.Sandbox(sandbox); path != "" && !h.Borrowed() {
			if err := netns.SetSysctl(path, "net/ipv4/ip_forward", "1"); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve makes a service for each server. The services' tasks are its containers.
func (n *build) serve(ctx context.Context, spec func(i int) engine.ServiceSpec) ([]*engine.Service, error) {
	specs := make([]engine.ServiceSpec, n.Topo.Servers)
	for i := range specs {
		specs[i] = spec(i)
		specs[i].Host = n.engines[0]
	}
	services, err := n.swarm.Serve(ctx, specs...)
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		n.Servers = append(n.Servers, n.nodeOf(n.Hosts[0], s.Task))
	}
	return services, nil
}

// insides returns hops for devices of a namespace that each engine hides.
func (n *build) insides(sandbox, label string, devices ...string) map[*plumb.Host][]network.Hop {
	ends := map[*plumb.Host][]network.Hop{}
	for _, h := range n.Hosts {
		path := n.engines[h.Index].Sandbox(sandbox)
		if path == "" && !n.talks(h) {
			continue
		}
		if path == "" {
			n.Notes = append(n.Notes, fmt.Sprintf("the load balancer of %s is hidden from here: only the address shows that it was crossed", h.Name()))
			continue
		}
		for _, d := range devices {
			ends[h] = append(ends[h], hidden(h, path, d, plumb.Pair, label+"-"+d))
		}
	}
	return ends
}
