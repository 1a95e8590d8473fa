package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/emulated"
	"nettoll/internal/plumb"
	"nettoll/internal/remote"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/platform"
)

// overlays are the networks of containers. On each machine the agent makes a namespace for each container, and one that
// stands for the machine between the containers and the uplink. Only the tunnel, or the child of the uplink, is on the
// machine's own network. Each network has the name of the lab's network that is built in the same way.
var overlays = []overlay{
	{name: "vxlan", numbered: true, lets: "UDP port 4789", about: "containers of two machines reached by ssh, with a bridge and a VXLAN device on each, over the machines' own network; MTU 50 below its own"},
	{name: "macvlan", lets: "frames from and to further MAC addresses", about: "containers of two machines reached by ssh, with macvlan devices (bridge mode) of the machines' network cards"},
	{name: "routed", lets: "frames from and to further MAC addresses", about: "containers of two machines reached by ssh, behind bridges and plain routes between them; no encapsulation; what routes has a macvlan device of each network card"},
	{name: "published", lets: "frames from and to further MAC addresses", published: true, about: "ports of what stands for a machine reached by ssh, translated (DNAT) to containers behind a bridge there; the clients are processes of what stands for the other machine; each has a macvlan device of a machine's network card"},
	{name: "wireguard", numbered: true, port: 51820, about: "containers of two machines reached by ssh, with WireGuard between the machines by the kernel; MTU 80 below the machines'"},
	{name: "ipip", lets: "IP protocol 4", families: []int{4}, about: "containers of two machines reached by ssh, with IP-in-IP devices between the machines; IPv4 only; MTU 20 below the machines'"},
	{name: "gre", lets: "IP protocol 47", about: "containers of two machines reached by ssh, with GRE devices between the machines; MTU 24 below the machines'"},
	{name: "geneve", numbered: true, lets: "UDP port 6081", about: "containers of two machines reached by ssh, with Geneve devices between the machines; MTU 50 below the machines'"},
	{name: "ovs-vxlan", lets: "frames from and to further MAC addresses", daemons: true, about: "containers of two machines reached by ssh, on Open vSwitch in the kernel's datapath on each, joined by VXLAN tunnels; what stands for each machine has a macvlan device of its network card; MTU 50 below the machines'"},
	{name: "ovs-userspace-vxlan", lets: "frames from and to further MAC addresses", daemons: true, carried: true, about: "containers of two machines reached by ssh, on Open vSwitch in the user-space datapath on each, joined by VXLAN tunnels; what stands for each machine has a macvlan device of its network card, which is a port; MTU 50 below the machines'"},
}

type overlay struct {
	name, about string
	families    []int
	lets        string // what must get through between the machines
	port        int    // the first UDP port of such networks, each of which has its own; 0: see lets
	numbered    bool   // several can stand at once on two machines
	published   bool   // it publishes ports of the servers, and clients are not in containers
	daemons     bool   // its parts have daemons; see plumb.MethodFault
	carried     bool   // these carry the payload
}

func (o overlay) driver() network.Driver {
	info := network.Info{
		Name: o.name, Hosts: []int{2}, Between: true, Single: !o.numbered, Carried: o.carried, Families: o.families, Endpoints: maxContainers, About: o.about,
		Around: platform.Surroundings{Outlive: true},
	}
	if o.daemons {
		info.Startup = time.Second
	}
	return network.Driver{
		Info:  info,
		Probe: probe(o.name),
		Connect: func(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
			n, err := begin(ctx, o.name, topo, p)
			if err != nil {
				return nil, err
			}
			if err := o.build(ctx, n); err != nil {
				return nil, n.Abandon(ctx, err)
			}
			return n.standing(), nil
		},
	}
}

// maxContainers is how many containers an agent can make in the time that a request may take.
const maxContainers = 200

// place makes the containers of the topology, with the given number of clients.
func (n *build) place(ctx context.Context, clients int) (err error) {
	make := func(count int, on func(int) *plumb.Host) ([]*plumb.Node, error) {
		return n.Spread(count, on, func(h *plumb.Host, which []int) (nodes []*plumb.Node, err error) {
			if len(which) == 0 {
				return nil, nil
			}
			made, err := n.machines[h.Index].Make(ctx, len(which))
			for _, c := range made {
				node := &plumb.Node{
					Endpoint: c, Devices: devicesIn(*c), Host: h, Index: len(h.Nodes),
					Addr4: plumb.ContainerAddr(h.Index, len(h.Nodes), false), Addr6: plumb.ContainerAddr(h.Index, len(h.Nodes), true),
				}
				h.Nodes, nodes = append(h.Nodes, node), append(nodes, node)
				n.spaces[h.Index] = append(n.spaces[h.Index], c.Space)
			}
			return nodes, err
		})
	}
	if n.Servers, err = make(n.Topo.Servers, func(int) *plumb.Host { return n.Hosts[0] }); err == nil {
		if n.Clients, err = make(clients, n.ClientHost); err == nil {
			n.Neighbours, err = make(n.Topo.Neighbours, n.ClientHost)
		}
	}
	return err
}

