// Package wireguard measures containers behind hosts that encrypt traffic between them with
// WireGuard: by the kernel's device, or by the program wireguard-go on each host.
package wireguard

import (
	"cmp"
	"context"
	"fmt"

	"github.com/vishvananda/netlink"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/record"
)

// variant is one variant of WireGuard.
type variant struct {
	network.Info
	userspace bool
	paths     program.Paths
}

// New returns the driver of WireGuard by the kernel's device.
func New() network.Driver {
	return variant{Info: network.Info{
		Name:  "wireguard",
		About: "a bridge on each host, and WireGuard between the hosts by the kernel; MTU 80 below the underlay's",
	}}.driver(plumb.WireGuard)
}

// NewUserspace returns the driver of WireGuard by the program wireguard-go.
func NewUserspace(paths program.Paths) network.Driver {
	return variant{userspace: true, paths: paths, Info: network.Info{
		Name: programName, Carried: true,
		About: "a bridge on each host, and WireGuard between the hosts by the program wireguard-go, over a TUN device; MTU 80 below the underlay's",
	}}.driver(plumb.TUN)
}

func (v variant) driver(need plumb.Need) network.Driver {
	v.Hosts, v.Endpoints, v.Overflow = []int{2}, plumb.MaxPorts, true
	r := plumb.Recipe{Info: v.Info, Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice, need}, Build: v.build}
	if v.userspace {
		r.Programs, r.Paths = []daemon.Program{{Name: programName, Get: "make tools"}}, v.paths
		r.Have = func(context.Context) error { return daemon.Available() }
	}
	return r.Driver()
}

// programName is the program behind a device in user space.
const programName = "wireguard-go"

const (
	bridge = "br0"
	port   = 51820 // the one in wg-quick's manual
	// overhead is what wg-quick subtracts from the underlay's MTU, in bytes: an outer IPv6 header
	// 40, UDP 8, WireGuard's header and check value 32. Over IPv4, as here, 20 remain unused.
	overhead = 80
)

func (v variant) build(ctx context.Context, n *plumb.Network) error {
	s := n.Site
	n.Hops, n.OnWire, n.Adds = plumb.Across(v.side), onWire, network.Overheads["wireguard"]
	mtu := plumb.Less(overhead)
	if err := s.Fits(v.Name, nil, mtu); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		if err := s.Bridge(ctx, h, bridge, mtu(h.Uplink().MTU), plumb.Attachment{Gateway: true}); err != nil {
			return err
		}
		if err := v.add(ctx, n, h); err != nil {
			return err
		}
	}
	return join(ctx, n)
}

// prefix begins the names of tunnels.
const prefix = "wg"

// device returns the tunnel's name on a host.
func device(h *plumb.Host) string { return cmp.Or(h.Tunnel, fmt.Sprintf("%s%d", prefix, h.Index+1)) }

// add makes the tunnel's device: the kernel's, or that of a wireguard-go process that it starts.
func (v variant) add(ctx context.Context, n *plumb.Network, h *plumb.Host) error {
	if v.userspace {
		n.NameTunnel(h, prefix)
		return n.StartWireGuardGo(ctx, h)
	}
	name := device(h)
	n.MadeDevice(h.NS, name)
	return h.AddOver(&netlink.Wireguard{LinkAttrs: nl.Attrs(name, 0)}, nil)
}

// route brings the tunnel up and routes packets for the containers of other hosts into it. The
// routes disappear with the device.
func route(n *nl.NS, s *plumb.Site, h *plumb.Host) error {
	if err := n.MTU(device(h), h.Uplink().MTU-overhead); err != nil {
		return err
	}
	if err := n.Up(device(h)); err != nil {
		return err
	}
	return record.Try(s.Others(h), func(other *plumb.Host) error {
		return n.Lead(device(h), plumb.Subnet(other.Index, false), plumb.Subnet(other.Index, true))
	})
}

func (v variant) side(at *plumb.Node, _ *plumb.Host, _ network.Family) []network.Hop {
	return []network.Hop{at.Host.Hop(bridge, "bridge"), at.Host.Hop(device(at.Host), v.link())}
}

// link is the kind of the tunnel's device.
func (v variant) link() string {
	if v.userspace {
		return "tuntap"
	}
	return "wireguard"
}

func onWire(network.Family) string { return fmt.Sprintf("ip and udp port %d", port) }
