package bird

import (
	"fmt"
	"net/netip"
	"strings"

	"nettoll/internal/plumb"
)

// autonomous is the number of the autonomous system that Calico's hosts are in, unless
// told otherwise: the first of RFC 6996's private ones.
const autonomous = 64512

// config is how calico/node sets BIRD up for a full mesh: the block of the host's
// containers is a black hole but for those that are there, and is told to all others.
func (m Mesh) config(h *plumb.Host) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr { warning, error, fatal, bug };\nrouter id %s;\nprotocol device { }\n", address(h, false))
	for _, six := range m.Families {
		name := "ipv4"
		if six {
			name = "ipv6"
		}
		fmt.Fprintf(&b, "protocol direct { %s; interface %q; }\n", name, h.Uplink().Device)
		fmt.Fprintf(&b, "protocol static { %s; route %s blackhole; }\n", name, m.To(h, six))
		fmt.Fprintf(&b, "protocol kernel { %s { import none; export where source ~ [ RTS_STATIC, RTS_BGP ]; }; }\n", name)
		resolving := "gateway recursive;"
		if m.Tunnel != "" {
			// Calico's own BIRD leads what it exports into the tunnel. Debian's can be
			// led to believe that the other hosts are on the tunnel's link.
			b.WriteString("ipv4 table tunnelled;\n")
			resolving += " igp table tunnelled;"
		}
		for _, peer := range m.Site.Hosts {
			if peer == h {
				continue
			}
			own, to := address(h, six), address(peer, six)
			if m.Tunnel != "" {
				fmt.Fprintf(&b, "protocol static { ipv4 { table tunnelled; }; route %s/32 via %s%%%s onlink; }\n", to, to, m.Tunnel)
			}
			// One of two calls the other, so that their calls do not cross.
			passive := ""
			if h.Index < peer.Index {
				passive = " passive on;"
			}
			fmt.Fprintf(&b, "protocol bgp { local %s as %d; neighbor %s as %d; multihop; connect delay time 1;%s\n", own, autonomous, to, autonomous, passive)
			fmt.Fprintf(&b, "\t%s { %s import all; export where source = RTS_STATIC; }; }\n", name, resolving)
		}
	}
	return b.String()
}

func address(h *plumb.Host, six bool) netip.Addr {
	if six {
		return h.Uplink().Addr6.Addr()
	}
	return h.Uplink().Addr4.Addr()
}
