package plumb

import (
	"context"
	"errors"
	"os"

	"nettoll/internal/netns"
	"nettoll/platform"
)

// parameters are the kernel parameters that networks, or their programs, set on hosts.
var parameters = append([]string{
	"net/ipv4/ip_forward",
	"net/ipv6/conf/all/forwarding",
	"net/ipv4/conf/all/arp_ignore",
	"net/ipv4/conf/all/send_redirects", // set for WireGuard devices
	"net/ipv4/vs/conntrack",            // these are set by kube-proxy in its mode ipvs
	"net/ipv4/vs/expire_nodest_conn",
	"net/ipv4/vs/expire_quiescent_template",
}, netns.BridgeNetfilter...)

// keepParameters pushes the restoring of the present kernel parameters of a host that stays: a network
// must not affect the next one on the same host.
func (s *Site) keepParameters(h *Host) error {
	if s.transient || h.Facts().Borrowed {
		return nil
	}
	for _, key := range parameters {
		was, err := netns.Sysctl(h.NS, key)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.Push("change of "+key, func(context.Context) error {
			if now, err := netns.Sysctl(h.NS, key); err != nil || now == was {
				return err
			}
			return netns.SetSysctl(h.NS, key, was)
		})
	}
	return nil
}

// Forwarding makes the host route packets.
func (h *Host) Forwarding() error {
	if err := h.ours(); err != nil {
		return err
	}
	if err := netns.SetSysctl(h.NS, "net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	return netns.SetSysctl(h.NS, "net/ipv6/conf/all/forwarding", "1")
}

// BridgeNetfilter sets whether bridged packets pass the rules for routed ones (br_netfilter), for
// IPv4 and IPv6.
func (h *Host) BridgeNetfilter(on bool) error {
	if err := h.ours(); err != nil {
		return err
	}
	value := "0"
	if on {
		value = "1"
	}
	for _, key := range netns.BridgeNetfilter {
		err := netns.SetSysctl(h.NS, key, value)
		if errors.Is(err, os.ErrNotExist) {
			if !on {
				return nil // without the module no rule applies to bridged packets
			}
			return &platform.Unsupported{
				Feature: "netfilter on bridges", Option: "CONFIG_BRIDGE_NETFILTER", Remedy: LoadBridgeNetfilter, Err: err,
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
