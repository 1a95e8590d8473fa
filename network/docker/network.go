package docker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nettoll/docker/engine"
	"nettoll/internal/await"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// build is one of Docker's networks under construction: a site whose hosts run engines.
type build struct {
	*plumb.Network
	engines   []*engine.Host    // the hosts, in order
	swarm     *engine.Swarm     // the swarm of the hosts' engines; nil outside of swarms
	concealed map[string]string // namespaces that engines hide, by their contents
	// apart says why nothing can be sent between several machines of the user's, on which the engines are; nil if it can.
	apart error
	// found becomes network.Network.Found.
	found func(crossed, unsure []network.Hop, f network.Family) network.Finding
	// balances reports whether nodes lead connections to servers, and return the answers.
	balances bool
}

func begin(topo network.Topology, hosts *engine.Hosts) *build {
	site := &plumb.Site{Topo: topo}
	n := &build{
		Network: &plumb.Network{Site: site}, engines: hosts.Docker, swarm: hosts.Swarm, apart: hosts.Apart, concealed: map[string]string{},
	}
	site.Push("engines' objects", hosts.Close)
	for i, h := range n.engines {
		site.Hosts = append(site.Hosts, &plumb.Host{Host: h, Devices: plumb.Devices{List: h.Interfaces}, Index: i})
	}
	n.Refuse = n.without6("this network")
	n.Check = func(ctx context.Context) error {
		return record.Try(n.engines, func(h *engine.Host) error { return h.Fault(ctx) })
	}
	return n
}

// standing returns the network in its public form.
func (n *build) standing() *network.Network {
	all := n.Standing()
	all.Distant = slices.ContainsFunc(n.engines, func(h *engine.Host) bool { return !h.Here() })
	all.Page.Concealed = n.concealed
	all.FirstPort, all.Found = n.Topo.FirstPort, n.found
	all.Relays = len(all.Daemons) > 0 // docker-proxy
	return all
}

// without6 refuses IPv6 to containers that have no IPv6 address.
func (n *build) without6(where string) func(_, to *plumb.Node, f network.Family, at netip.Addr) error {
	return func(_, to *plumb.Node, f network.Family, at netip.Addr) error {
		if !at.IsValid() || n.Translated && !to.Addr(f).IsValid() {
			return errNoIPv6(where)
		}
		return nil
	}
}

// inside returns the container of a node, or nil if the node is the host itself.
func inside(n *plumb.Node) *engine.Container {
	c, _ := n.Endpoint.(*engine.Container)
	return c
}

func (n *build) nodeOf(h *plumb.Host, c *engine.Container) *plumb.Node {
	devices := plumb.Devices{List: c.Interfaces}
	if !n.engines[h.Index].Here() {
		devices.Agent = c.Agent()
	}
	return &plumb.Node{Endpoint: c, Devices: devices, Host: h, Addr4: c.Addr(false), Addr6: c.Addr(true)}
}

// first returns the host of the servers.
func (n *build) first(int) *plumb.Host { return n.Hosts[0] }

// talking returns all servers and clients, without the neighbours.
func (n *build) talking() []*plumb.Node { return slices.Concat(n.Servers, n.Clients) }

// talks reports whether a server or a client is on a host.
func (n *build) talks(h *plumb.Host) bool {
	return slices.ContainsFunc(n.talking(), func(node *plumb.Node) bool { return node.Host == h })
}

// specs returns the specification of container i, which is on host h.
type specs func(h *engine.Host, i int) engine.Spec

// plain specifies containers of a network mode and nothing else.
func plain(mode string) specs {
	return func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: mode} }
}

// run makes the containers of the topology. Servers are started before clients, which may depend on
// them.
func (n *build) run(ctx context.Context, server, client specs) (err error) {
	if n.Servers, err = n.place(ctx, n.Topo.Servers, n.first, server); err != nil {
		return err
	}
	if n.Clients, err = n.place(ctx, n.Topo.Clients, n.ClientHost, client); err != nil {
		return err
	}
	return n.silent(ctx, func(h *engine.Host, i int) engine.Spec {
		s := client(h, n.Topo.Clients+i)
		s.Links = nil
		return s
	})
}

