package plumb

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// DeviceHop returns a hop that counts the packets that a device received and sent, together.
func DeviceHop(where, ns, device string) network.Hop {
	ask := func(n *nl.NS) (network.Count, error) {
		d, err := n.Interface(device)
		return counted(d), err
	}
	return network.Hop{
		Name: where + "/" + device, Kind: network.Device, Device: ns + "/" + device,
		Read: func(context.Context) (network.Count, error) { return nl.Ask(ns, ask) },
		Keep: func() (func(context.Context) (network.Count, error), func(), error) {
			n, err := nl.Open(ns)
			if err != nil {
				return nil, nil, err
			}
			return func(context.Context) (network.Count, error) { return ask(n) }, n.Close, nil
		},
	}
}

// Devices are how the network devices of an endpoint are read if its namespace is not known here.
type Devices struct {
	// List lists them; nil: only Agent can read them, one at a time.
	List func(context.Context) ([]nl.Interface, error)
	// Agent, on another machine, can read their counters by itself, in the namespace that it knows by the path Space; nil:
	// there is none.
	Agent network.Agent
	Space string
	// ByIP has Agent, whose own namespace it then is, read what IP has received by the device, too (network.Count.IP): it may
	// have been brought there by programs in the kernel, and older kernels do not count that.
	ByIP bool
}

// deviceOf returns a hop of an endpoint's device, whose counts come from its namespace if that is known.
func deviceOf(where, ns string, all Devices, device string) network.Hop {
	if ns == "" {
		return all.Hop(where, device)
	}
	return DeviceHop(where, ns, device)
}

// Hop returns one of the devices as a hop.
func (all Devices) Hop(where, device string) network.Hop {
	hop := network.Hop{Name: where + "/" + device, Kind: network.Device, Read: all.read(where, device)}
	if all.Agent != nil {
		hop.Asked = &network.Asked{
			Agent: all.Agent, Method: sampler.MethodDevice, Params: sampler.Device{Space: all.Space, Name: device, ByIP: all.ByIP},
			Count: func(answer func(any) error) (network.Count, error) {
				var d sampler.Counted
				err := answer(&d)
				c := counted(d.Interface)
				c.IP = d.IP
				return c, err
			},
		}
		if all.List == nil || all.ByIP {
			asked := hop.Asked
			hop.Read = func(ctx context.Context) (network.Count, error) {
				return asked.Count(func(into any) error { return asked.Agent.Call(ctx, asked.Method, asked.Params, into) })
			}
		}
	}
	return hop
}

// read returns a function that finds a device in the list.
func (all Devices) read(where, device string) func(context.Context) (network.Count, error) {
	return func(ctx context.Context) (network.Count, error) {
		if all.List == nil {
			return network.Count{}, fmt.Errorf("%s: its devices cannot be read: its network namespace is not known", where)
		}
		list, err := all.List(ctx)
		if err != nil {
			return network.Count{}, err
		}
		i := slices.IndexFunc(list, func(d nl.Interface) bool { return d.Name == device })
		if i < 0 {
			return network.Count{}, fmt.Errorf("%s has no device %s any more", where, device)
		}
		return counted(list[i]), nil
	}
}

// counted returns the count of a device as a hop.
func counted(d nl.Interface) network.Count {
	return network.Count{
		Packets: d.Packets, Bytes: d.Bytes, InPackets: d.In, InBytes: d.InBytes, MTU: d.MTU,
		At: network.Joint{Kind: d.Kind, Index: d.Index, Peer: d.Peer, Home: int(d.Home), Master: d.Master},
	}
}

// Hop returns the node's own device as a hop.
func (n *Node) Hop() network.Hop {
	hop := deviceOf(n.Name(), n.NS, n.Devices, n.Device)
	if hop.Link = n.Link; n.Port != "" && n.Link == Pair {
		hop.Meets = n.portName()
	}
	return hop
}

// Pair is the kind of devices that are an end of a pair.
const Pair = "veth"

// PortHop returns the host's end of the node's veth pair as a hop.
func (n *Node) PortHop() network.Hop {
	hop := n.Host.Hop(n.Port, n.Link)
	hop.Name, hop.Meets, hop.Master, hop.MTU = n.portName(), n.Name()+"/"+n.Device, n.Master, n.MTU
	return hop
}

func (n *Node) portName() string { return n.Host.Name() + "/" + cmp.Or(n.PortAs, n.Port) }

// LoopbackHop returns the node's lo as a hop.
func (n *Node) LoopbackHop() network.Hop { return deviceOf(n.Name(), n.NS, n.Devices, "lo") }

