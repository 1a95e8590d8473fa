// Package kubernetes measures the networks of pods and services in a Kubernetes cluster, and, for
// comparison, pods that have the network of their nodes.
package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/internal/felix"
	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// variant is one of the networks of a cluster.
type variant struct {
	network.Info
	pod     kube.PodSpec // what its pods need that ordinary ones do not
	names   bool         // its services are headless
	connect func(context.Context, *build) error
}

// All returns every variant, in the order of reports.
func All() (all []network.Driver) {
	for _, v := range []variant{
		{connect: native, pod: kube.PodSpec{HostNetwork: true}, Info: network.Info{
			Name: "native", Hosts: []int{1, 2},
			About: "pods with the network of their nodes (hostNetwork); the native of every network of Kubernetes",
		}},
		{connect: container, Info: network.Info{
			Name: "container", Like: "sharedns", Hosts: []int{1},
			About: "containers of one pod, which talk over its lo",
		}},
		{connect: pods, Info: network.Info{
			Name: "pod", Hosts: []int{1, 2}, Has: []string{record.Policies},
			About: "pods at their own addresses: CNI's bridge plugin on each node and plain routes between nodes, or flannel, or Calico (--cni)",
		}},
		{connect: exposed(pods, kube.ClusterIP, (*kube.Cluster).ServiceAt), Info: network.Info{
			Name: "service", Hosts: []int{1, 2}, Has: []string{record.Services, record.Policies},
			About: "the pods of kubernetes:pod, each server at the address of its service (ClusterIP), which kube-proxy's iptables rules translate on the client's node",
		}},
		{connect: headless, names: true, Info: network.Info{
			Name: "headless", Hosts: []int{1, 2}, Has: []string{record.Services, record.Policies},
			About: "the pods of kubernetes:pod, each server at the address that its headless service (clusterIP: None) names: this differs from kubernetes:pod only in the lookup of that address, which is not measured",
		}},
		{connect: exposed(hairpin, kube.ClusterIP, (*kube.Cluster).ServiceAt), Info: network.Info{
			Name: "service-hairpin", Hosts: []int{1}, Has: []string{record.Services},
			About: "containers of the server's own pod, which dial its service: the payload leaves the pod, is translated by kube-proxy's iptables rules, and returns to it",
		}},
		{connect: nodePort, Info: network.Info{
			Name: "nodeport", Hosts: []int{1, 2}, Has: []string{record.Services, record.Policies},
			About: "the pods of kubernetes:pod, each server at a port of its node by a service (NodePort), which kube-proxy's iptables rules translate there, and where answers return to",
		}},
		{connect: exposed(pods, kube.LoadBalancer, (*kube.Cluster).BalancerAt), Info: network.Info{
			Name: "loadbalancer", Hosts: []int{1, 2}, Has: []string{record.Services, record.Policies},
			About: "the pods of kubernetes:pod, each server at the address of the load balancer of its service (LoadBalancer): kube-proxy's iptables rules translate it on the client's node, where answers return to, so that pods reach no load balancer",
		}},
		{connect: hostPort, pod: kube.PodSpec{HostPorts: kube.Ports{First: firstTried, Last: firstTried}}, Info: network.Info{
			Name: "hostport", Hosts: []int{1, 2}, Has: []string{record.Policies},
			About: "the pods of kubernetes:pod, each server at a port of its node that belongs to its pod (hostPort), which the iptables rules of CNI's portmap plugin translate there",
		}},
	} {
		v.Endpoints, v.Has = maxPods, append(v.Has, record.Pods)
		all = append(all, network.Driver{Info: v.Info, Probe: v.probe, Connect: v.build, HostsOn: hostsOn})
	}
	return all
}

// firstTried is the port with which probe tries whether pods may have ports of their nodes.
const firstTried = 20001

// maxPods is kubelet's default of 110 pods on a node, less some for others.
const maxPods = 100

func (v variant) probe(ctx context.Context, p platform.Platform) error {
	c, err := provider(p)
	if err != nil {
		return err
	}
	return c.Allows(ctx, kube.Needs{Pod: v.pod, Services: slices.Contains(v.Has, record.Services), Headless: v.names})
}

func provider(p platform.Platform) (kube.Provider, error) {
	return platform.As[kube.Provider](p, "a network of Kubernetes", "kubernetes", "NETWORK")
}

