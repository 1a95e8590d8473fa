package plumb

import (
	"fmt"
	"slices"

	"nettoll/internal/nl"
	"nettoll/network"
)

// Narrow adds a note on an IP version if mtu, the MTU of a host's containers, is larger than that of the device that leads to other hosts.
// Packets that are too large for the device are sent again, smaller, once the host has reported this by ICMP; they are
// lost if these messages are. what is the subject of the note, such as a backend of flannel.
func (n *Network) Narrow(what string, h *Host, device string, six bool, mtu int) error {
	return nl.With(h.NS, func(in *nl.NS) error {
		l, err := in.Link(device)
		if err != nil {
			return err
		}
		carries, version := l.Attrs().MTU, network.IPv4
		if six {
			version = network.IPv6
		}
		note := fmt.Sprintf("%s gives containers the MTU %d, but its own device for IPv%d carries only %d: "+
			"larger packets depend on path MTU discovery", what, mtu, version, carries)
		if carries < mtu && !slices.Contains(n.narrow[version], note) {
			if n.narrow == nil {
				n.narrow = map[network.Family][]string{}
			}
			n.narrow[version] = append(n.narrow[version], note)
		}
		return nil
	})
}