// silent makes the neighbours, which send no traffic.
func (n *build) silent(ctx context.Context, spec specs) error {
	_, err := n.place(ctx, n.Topo.Neighbours, n.ClientHost, spec)
	return err
}

func (n *build) place(ctx context.Context, count int, host func(int) *plumb.Host, spec specs) ([]*plumb.Node, error) {
	return n.Spread(count, host, func(h *plumb.Host, which []int) ([]*plumb.Node, error) {
		on := n.engines[h.Index]
		made, err := on.Run(ctx, record.Each(which, func(i int) engine.Spec { return spec(on, i) })...)
		return record.Each(made, func(c *engine.Container) *plumb.Node { return n.nodeOf(h, c) }), err
	})
}

// wire finds the veth pairs of containers on the first host, and checks that each is a port of the
// bridge.
func (n *build) wire(ctx context.Context, bridge string, nodes []*plumb.Node) error {
	h := n.engines[0]
	host, err := h.Interfaces(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(host, func(d nl.Interface) bool { return d.Name == bridge && d.Kind == "bridge" })
	if i < 0 {
		return elsewhere(ctx, h, fmt.Errorf("docker: %s has no bridge %s", h.Name(), bridge))
	}
	for _, node := range nodes {
		all, err := node.Devices.List(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			k := slices.IndexFunc(host, func(other nl.Interface) bool {
				return d.Kind == "veth" && other.Kind == "veth" && other.Index == d.Peer && other.Peer == d.Index && other.Master == host[i].Index
			})
			if k >= 0 && node.Port == "" {
				node.Device, node.Port, node.PortAs = d.Name, host[k].Name, "veth-"+node.Name()
				node.Link, node.Master = plumb.Pair, host[i].Index
			}
		}
		if node.Port == "" {
			return elsewhere(ctx, h, fmt.Errorf("docker: no veth pair leads from %s to the bridge %s", node.Name(), bridge))
		}
	}
	return nil
}

// elsewhere returns the error of a bridge that is not found, or has other containers: that of a rootless engine can be in a
// network namespace of its own, beside one of the same name that another engine has made.
func elsewhere(ctx context.Context, h *engine.Host, err error) error {
	if !h.Rootless(ctx) {
		return err
	}
	remedy := "start it with DOCKERD_ROOTLESS_ROOTLESSKIT_DETACH_NETNS=false, or use --private-engine as root"
	if v, _ := h.Engine.Podman(ctx); v != "" {
		remedy = "use that of root (podman system service as root)"
	}
	return &platform.Unsupported{
		Feature: "bridges of this rootless engine", Option: "one whose bridges are where its containers with --network host are",
		Remedy: remedy, Err: err,
	}
}

// lookedUp has each client look up its server by a name, which must lead to the address at. From
// then on clients use the address that they found.
func (n *build) lookedUp(ctx context.Context, name func(server int) string, at func(server int) netip.Addr) error {
	found := map[*plumb.Node]netip.Addr{}
	for i, c := range n.Clients {
		k := n.Topo.Pair(i)
		a, err := lookUp(ctx, inside(c), name(k))
		if err != nil {
			return err
		}
		if want := at(k); a != want {
			return &network.WrongPath{Finding: fmt.Sprintf("the name %s leads %s to %s, but %s is at %s",
				name(k), c.Name(), a, n.Servers[k].Name(), want)}
		}
		found[c] = a
	}
	n.Reach = func(from, to *plumb.Node, f network.Family) netip.Addr {
		if a, ok := found[from]; ok && f == network.IPv4 {
			return a
		}
		return to.Addr(f)
	}
	return nil
}

// lookUp resolves a name. Nodes of a swarm may learn it only after a while.
func lookUp(ctx context.Context, from *engine.Container, name string) (at netip.Addr, err error) {
	err = await.Until(ctx, meetTime, 100*time.Millisecond, func(ctx context.Context) (missing, _ error) {
		at, missing = from.Resolve(ctx, name)
		return missing, nil
	})
	return at, err
}
