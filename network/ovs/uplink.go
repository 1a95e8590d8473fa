package ovs

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
)

// physical is the bridge with the host's uplink as a port. Tunnels of the user-space datapath leave
// through it, as in "Connecting VMs Using Tunnels (Userspace)" of Open vSwitch's documentation.
const physical = "br-phys"

// releaseUplink arranges for the host's addresses to be restored on its uplink. It must be called
// before ovs-vswitchd is started: the bridge must be gone by the time they are restored.
func (b *build) releaseUplink(h *plumb.Host) {
	b.MadeIn(h.NS, "addresses of "+physical, func(n *nl.NS) error { return n.Addr(h.Uplink().Device, addresses(h)...) })
}

func addresses(h *plumb.Host) []netip.Prefix {
	return []netip.Prefix{h.Uplink().Addr4, h.Uplink().Addr6}
}

// uplinkCommands returns the commands that make the bridge. Without QoS of the type linux-noop
// ovs-vswitchd would remove the queueing discipline that shapes the underlay. The bridge has the
// hardware address of the uplink, as it has by itself if the uplink is a network card: a macvlan
// device receives nothing that is for another address.
func uplinkCommands(h *plumb.Host) ([]string, error) {
	up := h.Uplink().Device
	var address string
	err := nl.With(h.NS, func(n *nl.NS) error {
		l, err := n.Link(up)
		if err == nil {
			address = l.Attrs().HardwareAddr.String()
		}
		return err
	})
	return []string{
		"--", "add-br", physical, "--", "set", "Bridge", physical, "datapath_type=" + userspace, `other_config:hwaddr="` + address + `"`,
		"--", "add-port", physical, up, "--", "set", "Port", up, "qos=@unchanged",
		"--", "--id=@unchanged", "create", "QoS", "type=linux-noop",
	}, err
}

// takeUplink moves the host's addresses to the bridge.
func (b *build) takeUplink(h *plumb.Host) error {
	if err := b.silence(h); err != nil {
		return err
	}
	return nl.With(h.NS, func(n *nl.NS) error {
		if err := n.Up(physical); err != nil {
			return err
		}
		for _, p := range addresses(h) {
			if err := n.Unaddr(h.Uplink().Device, p); err != nil {
				return err
			}
			if err := n.Addr(physical, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// silence drops packets that the uplink passes to the host's own stack: the same packets reach
// ovs-vswitchd, and the host would answer that no process listens. Open vSwitch's documentation
// requires these rules.
func (b *build) silence(h *plumb.Host) error {
	fw, err := b.Firewall(h.NS, "ovs")
	if err != nil {
		return err
	}
	up := nft.In(h.Uplink().Device)
	fw.BaseChain("INPUT", nft.Input, false).Rule(up, nft.Drop())
	fw.BaseChain("FORWARD", nft.Forward, false).Rule(up, nft.Drop())
	return b.Enforce(fw)
}

const (
	meeting = 40 * time.Second // bounds the search for the other hosts
	discard = 9                // UDP port, RFC 863
)

// meet makes the hosts find each other over their bridges, so that ovs-vswitchd learns their
// hardware addresses before the first packet needs a tunnel.
func (b *build) meet(ctx context.Context) error {
	return daemon.Until(ctx, meeting, func(ctx context.Context) error {
		var missing []string
		for _, v := range b.vswitches {
			some, err := v.strangers(ctx, b.Others(v.host))
			if err != nil {
				return err
			}
			missing = append(missing, some...)
		}
		if len(missing) > 0 {
			return fmt.Errorf("tunnels: %s", strings.Join(missing, ", "))
		}
		return nil
	}, b.Needed...)
}

// strangers lists the hosts that a vswitch cannot reach yet, and greets them.
func (v *vswitch) strangers(ctx context.Context, others []*plumb.Host) (missing []string, err error) {
	routes, err := ask(ctx, v.control(), "ovs/route/show")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.daemon, err)
	}
	known, err := ask(ctx, v.control(), "tnl/neigh/show")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.daemon, err)
	}
	if !strings.Contains(routes, "dev "+physical) {
		missing = append(missing, v.daemon.String()+" knows no route over "+physical)
	}
	for _, h := range others {
		a := h.OnUnderlay(false)
		if strings.Contains(known, "\n"+a.String()+" ") {
			continue
		}
		missing = append(missing, fmt.Sprintf("%s does not know the neighbour %s", v.daemon, a))
		if err := v.greet(a); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// greet makes the kernel send an ARP request for an address, so that ovs-vswitchd sees the answer.
// A kernel that has been asked by the other host already knows the address, and would send no
// request for five seconds.
func (v *vswitch) greet(a netip.Addr) error {
	if err := nl.With(v.host.NS, func(n *nl.NS) error { return n.Forget(physical, a) }); err != nil {
		return err
	}
	return netns.Do(v.host.NS, func() error {
		c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, discard)))
		if err != nil {
			return fmt.Errorf("%s: %w", v.host.Name(), err)
		}
		defer c.Close()
		_, err = c.Write([]byte{0})
		return err
	})
}
