package plumb

import (
	"fmt"
	"slices"

	"nettoll/platform"
)

// What IP needs, in bytes: IPv6 of every link (RFC 8200, section 5), the kernel takes no
// address of it on a device with less; IPv4 of every host (RFC 791, section 3.1).
const leastMTU6, leastMTU4 = 1280, 576

// Fits refuses underlays that are too small for what a network adds to packets. inner is
// the MTU of containers over an underlay with an MTU. Containers have IPv6 addresses
// whether it is carried between hosts or not; where families, the IP versions that the
// network carries, are IPv4 alone, and there is no room for IPv6, they do without.
func (s *Site) Fits(name string, families []int, inner func(mtu int) int) error {
	least, version := leastMTU6, "IPv6"
	if slices.Equal(families, []int{4}) {
		least, version = leastMTU4, "IPv4"
	}
	for _, h := range s.Hosts {
		under := h.Uplink().MTU
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

// Less is the MTU of containers where a network adds so many bytes to each packet.
func Less(overhead int) func(mtu int) int { return func(mtu int) int { return mtu - overhead } }