// hostsOn returns hosts. As long as these are kept, Connect builds on them.
func hostsOn(ctx context.Context, p platform.Platform, req platform.HostRequest) (platform.Hosts, error) {
	c, err := provider(p)
	if err != nil {
		return nil, err
	}
	return c.Clusters(ctx, req)
}

// build is one of the networks under construction: a site whose hosts are the nodes of a cluster.
type build struct {
	*plumb.Network
	cluster    *kube.Cluster
	pods       []*kube.Pod
	containers map[*plumb.Node]*kube.Container
	translated plumb.Translations
	rules      *felix.Rules // of the pods; nil: they have none
	beyond     int          // the port of the further services' endpoint, the first server
	timed      bool         // the service of the last server was made when all others were in force
	observed   *observed    // what agents on nodes of the user's see; nil: there are none
	daemons    []network.NodeDaemons
}

func (v variant) build(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
	c, err := provider(p)
	if err != nil {
		return nil, err
	}
	req := topo.HostRequest()
	req.CNI = topo.CNI
	hosts, err := c.Clusters(ctx, req)
	if err != nil {
		return nil, err
	}
	site := &plumb.Site{Topo: topo}
	n := &build{Network: &plumb.Network{Site: site}, cluster: hosts.Cluster, containers: map[*plumb.Node]*kube.Container{}}
	site.Push("pods and services", hosts.Close)
	for i, node := range n.cluster.Nodes {
		site.Hosts = append(site.Hosts, &plumb.Host{Host: node, NS: node.Facts().NetNS, Index: i})
	}
	n.Check = func(ctx context.Context) error {
		if err := n.cluster.Fault(ctx); err != nil { // with its API server, or its keeper, all pods end
			return err
		}
		return record.Try(n.pods, func(p *kube.Pod) error { return p.Fault(ctx) })
	}
	n.MadeUp = n.madeUp
	if !n.borrowed() {
		err = n.Fits(v.Name, v.Families, plumb.Less(n.cluster.Overhead()))
	}
	if err == nil {
		err = n.apart()
	}
	policed := topo.Policies > 0 && slices.Contains(v.Has, record.Policies)
	if err == nil && policed {
		err = n.cluster.Unpoliced(v.Name)
	}
	if err == nil {
		err = v.connect(ctx, n)
	}
	if err == nil && policed {
		err = n.police(ctx, v.Name)
	}
	if err == nil {
		err = n.countDaemons(ctx)
	}
	if err == nil && n.cluster.Privileged() {
		err = n.notePrograms(ctx, v.Name)
	}
	if err != nil {
		return nil, n.Abandon(ctx, err)
	}
	return n.standing(), nil
}

// run makes the pods of the topology, one for each container.
func (n *build) run(ctx context.Context, server, client func(i int, s *kube.PodSpec)) error {
	var specs []kube.PodSpec
	add := func(count int, on func(int) *plumb.Host, change func(int, *kube.PodSpec)) {
		for i := range count {
			s := kube.PodSpec{Node: n.cluster.Nodes[on(i).Index], CPUs: n.cluster.PodCPUs()}
			if change != nil {
				change(i, &s)
			}
			specs = append(specs, s)
		}
	}
	add(n.Topo.Servers, func(int) *plumb.Host { return n.Hosts[0] }, server)
	add(n.Topo.Clients+n.Topo.Neighbours, func(i int) *plumb.Host {
		if i >= n.Topo.Clients {
			i -= n.Topo.Clients
		}
		return n.ClientHost(i)
	}, client)
	for i := n.Topo.Servers + n.Topo.Clients; i < len(specs); i++ {
		specs[i].CPUs = 0 // neighbours do not talk
	}
	var err error
	if n.pods, err = n.cluster.Run(ctx, specs...); err != nil {
		return err
	}
	var nodes []*plumb.Node
	for i, p := range n.pods {
		nodes = append(nodes, n.node(specs[i].Node, p, p.Containers[0]))
	}
	n.place(nodes)
	return nil
}

// place divides nodes into servers, clients and neighbours.
func (n *build) place(nodes []*plumb.Node) {
	servers, clients := n.Topo.Servers, n.Topo.Servers+n.Topo.Clients
	n.Servers, n.Clients, n.Neighbours = nodes[:servers], nodes[servers:clients], nodes[clients:]
}

