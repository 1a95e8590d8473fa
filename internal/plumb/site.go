// Package plumb holds the building blocks of networks: containers in their places, addresses,
// bridges with ports, Docker's firewall rules, and the hops that prove a path. It works on every
// platform whose endpoints show their network namespace.
package plumb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"

	"nettoll/internal/nl"
	"nettoll/internal/undo"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Site is a network under construction: hosts, and the containers on them.
type Site struct {
	undo.Stack
	Topo       network.Topology
	Hosts      []*Host
	Servers    []*Node  // on the first host
	Clients    []*Node  // on the other hosts, in turn; on the only host if there is one
	Neighbours []*Node  // on the same hosts as the clients; they do not talk
	Notes      []string // remarks on how it was built
	Unproved   []string // see network.Network

	transient bool // things made on the hosts disappear with them
	spare     int  // number of addresses of the spare block in use
	without6  bool // containers on bridges have no IPv6: the MTU is too small for it
	loud      []loud

	Secret []byte // of a Part
	// Beside is the Place of a Part: tunnels of one kind that stand on one machine at once need different numbers or ports.
	Beside int
}

// Made pushes the removal of something that was made on a host or in a container. If the hosts were
// made for this network, everything on them disappears with them at once, and nothing is removed
// one by one. Use Push for things that would outlive the hosts.
func (s *Site) Made(what string, remove func(context.Context) error) {
	if !s.transient {
		s.Push(what, remove)
	}
}

// MadeIn pushes the removal of something from the namespace at path. Nothing is removed if that namespace has ended, as those
// of containers do that are killed: the path of a process may then lead nowhere, or to the namespace of another process.
func (s *Site) MadeIn(path, what string, remove func(*nl.NS) error) {
	made, err := os.Stat(path)
	s.Made(what, func(context.Context) error {
		is, gone := os.Stat(path)
		if err == nil && (errors.Is(gone, fs.ErrNotExist) || gone == nil && !os.SameFile(made, is)) {
			return nil
		}
		return nl.With(path, remove)
	})
}

// MadeDevice pushes the removal of a device from the namespace at path.
func (s *Site) MadeDevice(path, device string) {
	s.MadeIn(path, "device "+device, func(n *nl.NS) error { return n.Remove(device) })
}

// Nodes returns all containers of the site, host by host.
func (s *Site) Nodes() []*Node {
	return slices.Concat(record.Each(s.Hosts, func(h *Host) []*Node { return h.Nodes })...)
}

// Others returns the hosts of the site except h.
func (s *Site) Others(h *Host) []*Host {
	return record.Those(s.Hosts, func(other *Host) bool { return other != h })
}

// BeginWith returns a Begin that makes fewer containers than the topology has servers and clients,
// for networks that make their other endpoints themselves.
func BeginWith(fewer func(*network.Topology)) func(context.Context, network.Topology, platform.Platform) (*Site, error) {
	return func(ctx context.Context, topo network.Topology, p platform.Platform) (*Site, error) {
		asked := topo
		fewer(&asked)
		s, err := Begin(ctx, asked, p)
		if err == nil {
			s.Topo = topo
		}
		return s, err
	}
}

