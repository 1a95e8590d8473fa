package plumb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"nettoll/internal/await"
	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/record"
)

// MaxPorts is how many ports a Linux bridge can have (BR_MAX_PORTS minus the reserved number 0).
const MaxPorts = 1023

// Bridge is a Linux bridge on a host.
type Bridge struct {
	Name string
	Host *Host
	MTU  int // of its ports; 0 means the kernel's default

	made    bool // by addBridge: it is brought up after its containers are attached
	gateway bool // it is the containers' gateway
}

// Bridge makes a bridge on a host and attaches all containers of the host to it. A host that is their
// gateway forwards. If it is, or if they share a segment with the containers of other hosts, no firewall
// rule applies to bridged packets until BridgeNetfilter says otherwise: whether the machine has
// br_netfilter must not matter.
func (s *Site) Bridge(ctx context.Context, h *Host, name string, mtu int, plug Attachment) error {
	b, err := s.addBridge(h, name, mtu, plug.Gateway)
	if err != nil {
		return err
	}
	if err := b.Attach(ctx, s, h.Nodes, plug); err != nil {
		return err
	}
	if plug.Gateway {
		if err := h.Forwarding(); err != nil {
			return err
		}
	}
	if plug.Gateway || plug.Flat {
		return h.BridgeNetfilter(false)
	}
	return nil
}

func (s *Site) addBridge(h *Host, name string, mtu int, gateway bool) (*Bridge, error) {
	if err := h.ours(); err != nil {
		return nil, err
	}
	b := &Bridge{Name: name, Host: h, MTU: mtu, made: true, gateway: gateway}
	s.MadeDevice(h.NS, name)
	return b, nl.With(h.NS, func(n *nl.NS) error {
		if err := n.Add(&netlink.Bridge{LinkAttrs: nl.Attrs(name, 0)}); err != nil || mtu == 0 {
			return err
		}
		// Not as the bridge is made: then br_netfilter would go on fragmenting for 1500, and drop datagrams whose fragments had been larger
		// (br_change_mtu and br_nf_ip_fragment in the kernel's net/bridge).
		return n.MTU(name, mtu)
	})
}

// up brings up a bridge made by addBridge, after all its ports have been attached.
//
// Until then its ports drop all packets. When a container's device comes up, the kernel sends
// multicast listener reports, which a bridge floods to all other ports: a thousand containers would
// send each other millions of packets, through every firewall rule, for a minute.
func (b *Bridge) up(plug Attachment) error {
	if !b.made {
		return nil
	}
	return nl.With(b.Host.NS, func(n *nl.NS) error {
		if err := n.Up(b.Name); err != nil || !b.gateway {
			return err
		}
		way := func(six bool) netip.Prefix {
			return netip.PrefixFrom(Gateway(b.Host.Index, six), Subnet(b.Host.Index, six).Bits())
		}
		return n.Addr(b.Name, record.Each(plug.families(), way)...)
	})
}

// Attach gives each container a veth pair to the bridge, addresses and routes. When it returns, all
// of them can be reached; if they are many, only after Settle.
func (b *Bridge) Attach(ctx context.Context, s *Site, nodes []*Node, plug Attachment) error {
	talking := len(nodes) - s.silent(b.Host)
	if room := MaxPorts - plug.Kept; talking > room {
		return fmt.Errorf("bridge %s: %d containers talk, but it has only %d ports for them", b.Name, talking, room)
	}
	if room := max(talking, silentPorts); len(nodes) > room {
		further, err := b.overflow(s, len(nodes)-room)
		if err != nil {
			return err
		}
		if err := further.Attach(ctx, s, nodes[room:], plug); err != nil {
			return err
		}
		nodes = nodes[:room]
	}
	plug.Device = cmp.Or(plug.Device, "eth0")
	plug.without6 = s.without6
	bridge, err := nl.Ask(b.Host.NS, func(n *nl.NS) (nl.Interface, error) { return n.Interface(b.Name) })
	if err != nil {
		return err
	}
	for _, node := range nodes {
		node.Device, node.Port = plug.Device, fmt.Sprintf("veth%d", node.Index)
	}
	if err := s.Pairs(ctx, b.Host, nodes, bridge.Index, b.MTU); err != nil {
		return fmt.Errorf("attach to bridge %s: %w", b.Name, err)
	}
	if err := configure(ctx, nodes, plug); err != nil {
		return err
	}
	ports, err := b.ready(ctx, bridge.Index, nodes)
	if err != nil {
		return err
	}
	if b.made && len(nodes) > crowd {
		s.loud = append(s.loud, loud{b, ports, plug})
		return nil
	}
	return b.up(plug)
}

