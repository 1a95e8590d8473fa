package nl

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ForgetUDP has the namespace at path forget what it knows of datagrams to ports first to last
// of some addresses. A host that has seen one before it had its rules for address translation
// leaves all that follow from the same port as they are, for as long as they come.
func ForgetUDP(path string, to []netip.Addr, first, last int) error {
	h, err := connect(path, unix.NETLINK_NETFILTER)
	if err != nil {
		return fmt.Errorf("connection tracking netlink socket: %w", err)
	}
	defer h.Close()
	for _, family := range []netlink.InetFamily{unix.AF_INET, unix.AF_INET6} {
		err := again(func() error {
			_, err := h.ConntrackDeleteFilters(netlink.ConntrackTable, family, datagrams{to, first, last})
			return err
		})
		if err != nil && !errors.Is(err, unix.ENOENT) { // what ended meanwhile
			return fmt.Errorf("forget datagrams to %v in %s: %w", to, path, err)
		}
	}
	return nil
}

// datagrams matches those to some addresses and ports.
type datagrams struct {
	to          []netip.Addr
	first, last int
}

func (d datagrams) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	port := int(f.Forward.DstPort)
	if f.Forward.Protocol != unix.IPPROTO_UDP || port < d.first || port > d.last {
		return false
	}
	for _, a := range d.to {
		if f.Forward.DstIP.Equal(a.AsSlice()) {
			return true
		}
	}
	return false
}