func (n *build) node(on *kube.Node, p *kube.Pod, c *kube.Container) *plumb.Node {
	node := &plumb.Node{
		Endpoint: c, NS: c.Facts().NetNS, Devices: plumb.Devices{List: c.Interfaces, Agent: c.Agent()}, Host: n.Hosts[on.Index],
		Device: "eth0", Addr4: p.Addr(false), Addr6: p.Addr(true),
	}
	n.containers[node] = c
	return node
}

// native gives pods the network of their nodes.
func native(ctx context.Context, n *build) error {
	onHost := func(_ int, s *kube.PodSpec) { s.HostNetwork = true }
	if err := n.run(ctx, onHost, onHost); err != nil {
		return err
	}
	defer n.onNodesOfOthers()
	if n.borrowed() {
		return n.onNodes(ctx)
	}
	for _, node := range slices.Concat(n.Servers, n.Clients, n.Neighbours) {
		node.Addr4, node.Addr6 = node.Host.OnUnderlay(false), node.Host.OnUnderlay(true)
		node.Device = node.Host.Uplink().Device
	}
	n.Hops = plumb.HostHops
	return nil
}

// container puts all containers into one pod.
func container(ctx context.Context, n *build) error {
	on := n.cluster.Nodes[0]
	var err error
	n.pods, err = n.cluster.Run(ctx, kube.PodSpec{Node: on, Containers: n.Topo.Servers + n.Topo.Clients + n.Topo.Neighbours, CPUs: n.cluster.PodCPUs()})
	if err != nil {
		return err
	}
	n.place(record.Each(n.pods[0].Containers, func(c *kube.Container) *plumb.Node { return n.node(on, n.pods[0], c) }))
	n.Reach, n.Hops = plumb.OverLoopback, plumb.LoopbackHops
	if n.borrowed() {
		n.Notes = append(n.Notes, n.where()+": lo of the pod has counted the payload")
		return nil
	}
	return n.findPorts(n.Servers...)
}

// pods gives each container a pod of its own.
func pods(ctx context.Context, n *build) error {
	if err := n.run(ctx, nil, nil); err != nil {
		return err
	}
	return n.wire(ctx)
}

// wire finds the veth pairs of the pods, whose names the plugin made up, and checks that each is a port of the
// bridge, or of none where packets are routed.
func (n *build) wire(ctx context.Context) error {
	if n.borrowed() {
		return n.betweenPods(ctx)
	}
	if err := n.findPorts(slices.Concat(n.Servers, n.Clients)...); err != nil {
		return err
	}
	if n.rules = n.cluster.Rules(n.Site); n.rules != nil {
		n.Hops = n.rules.Path(nil, "")
	} else {
		n.Hops = plumb.Across(func(at *plumb.Node, peer *plumb.Host, f network.Family) []network.Hop {
			hops := n.routed(at, peer, f)
			if tunnel, _ := n.cluster.Tunnel(f == network.IPv6); tunnel != "" && len(hops) > 0 {
				hops = append(hops, at.Host.Hop(tunnel, n.cluster.TunnelKind()))
			}
			return hops
		})
	}
	n.OnWire = func(f network.Family) string {
		_, wire := n.cluster.Tunnel(f == network.IPv6)
		return cmp.Or(wire, plumb.Bare(f))
	}
	return n.narrow()
}

// routed returns the hops on a host between a pod and other nodes, without a tunnel.
func (n *build) routed(at *plumb.Node, peer *plumb.Host, _ network.Family) []network.Hop {
	if at.Host == peer {
		return nil
	}
	return []network.Hop{at.Host.Hop(n.cluster.Bridge(), "bridge")}
}

// narrow notes tunnels that carry less than pods send.
func (n *build) narrow() error {
	for _, six := range []bool{false, true} {
		tunnel, _ := n.cluster.Tunnel(six)
		if tunnel == "" || len(n.Hosts) == 1 {
			continue
		}
		for _, h := range n.Hosts {
			if err := n.Narrow("the network of pods, "+n.cluster.CNI()+",", h, tunnel, six, n.cluster.Nodes[h.Index].PodMTU()); err != nil {
				return err
			}
		}
	}
	return nil
}

