package udpoverlay

import (
	"net/netip"
	"sync"
)

// mac is an Ethernet address.
type mac [6]byte

// group says that an address is of several: multicast, or broadcast.
func (m mac) group() bool { return m[0]&1 != 0 }

// mostLearned bounds the table: what is sent to addresses beyond goes to everyone.
const mostLearned = 1 << 16

// switched is the table of frames: it learns at which peer an address is from what comes
// from there, and sends to all what is for someone unknown. All peers hear it from the
// first, so none passes it on.
type switched struct {
	peers map[netip.AddrPort][]netip.AddrPort // each alone
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

// learn implements table. Frames of strangers are not taken.
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
