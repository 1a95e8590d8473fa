package sampler

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// Endpoint describes what can make this end of a connection differ from another: the device that
// leads to the peer, its MTU and that of the route, queueing discipline and offloads, and the kernel's TCP parameters in
// this network namespace.
func Endpoint(peer netip.Addr) (record.Endpoint, error) {
	e := record.Endpoint{Sysctls: map[string]string{}}
	err := nl.With("", func(n *nl.NS) error {
		link, err := n.Toward(peer)
		if err != nil {
			return err
		}
		a := link.Attrs()
		e.Device, e.Driver, e.MTU = a.Name, link.Type(), a.MTU
		if e.RouteMTU, err = n.RouteMTU(peer); err != nil {
			return err
		}
		e.Qdisc, err = n.RootQdisc(link)
		return err
	})
	if err != nil {
		return e, fmt.Errorf("sampler: device toward %s: %w", peer, err)
	}
	if e.Offloads, err = offloads(e.Device); err != nil {
		return e, err
	}
	if e.Confinement, err = confined(); err != nil {
		return e, err
	}
	// A new namespace has the kernel's defaults of most of these, whatever was set on the machine.
	for _, key := range []string{
		"net/ipv4/tcp_congestion_control", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/core/default_qdisc",
		"net/ipv4/tcp_mtu_probing", "net/ipv4/tcp_window_scaling", "net/ipv4/tcp_timestamps", "net/ipv4/tcp_sack",
		"net/ipv4/tcp_slow_start_after_idle", "net/ipv4/tcp_moderate_rcvbuf", "net/ipv4/tcp_notsent_lowat",
		"net/ipv4/tcp_autocorking", "net/ipv4/tcp_limit_output_bytes", "net/ipv4/tcp_ecn",
		// Of the machine, or of a namespace, depending on the kernel.
		"net/core/rmem_default", "net/core/rmem_max", "net/core/wmem_default", "net/core/wmem_max", "net/core/busy_read", "net/core/busy_poll",
	} {
		text, err := read(filepath.Join("/proc/sys", key))
		if err != nil {
			continue // some exist only outside namespaces
		}
		e.Sysctls[strings.ReplaceAll(key, "/", ".")] = strings.Join(strings.Fields(text), " ")
	}
	return e, nil
}

// features are the offloads that affect the cost of a stream, by the kernel's names, with their
// names in run files.
var features = map[string]string{
	"tx-tcp-segmentation":     "tso",
	"tx-generic-segmentation": "gso",
	"rx-gro":                  "gro",
	"rx-lro":                  "lro",
	"tx-checksum-ip-generic":  "tx-checksum",
	"tx-checksum-ipv4":        "tx-checksum", // of network cards that do not have the generic one
	"tx-checksum-ipv6":        "tx-checksum",
	"rx-checksum":             "rx-checksum",
	"tx-scatter-gather":       "sg",
	"tx-udp-segmentation":     "udp-gso",
}

func offloads(device string) (on map[string]bool, err error) {
	err = nl.WithEthtool("", func(tool nl.Ethtool) error {
		state, err := tool.Features(device)
		on = offloadsOf(state)
		return wrap.Error(err, "offloads of %s", device)
	})
	return on, wrap.Error(err, "sampler")
}

// offloadsOf returns the state of features by their names in run files.
func offloadsOf(state map[string]nl.Feature) map[string]bool {
	on := make(map[string]bool)
	for kernel, name := range features {
		if v, ok := state[kernel]; ok {
			on[name] = on[name] || v.On
		}
	}
	return on
}

// Condition is the state that an endpoint must be in to be comparable with others. It is about the
// device that leads to the peer.
type Condition struct {
	Peer       netip.Addr
	NoOffloads bool // no segmentation, receive merging or checksums by the device
	MaxMTU     int  // bytes; a larger MTU is reduced to this; 0 means any
	KeepWindow bool // a TCP connection that has rested continues with the window that it had
}

// offloadsOff are the features that NoOffloads turns off, by the kernel's names.
var offloadsOff = []string{
	"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
	"tx-udp-segmentation", "tx-generic-segmentation", "rx-gro", "rx-lro", "tx-checksum-ip-generic", "rx-checksum",
}

// slowStartAfterIdle is a parameter of each network namespace. Unless it is 0, a connection that has
// rested for a retransmission timeout, at least 200 ms, begins with slow start again (RFC 2861).
const slowStartAfterIdle = "net/ipv4/tcp_slow_start_after_idle"