// findPorts finds the ports of pods on their nodes.
func (n *build) findPorts(nodes ...*plumb.Node) error {
	for _, node := range nodes {
		port, err := plumb.PortOf(node, n.cluster.Bridge())
		if err != nil {
			return err
		}
		node.Port, node.PortAs, node.Link = port, "veth-"+node.Name(), plumb.Pair
	}
	return nil
}

// madeUp returns the names of ports, and the addresses of pods, each followed by what it belongs to.
func (n *build) madeUp() (names []string) {
	nodes := slices.Concat(n.Servers, n.Clients)
	for _, node := range nodes {
		if node.Port != "" {
			names = append(names, node.Port, node.PortAs)
		}
	}
	for _, node := range nodes {
		if node.Addr4 == node.Host.OnUnderlay(false) {
			continue
		}
		for _, f := range []network.Family{network.IPv4, network.IPv6} {
			names = append(names, node.Addr(f).String(), fmt.Sprintf("IPv%d-%s", f, node.Name()))
		}
	}
	return names
}

// portsOf returns the ports of a server.
func (n *build) portsOf(server int) (p kube.Ports) {
	p.First, p.Last = n.Topo.Ports(server)
	return p
}

// exposed returns what has clients dial the addresses of services. place makes the pods, and at returns the address of
// service i.
func exposed(place func(context.Context, *build) error, as kube.ServiceType, at func(c *kube.Cluster, i int, six bool) netip.Addr) func(context.Context, *build) error {
	return func(ctx context.Context, n *build) error {
		if err := n.expose(ctx, place, as); err != nil {
			return err
		}
		return n.translate(ctx, func(_, to *plumb.Node, f network.Family) netip.Addr {
			return at(n.cluster, slices.Index(n.Servers, to), f == network.IPv6)
		}, func(from, _ *plumb.Node) *plumb.Host { return from.Host })
	}
}

// expose makes the pods, and a service for each server. The further services are made before those of the servers: nodes
// learn of services in the order in which they were made, so that they have the rules of all once they have those of the
// last.
func (n *build) expose(ctx context.Context, place func(context.Context, *build) error, as kube.ServiceType) error {
	if err := place(ctx, n); err != nil {
		return err
	}
	n.beyond, _ = n.Topo.Ports(0)
	if err := n.cluster.AddFurther(ctx, len(n.Servers), n.Topo.Services, n.pods[0], n.beyond); err != nil {
		return err
	}
	if n.borrowed() && as == kube.NodePort {
		return n.atFreePorts(ctx)
	}
	return n.exposeAll(ctx, as)
}

// exposeAll makes a service for each server. Where there are further services, the last is made when all others are in force.
func (n *build) exposeAll(ctx context.Context, as kube.ServiceType) error {
	for i := range n.Servers {
		if i == len(n.Servers)-1 && n.Topo.Services > 0 {
			if err := n.rested(ctx); err != nil {
				return err
			}
			n.timed = true
		}
		if err := n.cluster.Expose(ctx, i, n.pods[i], n.portsOf(i), as); err != nil {
			return err
		}
	}
	return nil
}

// headless has clients dial the addresses that the servers' services name: nothing is translated. How long that takes after a
// service was made is not measured: the pods answer at these addresses before.
func headless(ctx context.Context, n *build) error {
	if err := n.expose(ctx, pods, kube.Headless); err != nil {
		return err
	}
	n.ServersAt(func(_, to *plumb.Node, f network.Family) netip.Addr {
		return n.cluster.EndpointAt(slices.Index(n.Servers, to), f == network.IPv6)
	})
	return nil
}

