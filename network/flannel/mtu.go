package flannel

import (
	"fmt"
	"slices"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// narrow notes where containers get a larger MTU from flanneld than what leads to the
// other hosts carries: their packets are sent again, smaller, once the host has told them
// so by ICMP, and lost where such messages are. It is so for IPv6 with the vxlan backend,
// which forgets that IPv6 outside takes 20 bytes more, and with the extension backend,
// which does not know what its scripts made.
func (b *build) narrow(h *plumb.Host, mtu int) error {
	return b.families(func(six bool) error {
		return nl.With(h.NS, func(n *nl.NS) error {
			device := b.leads(h, six)
			l, err := n.Link(device)
			if err != nil {
				return err
			}
			carries := l.Attrs().MTU
			if carries >= mtu {
				return nil
			}
			version := 4
			if six {
				version = 6
			}
			note := fmt.Sprintf("flannel's %s backend gives containers the MTU %d, of which its own device for IPv%d carries %d: "+
				"larger packets depend on path MTU discovery", b.kind, mtu, version, carries)
			if !slices.Contains(b.Notes, note) {
				b.Notes = append(b.Notes, note)
			}
			return nil
		})
	})
}
