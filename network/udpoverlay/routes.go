package udpoverlay

import "net/netip"

// routes is the table of packets: each host has its subnets.
type routes []route

type route struct {
	subnet netip.Prefix
	via    []netip.AddrPort // one peer
}

func newRoutes(peers []peer) routes {
	var r routes
	for _, p := range peers {
		for _, s := range p.Subnets {
			r = append(r, route{s, []netip.AddrPort{p.Addr}})
		}
	}
	return r
}

// toward implements table.
func (r routes) toward(packet []byte) []netip.AddrPort {
	to, ok := destination(packet)
	if !ok {
		return nil
	}
	for i := range r {
		if r[i].subnet.Contains(to) {
			return r[i].via
		}
	}
	return nil
}

// learn implements table: the kernel says what is for this host.
func (routes) learn([]byte, netip.AddrPort) bool { return true }

// destination is where an IP packet is to go.
func destination(packet []byte) (netip.Addr, bool) {
	if len(packet) == 0 {
		return netip.Addr{}, false
	}
	switch version := packet[0] >> 4; {
	case version == 4 && len(packet) >= 20:
		return netip.AddrFrom4([4]byte(packet[16:20])), true
	case version == 6 && len(packet) >= 40:
		return netip.AddrFrom16([16]byte(packet[24:40])), true
	}
	return netip.Addr{}, false
}