// build has each machine's agent build its part.
func (o overlay) build(ctx context.Context, n *build) error {
	clients := n.Topo.Clients
	if o.published {
		clients = 0
	}
	if err := n.place(ctx, clients); err != nil {
		return err
	}
	var secret [32]byte
	rand.Read(secret[:])
	mtu := 0
	for _, h := range n.Hosts {
		if at := h.Uplink(); !at.Addr4.IsValid() {
			return &platform.Unsupported{
				Feature: o.name + " between the machines", Option: "IPv4 addresses by which they reach each other",
				Remedy: "give them such addresses, or name them with --address",
			}
		} else if mtu == 0 || at.MTU < mtu {
			mtu = at.MTU
		}
	}
	var uplinks []platform.Uplink
	for _, h := range n.Hosts {
		at := h.Uplink()
		at.MTU = mtu // what the narrower one can send
		uplinks = append(uplinks, at)
	}
	built, routers := make([]plumb.Built, len(n.Hosts)), make([]remote.Container, len(n.Hosts))
	if o.daemons {
		n.Push("daemons on the machines", func(ctx context.Context) error { return n.endDaemons(ctx, o.name, routers) })
	}
	err := atonce.All(ctx, -1, n.machines, func(within context.Context, i int, m *remote.Host) error {
		if !o.daemons { // daemons wait for those of the other machines, unless one of these has failed
			within = ctx
		}
		router, err := m.Space(within)
		if err != nil {
			return err
		}
		part := plumb.Part{Name: o.name, Uplinks: uplinks, Own: i, Router: router, Containers: n.spaces[i], Secret: secret[:], Place: n.Beside}
		if o.published {
			part.Topo = n.Topo
		}
		routers[i] = m.In(router)
		if err := o.buildPart(within, m, part, &built[i]); err != nil {
			return err
		}
		if lacks := built[i].Missing; lacks != nil {
			return lacks.Unsupported(m.Known())
		}
		if built[i].Taken {
			return &platform.Unsupported{
				Feature: o.name + " on " + m.Known(), Option: o.through(n) + ", which is in use there",
				Remedy: "on that machine: ss -ulpn shows by what, unless it is a device of the kernel",
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, h := range n.Hosts {
		if len(built[i].Ports) > 0 && len(built[i].Ports) != len(h.Nodes) {
			return fmt.Errorf("%s: %d of %d containers have a port", h.Name(), len(built[i].Ports), len(h.Nodes))
		}
		for _, node := range h.Nodes {
			node.Device = built[i].Device
		}
	}
	if o.published {
		n.publish(built, routers)
	}
	alive := n.Check
	n.Check = func(ctx context.Context) error {
		if err := alive(ctx); err != nil {
			return err
		}
		if o.daemons {
			if err := n.broken(ctx, o.name, routers); err != nil {
				return err
			}
		}
		return o.arrives(ctx, n, built, routers)
	}
	n.Hops = func(from, to *plumb.Node, f network.Family) []network.Hop {
		near := func(at, peer *plumb.Node) []network.Hop {
			k := at.Host.Index
			hops := []network.Hop{at.Hop()}
			if at.Index < len(built[k].Ports) {
				hops = append(hops, devicesIn(routers[k]).Hop(at.Host.Name(), built[k].Ports[at.Index]))
			}
			for _, c := range built[k].Counters {
				if c.Counts(at.Index, peer.Host.Index, f) {
					hops = append(hops, counted(c, n.machines[k]))
				}
			}
			for _, device := range built[k].Crossed[peer.Host.Index] {
				hops = append(hops, devicesIn(routers[k]).Hop(at.Host.Name(), device))
			}
			return hops
		}
		far := near(to, from)
		slices.Reverse(far)
		return slices.Concat(near(from, to), plumb.Common(plumb.HostHops)(from, to, f), far)
	}
	return nil
}

// daemonsTime bounds the building of a part with daemons: they wait for those of the other machines.
const daemonsTime = 2 * time.Minute

// buildPart has the agent of a machine build its part.
func (o overlay) buildPart(ctx context.Context, m *remote.Host, part plumb.Part, built *plumb.Built) error {
	if !o.daemons {
		return m.Call(ctx, plumb.MethodPart(o.name), part, built)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, emulated.Patience(daemonsTime), fmt.Errorf("it took more than %v", emulated.Patience(daemonsTime)))
	defer cancel()
	return wrap.Error(agentOf(m).Call(ctx, plumb.MethodPart(o.name), part, built), "%s", m.Name())
}

// agentOf returns the agent of a machine.
func agentOf(m *remote.Host) network.Agent {
	all := m.In("")
	return all.Agent()
}

// publish makes the namespaces that stand for the clients' machines the clients. They reach the servers at the address of
// the namespace that stands for the servers' machine.
func (n *build) publish(built []plumb.Built, routers []remote.Container) {
	for i := range n.Topo.Clients {
		h := n.ClientHost(i)
		at := built[h.Index].Outside
		n.Clients = append(n.Clients, &plumb.Node{
			Endpoint: &routers[h.Index], Devices: devicesIn(routers[h.Index]), Host: h, Index: len(h.Nodes) + i,
			Device: at.Device, Addr4: at.Addr4.Addr(), Addr6: at.Addr6.Addr(),
		})
	}
	n.Translated = true
	n.Reach = func(_, to *plumb.Node, f network.Family) netip.Addr {
		return built[to.Host.Index].Outside.Addr(f == network.IPv6).Addr()
	}
}

// counted returns what an agent counts as a hop.
func counted(c plumb.Counter, on *remote.Host) network.Hop {
	return network.Hop{
		Name: on.Name() + "/" + c.Name, Kind: c.Kind,
		Read: func(ctx context.Context) (sum network.Count, err error) {
			err = on.Call(ctx, c.Method, c.Params, &sum)
			return sum, err
		},
		Asked: &network.Asked{
			Agent: agentOf(on), Method: c.Method, Params: c.Params,
			Count: func(answer func(any) error) (sum network.Count, err error) {
				err = answer(&sum)
				return sum, err
			},
		},
	}
}

// endDaemons ends the daemons of all parts, so that they do not keep the namespaces.
func (n *build) endDaemons(ctx context.Context, name string, routers []remote.Container) error {
	return errors.Join(atonce.Each(-1, routers, func(i int, r remote.Container) error {
		m := n.machines[i]
		if r.Space == "" || m.Err() != nil {
			return nil
		}
		err := m.Call(ctx, plumb.MethodEnd(name), r.Space, nil)
		if m.Err() != nil { // they have ended with the agent
			return nil
		}
		return err
	})...)
}

// broken returns what is wrong with the parts.
func (n *build) broken(ctx context.Context, name string, routers []remote.Container) error {
	for i, m := range n.machines {
		var f plumb.Fault
		if err := m.Call(ctx, plumb.MethodFault(name), routers[i].Space, &f); err != nil {
			return err
		}
		switch {
		case f.Finding != "":
			return &network.WrongPath{Finding: f.Finding}
		case f.Broken != "":
			return errors.New(f.Broken)
		}
	}
	return nil
}

// arrives returns an error if nothing has come to a machine from those that it exchanges payload with. Something between the
// machines must then be dropping it.
func (o overlay) arrives(ctx context.Context, n *build, built []plumb.Built, routers []remote.Container) error {
	for i, h := range n.Hosts {
		of, names := devicesIn(routers[i]), []string(nil)
		for other, devices := range built[i].Crossed {
			if n.talk(i, other) { // nothing need cross the tunnel between two others, as one of IP-in-IP
				names = append(names, devices[len(devices)-1])
			}
		}
		if outside := built[i].Outside.Device; outside != "" {
			names = []string{outside}
		} else if len(built[i].Crossed) == 0 && len(h.Nodes) > 0 {
			of, names = h.Nodes[0].Devices, []string{built[i].Device}
		}
		all, err := of.List(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			if slices.Contains(names, d.Name) && d.In == 0 {
				return fmt.Errorf("nothing arrives on %s by %s: let %s through between the machines, as by their firewalls", h.Name(), d.Name, o.through(n))
			}
		}
	}
	return nil
}

// through returns what a network sends between the machines.
func (o overlay) through(n *build) string {
	if o.port > 0 {
		return fmt.Sprintf("UDP port %d", o.port+n.Beside)
	}
	return o.lets
}

// talk reports whether clients on one of two machines talk to servers on the other.
func (n *build) talk(a, b int) bool {
	return slices.ContainsFunc(n.Clients, func(c *plumb.Node) bool {
		return a == 0 && b == c.Host.Index || b == 0 && a == c.Host.Index
	})
}