// Begin gets hosts from the platform and puts the topology's containers on them.
func Begin(ctx context.Context, topo network.Topology, p platform.Platform) (*Site, error) {
	s, err := BeginHosts(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	if s.Servers, err = s.Place(ctx, s.Hosts[0], topo.Servers); err == nil {
		if s.Clients, err = s.spread(ctx, topo.Clients); err == nil {
			s.Neighbours, err = s.spread(ctx, topo.Neighbours)
		}
	}
	if err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return s, nil
}

// BeginHosts gets hosts from the platform, without containers.
func BeginHosts(ctx context.Context, topo network.Topology, p platform.Platform) (*Site, error) {
	hosts, err := p.Hosts(ctx, topo.HostRequest())
	if err != nil {
		return nil, err
	}
	s := &Site{Topo: topo, transient: hosts.Transient()}
	s.Push("hosts", hosts.Close)
	for i, h := range hosts.All() {
		ns, err := namespace(h)
		if err != nil {
			return nil, s.Abandon(ctx, err)
		}
		host := &Host{Host: h, NS: ns, Index: i}
		if err := s.keepParameters(host); err != nil {
			return nil, s.Abandon(ctx, err)
		}
		s.Hosts = append(s.Hosts, host)
	}
	return s, nil
}

// Place makes n containers on a host.
func (s *Site) Place(ctx context.Context, h *Host, n int) ([]*Node, error) {
	endpoints, err := h.Containers(ctx, n)
	if err != nil {
		return nil, err
	}
	return record.Tried(endpoints, func(e platform.Endpoint) (*Node, error) { return s.Adopt(h, e) })
}

// ClientHost returns the host of client i: the hosts after the first in turn, or the servers' host
// if there is only one.
func (s *Site) ClientHost(i int) *Host {
	if len(s.Hosts) == 1 {
		return s.Hosts[0]
	}
	return s.Hosts[1+i%(len(s.Hosts)-1)]
}

// spread makes n containers on the clients' hosts.
func (s *Site) spread(ctx context.Context, n int) ([]*Node, error) {
	return s.Spread(n, s.ClientHost, func(h *Host, which []int) ([]*Node, error) { return s.Place(ctx, h, len(which)) })
}

// Spread makes n containers on the hosts that on chooses. It calls place once per host, with the
// numbers of that host's containers.
func (s *Site) Spread(n int, on func(int) *Host, place func(h *Host, which []int) ([]*Node, error)) ([]*Node, error) {
	nodes := make([]*Node, n)
	for _, h := range s.Hosts {
		var which []int
		for i := range n {
			if on(i) == h {
				which = append(which, i)
			}
		}
		made, err := place(h, which)
		if err != nil {
			return nil, err
		}
		for k, node := range made {
			nodes[which[k]] = node
		}
	}
	return nodes, nil
}

// Adopt makes an endpoint of a host a node of the site.
func (s *Site) Adopt(h *Host, e platform.Endpoint) (*Node, error) {
	ns, err := namespace(e)
	if err != nil {
		return nil, err
	}
	n := &Node{Endpoint: e, NS: ns, Host: h, Index: len(h.Nodes), Device: "eth0", block: h.Index}
	k := n.Index
	if k >= MaxContainers {
		n.block, k = spareBlock, s.spare
		if s.spare++; s.spare > MaxContainers {
			return nil, fmt.Errorf("%s: there are no addresses for this many containers", n.Name())
		}
	}
	n.Addr4, n.Addr6 = ContainerAddr(n.block, k, false), ContainerAddr(n.block, k, true)
	h.Nodes = append(h.Nodes, n)
	return n, nil
}

// OnHosts makes the hosts themselves the topology's servers and clients.
func (s *Site) OnHosts() {
	for range s.Topo.Servers {
		s.Servers = append(s.Servers, s.OnHost(s.Hosts[0]))
	}
	s.ClientsOnHosts()
}

// ClientsOnHosts makes the hosts themselves the topology's clients.
func (s *Site) ClientsOnHosts() {
	for i := range s.Topo.Clients {
		s.Clients = append(s.Clients, s.OnHost(s.ClientHost(i)))
	}
}

// OnHost makes a node of the host itself, at its underlay address. On a single machine of the user's, the node is
// reached only from the same machine, over lo.
func (s *Site) OnHost(h *Host) *Node {
	n := &Node{
		Endpoint: h.Host, NS: h.NS, Devices: h.Devices, Host: h, Device: h.Uplink().Device,
		Addr4: h.OnUnderlay(false), Addr6: h.OnUnderlay(true),
	}
	if h.Facts().Borrowed && len(s.Hosts) == 1 {
		n.Addr4, n.Addr6 = OverLoopback(n, n, network.IPv4), OverLoopback(n, n, network.IPv6)
	}
	return n
}

// Host is a host of the site.
type Host struct {
	platform.Host
	NS      string  // its network namespace; empty: it is not known
	Devices Devices // if NS is empty
	// Apart says that its uplink is not in NS, but in this process's own namespace; see AddOver.
	Apart  bool
	Index  int
	Nodes  []*Node // containers on it
	Tunnel string  // the device of wireguard-go on it, if there is one
}

// Unaddressed refuses an IP version of which machines of the user's have no addresses by which they reach each other: see
// Network.Refuse.
func Unaddressed(_, _ *Node, f network.Family, at netip.Addr) error {
	if at.IsValid() {
		return nil
	}
	return &platform.Unsupported{
		Feature: fmt.Sprintf("IPv%d between the machines", f), Option: "addresses by which they reach each other",
		Remedy: "give them such addresses, or name them with --address",
	}
}

// OnUnderlay returns the host's address on the underlay.
func (h *Host) OnUnderlay(six bool) netip.Addr { return h.Uplink().Addr(six).Addr() }

// Node is an endpoint of the site.
type Node struct {
	platform.Endpoint
	NS      string  // its network namespace; empty: it is not known
	Devices Devices // if NS is empty
	Host    *Host
	Index   int    // among the containers of its host, from 0
	block   int    // block of the address plan that its addresses are from: usually its host's
	Device  string // inside the node; carries the payload
	Addr4   netip.Addr
	Addr6   netip.Addr
	Port    string // the other end of Device, on the host, if there is one
	PortAs  string // the name of Port in records, if it is different
	Link    string // the kind of Device, as the kernel names it; "" is not known
	MTU     int    // of both ends, in bytes; 0: the kernel's own, or not known
	Master  int    // index of the bridge that Port belongs to; 0: of none, or not known
}

// Addr returns the node's address of a family.
func (n *Node) Addr(f network.Family) netip.Addr { return n.addr(f == network.IPv6) }

func (n *Node) addr(six bool) netip.Addr {
	if six {
		return n.Addr6
	}
	return n.Addr4
}

// Attachment is how containers are attached.
type Attachment struct {
	Device  string // inside the container; empty means eth0
	Flat    bool   // the segment spans all hosts; otherwise it is the host's own subnet
	Gateway bool   // default route through the bridge's address
	Kept    int    // ports of the bridge that are reserved for other uses

	without6 bool // no IPv6
}

// families returns, for each IP version that containers have, whether it is IPv6.
func (p Attachment) families() []bool {
	if p.without6 {
		return []bool{false}
	}
	return []bool{false, true}
}

// Configure gives the node's device its addresses, and waits until they can be reached.
func (n *Node) Configure(ctx context.Context, plug Attachment) error {
	return configure(ctx, []*Node{n}, plug)
}

// inHand is how many nodes are configured before the first of them is asked whether it has its addresses, which takes
// the kernel a moment.
const inHand = 128

// configure does as Configure does for all nodes.
func configure(ctx context.Context, nodes []*Node, plug Attachment) error {
	for some := range slices.Chunk(nodes, inHand) {
		if err := configureSome(ctx, some, plug); err != nil {
			return err
		}
	}
	return nil
}

func configureSome(ctx context.Context, nodes []*Node, plug Attachment) error {
	var visits []*nl.Visit
	defer func() {
		for _, v := range visits {
			v.Close()
		}
	}()
	for _, n := range nodes {
		v, err := n.changes(plug).Visit(ctx, n.NS)
		if err != nil {
			return fmt.Errorf("configure %s: %w", n.Name(), err)
		}
		visits = append(visits, v)
	}
	for i, n := range nodes {
		own := []netip.Addr{n.Addr4, n.Addr6}[:len(plug.families())]
		if err := visits[i].Own(ctx, own...); err != nil {
			return fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	return nil
}

// changes returns what gives the node's device its addresses. It brings the device up first: the kernel
// silently drops an IPv6 address if a device comes up with it at a moment when memory for its route
// is not available immediately.
func (n *Node) changes(plug Attachment) *nl.Batch {
	var b nl.Batch
	b.SetUp(n.Device)
	for _, six := range plug.families() {
		bits := Subnet(n.block, six).Bits()
		if plug.Flat {
			bits = Segment(six).Bits()
		}
		b.AddAddr(n.Device, netip.PrefixFrom(n.addr(six), bits))
		if plug.Gateway {
			b.AddGateway(Gateway(n.block, six))
		}
	}
	return &b
}

// CompleteChecksums makes the kernels of the host's containers compute the checksums that they
// otherwise leave to devices, for programs that receive their frames; see nl.CompleteChecksums.
func (h *Host) CompleteChecksums() error {
	return record.Try(h.Nodes, func(n *Node) error {
		return wrap.Error(nl.CompleteChecksums(n.NS, n.Device), "%s", n.Name())
	})
}

func namespace(e platform.Endpoint) (string, error) {
	if ns := e.Facts().NetNS; ns != "" {
		return ns, nil
	}
	return "", &platform.Unsupported{
		Feature: "setting up the network of " + e.Name(), Option: "root, and access to its network namespace",
		Remedy: "run as root on the machine itself, or measure this network in the lab",
	}
}

// ours returns an error if the host is the user's own machine, which must not be changed.
func (h *Host) ours() error {
	if !h.Facts().Borrowed {
		return nil
	}
	return &platform.Unsupported{
		Feature: "changing the network of this machine", Option: "a host that nettoll made",
		Remedy: "use --private-engine, which starts an engine on a host of the lab, or measure this network in the lab itself",
	}
}
