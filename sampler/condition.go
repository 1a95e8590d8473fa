package sampler

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/safchain/ethtool"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
)

// Condition is what an endpoint is to be like, so that it can be compared with
// others: of the device that leads to the peer.
type Condition struct {
	Peer       netip.Addr
	NoOffloads bool // no segmentation, receive merging or checksums by the device
	MaxMTU     int  // bytes; a larger MTU becomes this; 0 is any
	KeepWindow bool // a TCP connection that has rested goes on with the window that it had
}

// offloadsOff are the features that NoOffloads turns off, by the kernel's names.
var offloadsOff = []string{
	"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
	"tx-udp-segmentation", "tx-generic-segmentation", "rx-gro", "rx-lro", "tx-checksum-ip-generic", "rx-checksum",
}

// slowStartAfterIdle is a parameter of each network namespace. Without it, a connection that has
// rested for a retransmission timeout, which is 200 ms at the least, begins anew (RFC 2861).
const slowStartAfterIdle = "net/ipv4/tcp_slow_start_after_idle"

// Conditioned says what a Condition met with.
type Conditioned struct {
	Refused string // what the device cannot do without; empty is nothing
}

// Set makes this end of a connection so.
func (c Condition) Set() (out Conditioned, err error) {
	if c.KeepWindow {
		if err := KeepWindow(""); err != nil {
			return out, err
		}
	}
	if !c.NoOffloads && c.MaxMTU == 0 {
		return out, nil
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
		out.Refused, err = turnOff(a.Name)
		return err
	})
	return out, err
}

// KeepWindow has TCP connections in a network namespace go on as they were when they have rested;
// "" is the one at hand. A kernel that has the parameter outside of namespaces only shows so in what
// is recorded of the end.
func KeepWindow(ns string) error {
	err := netns.SetSysctl(ns, slowStartAfterIdle, "0")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sampler: %w", err)
	}
	return nil
}

// turnOff turns the offloads of a device off and names one that stays on.
func turnOff(device string) (refused string, err error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return "", fmt.Errorf("sampler: ethtool: %w", err)
	}
	defer tool.Close()
	state, err := tool.FeaturesWithState(device)
	if err != nil {
		return "", fmt.Errorf("sampler: offloads of %s: %w", device, err)
	}
	off := map[string]bool{}
	for _, name := range offloadsOff {
		if s, known := state[name]; known && s.Active && !s.NeverChanged {
			off[name] = false
		}
	}
	if err := tool.Change(device, off); err != nil {
		return "", fmt.Errorf("sampler: turn offloads of %s off: %w", device, err)
	}
	if state, err = tool.FeaturesWithState(device); err != nil {
		return "", fmt.Errorf("sampler: offloads of %s: %w", device, err)
	}
	for _, name := range offloadsOff {
		if state[name].Active {
			return name + " of " + device, nil
		}
	}
	return "", nil
}
