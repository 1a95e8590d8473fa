package udpoverlay

import (
	"net/netip"
	"slices"
	"testing"
)

var (
	one = netip.MustParseAddrPort("198.18.0.1:8290")
	two = netip.MustParseAddrPort("198.18.0.2:8290")
)

func peers() []peer {
	return []peer{
		{Addr: one, Subnets: []netip.Prefix{netip.MustParsePrefix("198.19.0.0/20"), netip.MustParsePrefix("2001:2:0:1::/64")}},
		{Addr: two, Subnets: []netip.Prefix{netip.MustParsePrefix("198.19.16.0/20"), netip.MustParsePrefix("2001:2:0:2::/64")}},
	}
}

// packet returns the header of an IP packet to an address.
func packet(to string) []byte {
	a := netip.MustParseAddr(to)
	if a.Is4() {
		return slices.Concat([]byte{0x45}, make([]byte, 15), a.AsSlice())
	}
	return slices.Concat([]byte{0x60}, make([]byte, 23), a.AsSlice())
}

func TestPacketsFollowTheirRoutes(t *testing.T) {
	r := newRoutes(peers())
	for to, want := range map[string][]netip.AddrPort{
		"198.19.0.2": {one}, "198.19.16.2": {two}, "2001:2:0:1::2": {one}, "2001:2:0:2::2": {two},
		"198.19.32.2": nil, "2001:2:0:3::2": nil, "ff02::16": nil,
	} {
		if got := r.toward(packet(to)); !slices.Equal(got, want) {
			t.Errorf("to %s: %v, want %v", to, got, want)
		}
	}
	for _, short := range [][]byte{nil, {0x45}, packet("198.19.0.2")[:19], packet("2001:2:0:1::2")[:39], {0x20, 31: 0}} {
		if got := r.toward(short); got != nil {
			t.Errorf("% x goes to %v", short, got)
		}
	}
}

// frame returns the start of a frame from one Ethernet address to another.
func frame(to, from mac) []byte { return slices.Concat(to[:], from[:], []byte{8, 0}) }

func TestSwitchLearns(t *testing.T) {
	var (
		here, there = mac{2, 1}, mac{2, 2}
		everyone    = mac{255, 255, 255, 255, 255, 255}
		all         = []netip.AddrPort{one, two}
		s           = newSwitch(peers())
	)
	toward := func(when string, to mac, want ...netip.AddrPort) {
		t.Helper()
		if got := s.toward(frame(to, here)); !slices.Equal(got, want) {
			t.Errorf("%s: to % x goes to %v, want %v", when, to, got, want)
		}
	}
	learn := func(f []byte, from netip.AddrPort, want bool) {
		t.Helper()
		if got := s.learn(f, from); got != want {
			t.Errorf("% x from %s: %v, want %v", f, from, got, want)
		}
	}
	toward("unknown", there, all...)
	learn(frame(everyone, there), two, true)
	toward("seen", there, two)
	toward("broadcast", everyone, all...)
	learn(frame(here, there), one, true)
	toward("moved", there, one)

	learn(frame(here, there), netip.MustParseAddrPort("198.18.0.3:8290"), false)
	toward("claimed by a stranger", there, one)
	learn(frame(here, everyone), two, false)
	learn(frame(here, there)[:13], two, false)
	if got := s.toward(frame(there, here)[:13]); got != nil {
		t.Errorf("a frame that is too short goes to %v", got)
	}
}

func TestTablesDoNotAllocate(t *testing.T) {
	r, s := newRoutes(peers()), newSwitch(peers())
	p, f := packet("2001:2:0:2::2"), frame(mac{2, 1}, mac{2, 2})
	s.learn(f, two)
	if n := testing.AllocsPerRun(100, func() { r.toward(p); s.toward(f); s.learn(f, two) }); n != 0 {
		t.Errorf("%v allocations for a packet", n)
	}
}

func FuzzTables(f *testing.F) {
	f.Add(packet("198.19.0.2"))
	f.Add(packet("2001:2:0:1::2"))
	f.Add(frame(mac{2}, mac{4}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := newRoutes(peers()).toward(b); len(got) > 1 {
			t.Errorf("% x goes to several hosts: %v", b, got)
		}
		s := newSwitch(peers())
		if s.learn(b, one) && len(s.known) != 1 {
			t.Errorf("% x was taken, and %d addresses are known", b, len(s.known))
		}
		s.toward(b)
	})
}