// OverLoopback is the Reach of networks whose nodes share a namespace.
func OverLoopback(_, _ *Node, f network.Family) netip.Addr {
	if f == network.IPv6 {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// LoopbackHops is the path in networks whose nodes share a namespace.
func LoopbackHops(from, _ *Node, _ network.Family) []network.Hop {
	return []network.Hop{from.LoopbackHop()}
}

// Hop returns a device of the host as a hop. link is its kind, as the kernel names it; "" is not known.
func (h *Host) Hop(device, link string) network.Hop {
	hop := deviceOf(h.Name(), h.NS, h.Devices, device)
	hop.Link = link
	if h.NS == "" { // the host lists its devices itself: their names identify them
		hop.Device = hop.Name
	}
	return hop
}

// UplinkHop returns the host's device on the underlay as a hop.
func (h *Host) UplinkHop() network.Hop {
	hop := h.Hop(h.Uplink().Device, "")
	hop.MTU = h.Uplink().MTU
	return hop
}

// UplinkHops returns the devices on the underlay, for hosts that have one. Payload between two hosts
// crosses both devices; payload within a host must not cross its device.
func UplinkHops(from, to *Host) (hops []network.Hop) {
	for _, h := range []*Host{from, to} {
		if h.Uplink().Device != "" {
			hops = append(hops, h.UplinkHop())
		}
	}
	if from == to && len(hops) > 0 {
		return []network.Hop{Absent(hops[0])}
	}
	return hops
}

// HostHops is the path between processes of hosts. The kernel sends packets to a host's own address
// over lo.
func HostHops(from, to *Node, _ network.Family) []network.Hop {
	hops := UplinkHops(from.Host, to.Host)
	if from.Host == to.Host {
		return append([]network.Hop{from.Host.Hop("lo", "")}, hops...)
	}
	return hops
}

// Common returns the path that hops returns, with all of its hops as ones that others use, too: see network.Hop.
func Common(hops func(from, to *Node, f network.Family) []network.Hop) func(from, to *Node, f network.Family) []network.Hop {
	return func(from, to *Node, f network.Family) []network.Hop {
		all := hops(from, to, f)
		for i := range all {
			all[i].Common = true
		}
		return all
	}
}

// Side returns the hops on the host of a container between the container's port and the uplink, if
// its peer is on the given host, which may be the same one.
type Side func(at *Node, peer *Host, f network.Family) []network.Hop

// Across returns the path between containers of two hosts: device, port, the hops of side, uplink, and
// the same in reverse order on the other host. Between containers of one host the two sides meet, and
// the uplink must not be crossed.
func Across(side Side) func(from, to *Node, f network.Family) []network.Hop {
	return func(from, to *Node, f network.Family) []network.Hop {
		near := func(at, peer *Node) []network.Hop {
			return append([]network.Hop{at.Hop(), at.PortHop()}, side(at, peer.Host, f)...)
		}
		far := near(to, from)
		slices.Reverse(far)
		return slices.Concat(near(from, to), UplinkHops(from.Host, to.Host), far)
	}
}

// RuleHop returns firewall rules as a hop. Kind is network.Rule for rules that see all packets, and
// network.Connection for rules of a NAT chain.
func RuleHop(h *Host, name string, kind network.HopKind, rules ...nft.Rule) network.Hop {
	return network.Hop{
		Name: h.Name() + "/" + strings.ReplaceAll(name, " ", "-"), Kind: kind,
		Read: Sum(record.Each(rules, func(r nft.Rule) Counts { return r.Count })...),
	}
}

// Counts returns what something that is no device has counted so far.
type Counts func() (packets, bytes uint64, err error)

// Sum returns how a hop is read that counts in several places.
func Sum(all ...Counts) func(context.Context) (network.Count, error) {
	return func(context.Context) (sum network.Count, err error) {
		for _, count := range all {
			packets, bytes, err := count()
			if err != nil {
				return sum, err
			}
			sum.Packets += packets
			sum.Bytes += bytes
		}
		return sum, nil
	}
}

// Reading shares the last reading of a host among the hops that count there.
type Reading[T any] struct {
	mu    sync.Mutex
	ended time.Time
	last  T
}

// Get returns the last reading if it is younger than lasts, and otherwise reads again.
func (r *Reading[T]) Get(ctx context.Context, lasts time.Duration, read func(context.Context) (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.ended) < lasts {
		return r.last, nil
	}
	now, err := read(ctx)
	if err == nil {
		r.last, r.ended = now, time.Now()
	}
	return now, err
}

// Absent returns h as a hop that the payload must not cross.
func Absent(h network.Hop) network.Hop {
	h.Absent = true
	return h
}
