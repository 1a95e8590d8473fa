package plumb

import (
	"fmt"
	"slices"

	"nettoll/platform"
)

// The smallest MTUs, in bytes: IPv6 requires 1280 of every link (RFC 8200, section 5), and the kernel
// accepts no IPv6 address on a device with less; IPv4 requires 576 of every host (RFC 791, section 3.1).
const leastMTU6, leastMTU4 = 1280, 576

// Fits returns an error for underlays whose MTU is too small for the network's overhead. inner returns
// the MTU of containers for an MTU of the underlay. Containers have IPv6 addresses even if IPv6 is
// not carried between hosts. If families, the IP versions that the network carries, is only IPv4,
// and the MTU is too small for IPv6, they have none.
func (s *Site) Fits(name string, families []int, inner func(mtu int) int) error {
	least, version := leastMTU6, "IPv6"
	if slices.Equal(families, []int{4}) {
		least, version = leastMTU4, "IPv4"
	}
	for _, h := range s.Hosts {
		under := h.Uplink().MTU
		if under == 0 { // it has no uplink, as the user's own machine
			if err := h.ours(); err != nil {
				return err
			}
		}
		left := inner(under)
		if left < leastMTU6 {
			s.without6 = true
		}
		if left >= least {
			continue
		}
		need := least
		for inner(need) < least {
			need++
		}
		return &platform.Unsupported{
			Feature: fmt.Sprintf("%s on an underlay with the MTU %d", name, under),
			Option:  fmt.Sprintf("%d or more: containers would have %d, and %s needs %d", need, left, version, least),
			Remedy:  fmt.Sprintf("--mtu %d", need),
		}
	}
	return nil
}

// Less returns the MTU of containers in a network that adds overhead bytes to each packet.
func Less(overhead int) func(mtu int) int { return func(mtu int) int { return mtu - overhead } }