// loud is a bridge that stays down until its many containers have sent their reports; see up.
type loud struct {
	*Bridge
	ports map[int]bool // their indexes
	plug  Attachment
}

const (
	// crowd is the number of containers above which a bridge waits until they have sent their
	// reports.
	crowd = 64
	// calm is how often in a row no packet must be found to have arrived, with listenTime between, until all reports count
	// as sent. It is no time, since that also passes while a busy machine does not run. hushTime bounds the wait.
	calm       = 10
	listenTime = 10 * time.Millisecond
	hushTime   = 15 * time.Second
)

// Settle waits until the ports of all bridges with many containers receive no more packets, which on
// a busy machine is some time after the containers are ready, and brings these bridges up.
func (s *Site) Settle(ctx context.Context) error {
	if len(s.loud) == 0 {
		return nil
	}
	var heard uint64 // packets
	still := 0       // how often in a row there were no more
	err := await.Until(ctx, hushTime, listenTime, func(context.Context) (missing, err error) {
		var now uint64
		for _, l := range s.loud {
			received, err := l.received()
			if err != nil {
				return nil, err
			}
			now += received
		}
		still++
		if now != heard {
			heard, still = now, 0
		}
		if still < calm {
			missing = errors.New("containers still send reports")
		}
		return missing, nil
	})
	if err != nil && !errors.As(err, new(*await.Late)) {
		return err
	}
	if err := record.Try(s.loud, func(l loud) error { return l.up(l.plug) }); err != nil {
		return err
	}
	s.loud = nil
	return nil
}

// received returns how many packets the ports of the bridge have received or dropped.
func (l loud) received() (packets uint64, err error) {
	all, err := nl.Packets(l.Host.NS)
	for index, n := range all {
		if l.ports[index] {
			packets += n
		}
	}
	return packets, err
}

// silentPorts is how many ports a bridge may have if some of its containers do not talk. It has room
// for more, but sends a broadcast, such as an ARP request, to all of them at once, and packets in
// excess of a CPU's backlog (net.core.netdev_max_backlog, 1000) are dropped: with more ports, the
// containers that were attached first cannot be found.
const silentPorts = 900

// silent returns how many containers of a host do not talk.
func (s *Site) silent(h *Host) int {
	return len(record.Those(s.Neighbours, func(n *Node) bool { return n.Host == h }))
}

// overflow makes another bridge for neighbours that have no room on this one. It leads nowhere,
// because they do not talk.
func (b *Bridge) overflow(s *Site, over int) (*Bridge, error) {
	further, err := s.addBridge(b.Host, b.Name+"x", b.MTU, false)
	if err == nil {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: bridge %s has as many containers as a broadcast can reach; %d silent ones are on %s", b.Host.Name(), b.Name, over, further.Name))
	}
	return further, err
}

// ready waits until the bridge, whose index is given, can forward to all nodes, and returns the indexes of its ports.
// It may have other ports, which it does not wait for: those of tunnels may never report a carrier.
func (b *Bridge) ready(ctx context.Context, index int, nodes []*Node) (ports map[int]bool, err error) {
	err = nl.With(b.Host.NS, func(n *nl.NS) error {
		var without []string // a carrier
		if ports, without, err = n.Ports(index); err != nil {
			return err
		}
		own := record.Each(nodes, func(node *Node) string { return node.Port })
		return n.Running(ctx, record.Those(own, func(port string) bool { return slices.Contains(without, port) })...)
	})
	return ports, err
}

// BridgedHops is the path between two ports of one bridge.
func BridgedHops(from, to *Node, _ network.Family) []network.Hop {
	return []network.Hop{from.Hop(), from.PortHop(), to.PortHop(), to.Hop()}
}

// Pairs gives each of the nodes, all on the same host, a veth pair: Device in the node and Port on the
// host, which is brought up. master is the index of the bridge that the ports belong to, 0 means
// none; MTU 0 means the kernel's default.
func (s *Site) Pairs(ctx context.Context, h *Host, nodes []*Node, master, mtu int) error {
	var pairs nl.Batch
	for _, n := range nodes {
		ns, err := os.Open(n.NS)
		if err != nil {
			return fmt.Errorf("open network namespace of %s: %w", n.Name(), err)
		}
		defer ns.Close()
		s.MadeDevice(h.NS, n.Port)
		n.Link, n.Master, n.MTU = Pair, master, mtu
		pairs.AddVeth(nl.Veth{Name: n.Port, Master: master, MTU: mtu, Peer: n.Device, PeerNS: int(ns.Fd())})
	}
	return pairs.Do(ctx, h.NS)
}