// Set puts this end of a connection into the state, and names an offload that the device cannot turn off.
func (c Condition) Set() (refused string, err error) {
	if c.KeepWindow {
		if err := KeepWindow(""); err != nil {
			return "", err
		}
	}
	if !c.NoOffloads && c.MaxMTU == 0 {
		return "", nil
	}
	err = nl.With("", func(n *nl.NS) error {
		link, err := n.Toward(c.Peer)
		if err != nil {
			return fmt.Errorf("sampler: device toward %s: %w", c.Peer, err)
		}
		a := link.Attrs()
		if c.MaxMTU > 0 && a.MTU > c.MaxMTU {
			if err := n.LinkSetMTU(link, c.MaxMTU); err != nil {
				return fmt.Errorf("sampler: set MTU of %s to %d: %w", a.Name, c.MaxMTU, err)
			}
		}
		if !c.NoOffloads {
			return nil
		}
		refused, err = turnOff(a.Name)
		return err
	})
	return refused, err
}

// Keep notes the state of the device that leads to a peer in the network namespace at path, and returns a function that undoes what
// a Condition has changed of it since then. It is no error if the device is gone by then.
func Keep(path string, peer netip.Addr) (restore func() error, err error) {
	var device string
	var mtu int
	on := map[string]bool{} // offloads
	err = nl.With(path, func(n *nl.NS) error {
		link, err := n.Toward(peer)
		if err == nil {
			device, mtu = link.Attrs().Name, link.Attrs().MTU
		}
		return err
	})
	if err == nil {
		err = nl.WithEthtool(path, func(tool nl.Ethtool) error {
			state, err := tool.Features(device)
			for _, name := range offloadsOff {
				if s := state[name]; s.On && !s.Fixed {
					on[name] = true
				}
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("sampler: device toward %s: %w", peer, err)
	}
	return func() error {
		if there, err := nl.HasDevice(path, device); err != nil || !there {
			return err
		}
		err := nl.WithEthtool(path, func(tool nl.Ethtool) error { return tool.Change(device, on) })
		return wrap.Error(errors.Join(err, widen(path, device, mtu)), "sampler: restore %s", device)
	}, nil
}

// Narrow reduces the MTU of the device by which a host, whose network namespace is at path, sends to an address of one of its containers,
// and returns a function that restores it. A host that reaches the container by its uplink, as that of a macvlan device, or not at all
// stays as it is; restore is nil then.
func Narrow(path string, to netip.Addr, mtu int, uplink string) (restore func() error, err error) {
	err = nl.With(path, func(n *nl.NS) error {
		link, err := n.Toward(to)
		if errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH) {
			return nil
		}
		if err != nil || link.Attrs().Name == uplink || link.Attrs().MTU <= mtu {
			return err
		}
		device, was := link.Attrs().Name, link.Attrs().MTU
		restore = func() error {
			there, err := nl.HasDevice(path, device)
			if err == nil && there {
				err = widen(path, device, was)
			}
			return wrap.Error(err, "sampler: restore %s", device)
		}
		return n.MTU(device, mtu)
	})
	return restore, wrap.Error(err, "sampler: device toward %s", to)
}

// widen gives a device an MTU again, unless it has a larger one.
func widen(path, device string, mtu int) error {
	return nl.With(path, func(n *nl.NS) error {
		link, err := n.Link(device)
		if err != nil || link.Attrs().MTU >= mtu {
			return err
		}
		return n.MTU(device, mtu)
	})
}

// KeepWindow makes TCP connections in a network namespace keep their window while they rest; "" means
// the current namespace. If the kernel has the parameter only outside of namespaces, it does nothing:
// that shows in the recorded facts of the endpoint.
func KeepWindow(ns string) error {
	err := netns.SetSysctl(ns, slowStartAfterIdle, "0")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return wrap.Error(err, "sampler")
}

// turnOff turns the offloads of a device off, and returns the name of one that stays on, or "".
func turnOff(device string) (refused string, err error) {
	err = nl.WithEthtool("", func(tool nl.Ethtool) error {
		state, err := tool.Features(device)
		if err != nil {
			return fmt.Errorf("offloads of %s: %w", device, err)
		}
		off := map[string]bool{}
		for _, name := range offloadsOff {
			if s := state[name]; s.On && !s.Fixed {
				off[name] = false
			}
		}
		if err := tool.Change(device, off); err != nil {
			return fmt.Errorf("turn offloads of %s off: %w", device, err)
		}
		state, err = tool.Features(device)
		for _, name := range offloadsOff {
			if state[name].On && refused == "" {
				refused = name + " of " + device
			}
		}
		return wrap.Error(err, "offloads of %s", device)
	})
	return refused, wrap.Error(err, "sampler")
}
