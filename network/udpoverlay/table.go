package udpoverlay

import (
	"net/netip"
	"sync"
)

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

// learn implements table. It accepts all packets, since the kernel decides which of them are for
// this host.
func (routes) learn([]byte, netip.AddrPort) bool { return true }

// destination returns the destination address of an IP packet.
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

// mac is an Ethernet address.
type mac [6]byte

// group reports whether an address is one of a group: multicast or broadcast.
func (m mac) group() bool { return m[0]&1 != 0 }

// mostLearned bounds the table: frames to addresses beyond it go to all peers.
const mostLearned = 1 << 16

// switched is the table of frames: it learns from the frames of each peer which addresses are
// there, and sends frames to unknown addresses to all peers. They all get them from the first host,
// so none passes them on.
type switched struct {
	peers map[netip.AddrPort][]netip.AddrPort // each peer as a list of one
	all   []netip.AddrPort

	mu    sync.Mutex
	known map[mac][]netip.AddrPort
}

func newSwitch(peers []peer) *switched {
	s := &switched{peers: map[netip.AddrPort][]netip.AddrPort{}, known: map[mac][]netip.AddrPort{}}
	for _, p := range peers {
		s.all = append(s.all, p.Addr)
		s.peers[p.Addr] = []netip.AddrPort{p.Addr}
	}
	return s
}

// toward implements table.
func (s *switched) toward(frame []byte) []netip.AddrPort {
	if len(frame) < ethernet {
		return nil
	}
	to := mac(frame[:6])
	if to.group() {
		return s.all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, known := s.known[to]; known {
		return at
	}
	return s.all
}

// learn implements table. Frames from unknown peers are not accepted.
func (s *switched) learn(frame []byte, from netip.AddrPort) bool {
	at, ok := s.peers[from]
	if !ok || len(frame) < ethernet {
		return false
	}
	who := mac(frame[6:12])
	if who.group() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.known[who]
	if known && was[0] == from || !known && len(s.known) >= mostLearned {
		return true
	}
	s.known[who] = at
	return true
}
