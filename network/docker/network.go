package docker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/undo"
	"nettoll/network"
	"nettoll/platform"
)

// build is one of Docker's networks at work.
type build struct {
	undo.Stack
	topo             network.Topology
	hosts            []*engine.Host
	swarm            *engine.Swarm // that the hosts' engines are nodes of; nil outside of swarms
	servers, clients []*node
	daemons          []network.Daemon
	notes            []string
	concealed        map[string]string // namespaces that engines hide, by what is in them
	rules            []string          // of ours on hosts, as text, for documentation
	// reach is where from reaches to; nil: at its own address.
	reach func(from, to *node, f network.Family) (netip.Addr, error)
	// nat: packets to a container arrive at its own address, wherever they were sent.
	nat  bool
	hops func(from, to *node, f network.Family) []network.Hop
	// balances: connections to servers are led there by nodes, which answer, too.
	balances bool
}

// node is an endpoint of the network.
type node struct {
	platform.Endpoint
	host      *engine.Host
	container *engine.Container // nil: the host itself
	index     int               // among the servers, or among the clients
	device    string            // inside, that carries the payload
	port      int               // index of its other end on the host; 0 is none
	portName  string
}

func endpoints(nodes []*node) []platform.Endpoint {
	all := make([]platform.Endpoint, len(nodes))
	for i, n := range nodes {
		all[i] = n
	}
	return all
}

// standing is the network as others see it.
func (n *build) standing() *network.Network {
	hosts := make([]platform.Host, len(n.hosts))
	for i, h := range n.hosts {
		hosts[i] = h
	}
	return &network.Network{
		Servers: endpoints(n.servers), Clients: endpoints(n.clients), Hosts: hosts,
		Addr: n.addr, Own: n.own, Close: n.Close, Daemons: n.daemons, Fault: n.fault,
		Path: func(from, to platform.Endpoint, f network.Family) []network.Hop {
			return n.hops(from.(*node), to.(*node), f)
		},
		Remarks: func() []string { return n.notes },
		Distant: slices.ContainsFunc(n.hosts, func(h *engine.Host) bool { return !h.Here() }),
		Page:    network.Page{Firewall: n.rules, Concealed: n.concealed},
	}
}

func (n *build) fault(ctx context.Context) error {
	for _, h := range n.hosts {
		if err := h.Fault(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (n *build) addr(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	a, b := from.(*node), to.(*node)
	if n.reach != nil {
		return n.reach(a, b, f)
	}
	return b.own(f)
}

// own is the address at which packets arrive at to.
func (n *build) own(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	if n.nat {
		return to.(*node).own(f)
	}
	return n.addr(from, to, f)
}

// own is the container's address.
func (n *node) own(f network.Family) (netip.Addr, error) {
	if n.container == nil {
		return hostAddr(n.host, f), nil
	}
	a := n.container.Addr(f == network.IPv6)
	if !a.IsValid() {
		return a, errNoIPv6("this network")
	}
	return a, nil
}

// clientHost is where client i lives.
func (n *build) clientHost(i int) *engine.Host {
	if len(n.hosts) == 1 {
		return n.hosts[0]
	}
	return n.hosts[1+i%(len(n.hosts)-1)]
}

// run makes the containers of the topology: spec gives what each is to be like.
// Servers are started before clients, which may need to know them.
func (n *build) run(ctx context.Context, server, client func(h *engine.Host, i int) engine.Spec) (err error) {
	if n.servers, err = n.place(ctx, n.topo.Servers, func(int) *engine.Host { return n.hosts[0] }, server); err != nil {
		return err
	}
	if n.clients, err = n.place(ctx, n.topo.Clients, n.clientHost, client); err != nil {
		return err
	}
	// Those that do not talk.
	_, err = n.place(ctx, n.topo.Neighbours, n.clientHost, func(h *engine.Host, i int) engine.Spec {
		s := client(h, n.topo.Clients+i)
		s.Links, s.Publish = nil, nil
		return s
	})
	return err
}

func (n *build) place(ctx context.Context, count int, host func(int) *engine.Host, spec func(*engine.Host, int) engine.Spec) ([]*node, error) {
	nodes := make([]*node, count)
	for _, h := range n.hosts {
		var specs []engine.Spec
		var at []int
		for i := range count {
			if host(i) == h {
				specs, at = append(specs, spec(h, i)), append(at, i)
			}
		}
		made, err := h.Run(ctx, specs...)
		if err != nil {
			return nil, err
		}
		for k, c := range made {
			nodes[at[k]] = &node{Endpoint: c, host: h, container: c, index: at[k]}
		}
	}
	return nodes, nil
}

// outside makes nodes of the hosts themselves.
func (n *build) outside(count int, host func(int) *engine.Host) []*node {
	nodes := make([]*node, count)
	for i := range nodes {
		h := host(i)
		nodes[i] = &node{Endpoint: h, host: h, index: i}
	}
	return nodes
}

// deviceHop counts what an interface carried, which list finds by its name.
func deviceHop(where, device string, list func(context.Context) ([]nl.Interface, error)) network.Hop {
	return network.Hop{
		Name: where + "/" + device, Kind: network.Device,
		Read: func(ctx context.Context) (network.Count, error) {
			all, err := list(ctx)
			if err != nil {
				return network.Count{}, err
			}
			for _, d := range all {
				if d.Name == device {
					return plumb.Counted(d), nil
				}
			}
			return network.Count{}, fmt.Errorf("%s has no device %s any more", where, device)
		},
	}
}

// hop is the node's own device.
func (n *node) hop() network.Hop {
	if n.container == nil {
		return deviceHop(n.host.Name(), n.device, n.host.Interfaces)
	}
	return deviceHop(n.Name(), n.device, n.container.Interfaces)
}

// portHop is the other end of the node's veth pair, on the host. Its name is made up
// by the engine; that of the hop is not.
func (n *node) portHop() network.Hop {
	h := deviceHop(n.host.Name(), n.portName, n.host.Interfaces)
	h.Name = n.host.Name() + "/veth-" + n.Name()
	return h
}

// hostHop is a device of a host.
func hostHop(h *engine.Host, device string) network.Hop {
	return deviceHop(h.Name(), device, h.Interfaces)
}

func absent(h network.Hop) network.Hop {
	h.Absent = true
	return h
}

// wire finds the veth pairs of containers, and wants each to be a port of the bridge.
func (n *build) wire(ctx context.Context, bridge string, nodes ...*node) error {
	on := map[*engine.Host][]nl.Interface{}
	for _, node := range nodes {
		if on[node.host] == nil {
			all, err := node.host.Interfaces(ctx)
			if err != nil {
				return err
			}
			on[node.host] = all
		}
		if err := node.plugged(ctx, bridge, on[node.host]); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) plugged(ctx context.Context, bridge string, host []nl.Interface) error {
	inside, err := n.container.Interfaces(ctx)
	if err != nil {
		return err
	}
	master := 0
	for _, d := range host {
		if d.Name == bridge && d.Kind == "bridge" {
			master = d.Index
		}
	}
	if master == 0 {
		return fmt.Errorf("docker: %s has no bridge %s", n.host.Name(), bridge)
	}
	for _, d := range inside {
		if d.Kind != "veth" {
			continue
		}
		for _, other := range host {
			if other.Index == d.Peer && other.Kind == "veth" && other.Master == master {
				n.device, n.port, n.portName = d.Name, other.Index, other.Name
				return nil
			}
		}
	}
	return fmt.Errorf("docker: no veth pair leads from %s to the bridge %s", n.Name(), bridge)
}
