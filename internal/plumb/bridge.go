package plumb

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/network"
)

// MaxPorts is how many ports a Linux bridge can have (BR_MAX_PORTS less the
// reserved number 0).
const MaxPorts = 1023

// Bridge is a Linux bridge on a host.
type Bridge struct {
	Name string
	Host *Host
	MTU  int // of its ports; 0 is the kernel's
	Kept int // ports that are not for containers

	made     bool // by AddBridge: it comes up when its containers are attached
	gateway  bool // it is the containers' way out
	without6 bool
}

// AddBridge makes a bridge on the host, which Attach brings up. With a gateway address it
// is the containers' way out.
func (s *Site) AddBridge(h *Host, name string, mtu int, gateway bool) (*Bridge, error) {
	if err := h.ours(); err != nil {
		return nil, err
	}
	b := &Bridge{Name: name, Host: h, MTU: mtu, made: true, gateway: gateway, without6: s.without6}
	s.MadeDevice(h.NS, name)
	return b, nl.With(h.NS, func(n *nl.NS) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = name, mtu
		return n.Add(&netlink.Bridge{LinkAttrs: attrs})
	})
}

// up brings up a bridge of AddBridge, whose ports have all been attached.
//
// Until then its ports drop what they receive. When its device comes up, the kernel of a
// container sends multicast listener reports, which a bridge floods to all other ports: a
// thousand containers would send each other millions of packets, through every firewall
// rule, for a minute.
func (b *Bridge) up() error {
	if !b.made {
		return nil
	}
	return nl.With(b.Host.NS, func(n *nl.NS) error {
		if err := n.Up(b.Name); err != nil || !b.gateway {
			return err
		}
		i := b.Host.Index
		return both(func(six bool) error {
			if six && b.without6 {
				return nil
			}
			return n.Addr(b.Name, netip.PrefixFrom(Gateway(i, six), Subnet(i, six).Bits()))
		})
	})
}

// Attach gives each container a veth pair to the bridge, addresses and routes. All
// of them can be reached when it returns.
func (b *Bridge) Attach(ctx context.Context, s *Site, nodes []*Node, plug Plug) error {
	talking := len(nodes) - s.silent(b.Host)
	if room := MaxPorts - b.Kept; talking > room {
		return fmt.Errorf("bridge %s: %d containers talk: it has %d ports for them", b.Name, talking, room)
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
	if plug.Device == "" {
		plug.Device = "eth0"
	}
	plug.without6 = s.without6
	var index int
	err := nl.With(b.Host.NS, func(n *nl.NS) error {
		l, err := n.Link(b.Name)
		if err == nil {
			index = l.Attrs().Index
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, node := range nodes {
		node.Device, node.Port = plug.Device, fmt.Sprintf("veth%d", node.Index)
	}
	if err := s.Pairs(ctx, b.Host, nodes, index, b.MTU); err != nil {
		return fmt.Errorf("attach to bridge %s: %w", b.Name, err)
	}
	for _, node := range nodes {
		if err := node.Configure(ctx, plug); err != nil {
			return fmt.Errorf("configure %s: %w", node.Name(), err)
		}
	}
	if err := b.ready(ctx, nodes, plug); err != nil {
		return err
	}
	if b.made && len(nodes) > crowd {
		if err := b.hushed(ctx, index); err != nil {
			return err
		}
	}
	return b.up()
}

const (
	// crowd is how many containers send enough reports for a bridge to wait until they
	// have been sent.
	crowd = 64
	// calm is how long no report must have been sent, and hushTime how long that may take.
	calm     = 100 * time.Millisecond
	hushTime = 5 * time.Second
)

// hushed waits until the ports of a bridge, which is given by its index, receive nothing any
// more; see up. On a busy machine that is a while after the containers are ready.
func (b *Bridge) hushed(ctx context.Context, index int) error {
	var before uint64
	for deadline := time.Now().Add(hushTime); ; {
		var now uint64
		err := nl.With(b.Host.NS, func(n *nl.NS) error {
			all, err := n.Interfaces()
			for _, d := range all {
				if d.Master == index {
					now += d.Packets
				}
			}
			return err
		})
		if err != nil || now == before || time.Now().After(deadline) {
			return err
		}
		before = now
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(calm):
		}
	}
}

// silentPorts is how many ports a bridge may have when some of its containers do not
// talk. It has room for more, but sends a broadcast, such as an ARP request, to each of
// them at once, and what exceeds a CPU's backlog (net.core.netdev_max_backlog, 1000)
// is dropped: with more, those that were attached first cannot be found.
const silentPorts = 900

// silent is how many containers of a host do not talk.
func (s *Site) silent(h *Host) (n int) {
	for _, node := range s.Neighbours {
		if node.Host == h {
			n++
		}
	}
	return n
}

// overflow makes a further bridge for neighbours that find no port on this one. It
// leads nowhere: who lives there does not talk.
func (b *Bridge) overflow(s *Site, over int) (*Bridge, error) {
	further, err := s.AddBridge(b.Host, b.Name+"x", b.MTU, false)
	if err == nil {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: bridge %s has as many containers as a broadcast can reach; %d silent ones are on %s", b.Host.Name(), b.Name, over, further.Name))
	}
	return further, err
}

// ready waits until the bridge can forward to all nodes and they have their addresses.
func (b *Bridge) ready(ctx context.Context, nodes []*Node, plug Plug) error {
	var ports []string
	for _, n := range nodes {
		ports = append(ports, n.Port)
		own := []netip.Addr{n.Addr4, n.Addr6}
		if plug.without6 {
			own = own[:1]
		}
		if err := nl.With(n.NS, func(in *nl.NS) error { return in.Own(ctx, own...) }); err != nil {
			return fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	return nl.With(b.Host.NS, func(n *nl.NS) error { return n.Running(ctx, ports...) })
}

// BridgedHops is the path between two ports of one bridge.
func BridgedHops(from, to *Node, _ network.Family) []network.Hop {
	return []network.Hop{from.Hop(), from.PortHop(), to.PortHop(), to.Hop()}
}
