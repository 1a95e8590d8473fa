package plumb

import (
	"fmt"

	"nettoll/platform"
)

// leastMTU is what IPv6 needs, in bytes (RFC 8200, section 5): the kernel takes no address
// of it on a device with less. Containers have such addresses whether a technique carries
// IPv6 between hosts or not.
const leastMTU = 1280

// Fits refuses underlays that are too small for what a technique adds to packets. inner is
// the MTU of containers over an underlay with an MTU.
func (s *Site) Fits(name string, inner func(mtu int) int) error {
	for _, h := range s.Hosts {
		under := h.Uplink().MTU
		left := inner(under)
		if left >= leastMTU {
			continue
		}
		need := leastMTU
		for inner(need) < leastMTU {
			need++
		}
		return &platform.Unsupported{
			Feature: fmt.Sprintf("%s on an underlay with the MTU %d", name, under),
			Option:  fmt.Sprintf("%d or more: containers would have %d, and IPv6 needs %d", need, left, leastMTU),
			Remedy:  fmt.Sprintf("--mtu %d", need),
		}
	}
	return nil
}

// Less is the MTU of containers where a technique adds so many bytes to each packet.
func Less(overhead int) func(mtu int) int { return func(mtu int) int { return mtu - overhead } }
