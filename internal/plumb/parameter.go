package plumb

import (
	"context"
	"errors"
	"os"

	"nettoll/internal/netns"
	"nettoll/platform"
)

// parameters are those of the kernel that techniques set on hosts.
var parameters = []string{
	"net/ipv4/ip_forward",
	"net/ipv6/conf/all/forwarding",
	"net/ipv4/conf/all/arp_ignore",
	"net/ipv4/conf/all/send_redirects", // by WireGuard devices
	"net/bridge/bridge-nf-call-iptables",
	"net/bridge/bridge-nf-call-ip6tables",
}

// keepParameters pushes that a host which stays gets back the values that its kernel
// parameters have now: the next network on it must not differ by the one before.
func (s *Site) keepParameters(h *Host) error {
	if s.transient || platform.Borrowed(h.Host) {
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
