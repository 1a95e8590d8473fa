package plumb

import (
	"fmt"
	"slices"

	"nettoll/internal/nl"
)

// Narrow notes that something gives a host's containers a larger MTU than the device that leads to other hosts carries:
// larger packets are sent again, smaller, once the host has reported so by ICMP, and are lost if such messages are.
func (n *Network) Narrow(what string, h *Host, device string, six bool, mtu int) error {
	return nl.With(h.NS, func(in *nl.NS) error {
		l, err := in.Link(device)
		if err != nil {
			return err
		}
		carries, version := l.Attrs().MTU, 4
		if six {
			version = 6
		}
		note := fmt.Sprintf("%s gives containers the MTU %d, but its own device for IPv%d carries only %d: "+
			"larger packets depend on path MTU discovery", what, mtu, version, carries)
		if carries < mtu && !slices.Contains(n.Notes, note) {
			n.Notes = append(n.Notes, note)
		}
		return nil
	})
}
