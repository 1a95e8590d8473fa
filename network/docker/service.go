package docker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/network"
	"nettoll/platform"
)

// What needs virtual servers of the kernel, in words.
const (
	virtualIPs  = "virtual IPs of services"
	routingMesh = "the routing mesh"
)

// service is docker service create --network OVERLAY: clients are containers on the
// overlay and know the services by name.
func service(vip bool) func(context.Context, *build) error {
	return func(ctx context.Context, n *build) error {
		if n.balances = vip; vip {
			if err := n.balanced(ctx, virtualIPs); err != nil {
				return err
			}
		}
		t, err := n.overlaid(ctx, nil)
		if err != nil {
			return err
		}
		mode := func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: t.name} }
		if n.clients, err = n.place(ctx, n.topo.Clients, n.clientHost, mode); err != nil {
			return err
		}
		if _, err := n.place(ctx, n.topo.Neighbours, n.clientHost, mode); err != nil {
			return err
		}
		services, err := n.serve(ctx, func(int) engine.ServiceSpec { return engine.ServiceSpec{Network: t.name, VIP: vip} })
		if err != nil {
			return err
		}
		if err := n.lookedUp(ctx, services); err != nil {
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
		n.hops = t.path
		if vip {
			return n.balancers(t)
		}
		return nil
	}
}

// balanced says whether the nodes' kernels can lead connections to services.
func (n *build) balanced(ctx context.Context, what string) error {
	for _, h := range n.hosts {
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

// noIPVS is the error of a kernel that cannot.
func noIPVS(what, where string) error {
	return &platform.Unsupported{
		Feature: what, Option: "CONFIG_IP_VS and CONFIG_NETFILTER_XT_MATCH_IPVS",
		Remedy: "modprobe ip_vs as root, or measure swarm:service-dnsrr",
		Err:    fmt.Errorf("the kernel of %s knows no virtual servers", where),
	}
}

// forward has load balancers hand on what comes back from the services. An engine turns
// forwarding on for the machine, and whatever namespaces are made begin with what the
// machine has: those of an engine in a lab would be without it.
func (n *build) forward(sandbox string) error {
	for _, h := range n.hosts {
		if path := h.Sandbox(sandbox); path != "" && !h.Borrowed() {
			if err := netns.SetSysctl(path, "net/ipv4/ip_forward", "1"); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve makes a service for each server. Their tasks are its containers.
func (n *build) serve(ctx context.Context, spec func(i int) engine.ServiceSpec) ([]*engine.Service, error) {
	specs := make([]engine.ServiceSpec, n.topo.Servers)
	for i := range specs {
		specs[i] = spec(i)
		specs[i].Host = n.hosts[0]
	}
	services, err := n.swarm.Serve(ctx, specs...)
	if err != nil {
		return nil, err
	}
	for i, s := range services {
		n.servers = append(n.servers, &node{Endpoint: s.Task, host: n.hosts[0], container: s.Task, index: i})
	}
	return services, nil
}

// lookedUp has each client look up its service's name, and wants it to lead to the
// service.
func (n *build) lookedUp(ctx context.Context, services []*engine.Service) error {
	found := map[*node]netip.Addr{}
	for i, c := range n.clients {
		k := n.topo.Pair(i)
		a, err := lookUp(ctx, c, services[k].Name)
		if err != nil {
			return err
		}
		want, err := n.servers[k].own(network.IPv4)
		if err != nil {
			return err
		}
		if services[k].VIP.IsValid() {
			want = services[k].VIP
		}
		if a != want {
			return &network.WrongPath{Finding: fmt.Sprintf("the name of the service %s leads %s to %s, and the service is at %s",
				n.servers[k].Name(), c.Name(), a, want)}
		}
		found[c] = a
	}
	n.nat = true
	n.reach = func(from, to *node, _ network.Family) (netip.Addr, error) {
		if a, ok := found[from]; ok {
			return a, nil
		}
		return to.own(network.IPv4)
	}
	return nil
}

// lookUp finds the address of a service's name, which its nodes are told of in the end.
func lookUp(ctx context.Context, from *node, name string) (netip.Addr, error) {
	for deadline := time.Now().Add(meetTime); ; {
		a, err := from.container.Resolve(ctx, name)
		if err == nil || time.Now().After(deadline) {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// balancers puts the load balancer of the client's node into the path.
func (n *build) balancers(t *tunnel) error {
	ends, err := n.insides(t.balancer(), "lb-"+t.label, "eth0")
	if err != nil {
		return err
	}
	n.hops = func(from, to *node, f network.Family) []network.Hop {
		hops := t.path(from, to, f)
		return slices.Concat(hops[:1], ends[from.host], hops[1:])
	}
	return nil
}

// insides are devices of a namespace that each engine hides.
func (n *build) insides(sandbox, label string, devices ...string) (map[*engine.Host][]network.Hop, error) {
	ends := map[*engine.Host][]network.Hop{}
	for _, h := range n.hosts {
		path := h.Sandbox(sandbox)
		if path == "" {
			n.notes = append(n.notes, fmt.Sprintf("the load balancer of %s is hidden from here: nothing but the address says that it was crossed", h.Name()))
			continue
		}
		for _, d := range devices {
			ends[h] = append(ends[h], hidden(h, path, d, label+"-"+d))
		}
	}
	return ends, nil
}