// hairpin puts clients into the pods of their servers, whose services they dial. kube-proxy gives such packets the address
// of the node's bridge as their source, so that answers return the same way. With br_netfilter they are translated on the
// bridge, which sends them back through the port that they came from.
func hairpin(ctx context.Context, n *build) error {
	on := n.cluster.Nodes[0]
	var specs []kube.PodSpec
	for range n.Topo.Servers {
		specs = append(specs, kube.PodSpec{Node: on, Containers: 1, CPUs: n.cluster.PodCPUs()})
	}
	for i := range n.Topo.Clients {
		specs[n.Topo.Pair(i)].Containers++
	}
	for range n.Topo.Neighbours {
		specs = append(specs, kube.PodSpec{Node: on})
	}
	var err error
	if n.pods, err = n.cluster.Run(ctx, specs...); err != nil {
		return err
	}
	first := func(p *kube.Pod) *plumb.Node { return n.node(on, p, p.Containers[0]) }
	n.Servers = record.Each(n.pods[:n.Topo.Servers], first)
	n.Neighbours = record.Each(n.pods[n.Topo.Servers:], first)
	for i := range n.Topo.Clients {
		p := n.pods[n.Topo.Pair(i)]
		n.Clients = append(n.Clients, n.node(on, p, p.Containers[1+i/n.Topo.Servers]))
	}
	return n.wire(ctx)
}

// nodePort has clients dial the node of a server.
func nodePort(ctx context.Context, n *build) error {
	if err := n.expose(ctx, pods, kube.NodePort); err != nil {
		return err
	}
	return n.atNode(ctx)
}

// hostPort has clients dial ports of the server's node that lead to its pod.
func hostPort(ctx context.Context, n *build) error {
	if n.borrowed() {
		n.atOwnPorts()
	}
	if err := n.run(ctx, func(i int, s *kube.PodSpec) { s.HostPorts = n.portsOf(i) }, nil); err != nil {
		return err
	}
	if err := n.wire(ctx); err != nil {
		return err
	}
	if err := n.atNode(ctx); err != nil {
		return err
	}
	if n.borrowed() {
		return n.answered(ctx)
	}
	return nil
}

func (n *build) atNode(ctx context.Context) error {
	if n.observed != nil { // tunnels lead to pods, and need not lead to nodes
		n.observed.expect, n.observed.claims = "", nil
	}
	if tunnel, _ := n.cluster.Tunnel(false); !n.borrowed() && n.rules == nil && tunnel != "" {
		// Nodes translate what pods send to others than pods, so that the answers go to the node, too.
		toPods, toNodes := n.Hops, plumb.Across(n.routed)
		n.Hops = func(from, to *plumb.Node, f network.Family) []network.Hop {
			if slices.Contains(n.Servers, to) {
				return toNodes(from, to, f)
			}
			return toPods(from, to, f)
		}
		n.OnWire = func(f network.Family) string {
			first, size := n.Topo.AllPorts()
			return fmt.Sprintf("%s and portrange %d-%d", map[network.Family]string{network.IPv4: "ip", network.IPv6: "ip6"}[f], first, first+size-1)
		}
	}
	return n.translate(ctx, func(_, to *plumb.Node, f network.Family) netip.Addr {
		return n.addrOf(to, f)
	}, func(_, to *plumb.Node) *plumb.Host { return to.Host })
}

// translate has clients dial the addresses that reach returns, and proves that these are translated to those of the
// servers, on the host that at returns.
func (n *build) translate(ctx context.Context, reach func(from, to *plumb.Node, f network.Family) netip.Addr, at func(from, to *plumb.Node) *plumb.Host) (err error) {
	if err := n.timeService(ctx, reach); err != nil {
		return err
	}
	if n.borrowed() {
		n.atAddress(reach)
		return nil
	}
	for _, s := range n.Servers {
		if !s.Addr4.IsValid() || !s.Addr6.IsValid() {
			return fmt.Errorf("the pod %s has no addresses of both IP versions", s.Name())
		}
	}
	if err := n.cluster.InForce(ctx); err != nil {
		return err
	}
	if n.translated, err = n.CountTranslations(n.table(), false); err != nil {
		return err
	}
	n.Translated = true
	n.ServersAt(reach)
	plain := n.Hops
	n.Hops = func(from, to *plumb.Node, f network.Family) []network.Hop {
		hops := plain(from, to, f)
		if !slices.Contains(n.Servers, to) {
			return hops
		}
		on := at(from, to)
		place := len(hops) - 2 // before the port and the device of the server's pod
		switch {
		case n.rules != nil && on == from.Host:
			place = 2 // after the device and the port of the client's pod
		case n.rules != nil:
			place-- // before felix's rules
		case on != to.Host:
			place = 3 // after the device and the port of the client's pod, and the bridge
		}
		return slices.Insert(hops, place, n.translated.Hop(on, to, f))
	}
	return nil
}
