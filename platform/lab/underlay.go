package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/platform"
)

// uplinkDevice is each host's device on the underlay.
const uplinkDevice = "eth0"

// underlayMTU is the MTU of an underlay if none is requested.
const underlayMTU = 1500

// uplink returns the addresses of host i on the underlay: in 198.18.0.0/16 of RFC 2544's 198.18.0.0/15, and in
// 2001:2:0:ffff::/64 of RFC 5180's 2001:2::/48.
func uplink(i, mtu int) platform.Uplink {
	return platform.Uplink{
		Device: uplinkDevice,
		MTU:    mtu,
		Addr4:  netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 1)}), 16),
		Addr6:  netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0, 2, 0, 0, 0xff, 0xff, 15: byte(i + 1)}), 64),
	}
}

// wire joins the hosts: by a veth pair if there are two, by a switch (a bridge in a namespace of its own) if there are more. The
// uplink of a single host leads to a namespace where nothing listens, so that it has a carrier, too: the kernel takes 15 ms to
// remove a bridge, for which the next round would wait.
func (s *site) wire(ctx context.Context, shape platform.Underlay) error {
	var sw *netns.NS
	if len(s.hosts) == 2 {
		a, b := s.hosts[0].NetNS(), s.hosts[1].NetNS()
		if err := pair(a, uplinkDevice, b, uplinkDevice, s.mtu); err != nil {
			return err
		}
	} else {
		ns, err := s.namespace(ctx, 1, nothing)
		if err != nil {
			return err
		}
		sw = ns[0]
		if err := s.plugInto(sw); err != nil {
			return err
		}
	}
	for _, h := range s.hosts {
		if err := h.configure(shape); err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	if sw != nil { // otherwise what a host receives is what the other sends
		if err := s.shapePorts(sw, platform.Underlay{Rate: shape.Rate}); err != nil {
			return err
		}
	}
	return s.running(ctx, sw)
}

// running waits until the uplinks and the ports of the switch, if there is one, carry packets. An end of a pair
// carries packets when the other end is up too.
func (s *site) running(ctx context.Context, sw *netns.NS) error {
	for i, h := range s.hosts {
		err := nl.With(h.NetNS(), func(n *nl.NS) error { return n.Running(ctx, uplinkDevice) })
		if err == nil && sw != nil {
			err = nl.With(sw.Path(), func(n *nl.NS) error { return n.Running(ctx, port(i)) })
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	return nil
}

// port names the switch's end of the uplink of host i.
func port(i int) string { return fmt.Sprintf("port%d", i+1) }

// pair joins two namespaces by a veth pair.
func pair(aNS, a, bNS, b string, mtu int) error {
	return nl.With(aNS, func(n *nl.NS) error { return n.AddPair(a, bNS, b, mtu) })
}

// plugInto connects the hosts to the namespace of the switch, and, if there are several, makes the switch there.
func (s *site) plugInto(sw *netns.NS) error {
	bridged := len(s.hosts) > 1
	if bridged {
		if err := makeSwitch(sw); err != nil {
			return err
		}
	}
	for i, h := range s.hosts {
		port := port(i)
		if err := pair(sw.Path(), port, h.NetNS(), uplinkDevice, s.mtu); err != nil {
			return err
		}
		err := nl.With(sw.Path(), func(n *nl.NS) (err error) {
			if bridged {
				err = n.Master(port, switchDevice)
			}
			return errors.Join(err, n.Up(port))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const switchDevice = "switch"

// makeSwitch makes a bridge that passes frames and does nothing else.
func makeSwitch(sw *netns.NS) error {
	err := nl.With(sw.Path(), func(n *nl.NS) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = switchDevice
		if err := n.Add(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			return err
		}
		return n.Up(switchDevice)
	})
	if err != nil {
		return err
	}
	// Where br_netfilter is loaded, as by Docker, new namespaces pass bridged packets through it: no switch does that.
	for _, key := range netns.BridgeNetfilter {
		if err := netns.SetSysctl(sw.Path(), key, "0"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// shapePorts limits what the switch sends to each host: several others could send to it at once.
func (s *site) shapePorts(sw *netns.NS, shape platform.Underlay) error {
	return nl.With(sw.Path(), func(n *nl.NS) error {
		for i := range s.hosts {
			if err := shapeDevice(n, port(i), shape); err != nil {
				return err
			}
		}
		return nil
	})
}

// configure gives the host's devices their addresses and the uplink its shape.
func (h *host) configure(shape platform.Underlay) error {
	u := h.Uplink()
	return nl.With(h.NetNS(), func(n *nl.NS) error {
		if err := n.Up("lo", u.Device); err != nil {
			return err
		}
		if err := n.Addr(u.Device, u.Addr4, u.Addr6); err != nil {
			return err
		}
		return shapeDevice(n, u.Device, shape)
	})
}

// shapeDevice limits the traffic that the device sends. The rate is a token bucket with room for 10 ms of traffic
// and a queue of 50 ms, as tc-tbf(8) advises for such rates.
func shapeDevice(n *nl.NS, device string, shape platform.Underlay) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	parent := uint32(netlink.HANDLE_ROOT)
	if shape.Delay > 0 {
		q := netlink.NewNetem(
			netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: parent, Handle: netlink.MakeHandle(1, 0)},
			netlink.NetemQdiscAttrs{Latency: uint32(shape.Delay.Microseconds()), Limit: 100_000})
		if err := n.QdiscAdd(q); err != nil {
			return unshaped("delay", "netem", err)
		}
		parent = netlink.MakeHandle(1, 1)
	}
	if shape.Rate == 0 {
		return nil
	}
	bytesPerSecond := shape.Rate / 8
	burst := uint32(shape.Burst())
	q := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: parent, Handle: netlink.MakeHandle(2, 0)},
		Rate:       bytesPerSecond,
		Buffer:     netlink.Xmittime(bytesPerSecond, burst),
		Limit:      uint32(bytesPerSecond/20) + burst,
	}
	if err := n.QdiscAdd(q); err != nil {
		return unshaped("rate", "tbf", err)
	}
	return nil
}

// unshaped returns the error for a queueing discipline that the kernel does not have, which it reports as ENOENT.
func unshaped(what, discipline string, err error) error {
	if errors.Is(err, unix.ENOENT) {
		err = errors.New("the kernel does not know this queueing discipline")
	}
	return &platform.Unsupported{
		Feature: "an underlay " + what, Option: "CONFIG_NET_SCH_" + strings.ToUpper(discipline), Err: err,
		Remedy: fmt.Sprintf("modprobe sch_%s, or leave %s= out of --underlay", discipline, what),
	}
}
