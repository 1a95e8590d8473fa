package sampler_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/sampler"
)

var cookie = []byte("sixteen letters.")

// echo answers on a free port until the test ends.
func echo(t *testing.T, at netip.Addr) netip.AddrPort {
	t.Helper()
	free, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 0)))
	iferr.Fatal(t, err)
	to := free.LocalAddr().(*net.UDPAddr).AddrPort()
	free.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- sampler.Echo{At: to, Cookie: cookie}.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		iferr.Error(t, <-done)
	})
	return to
}

// loopbackMTU sets the MTU of lo until the test ends.
func loopbackMTU(t *testing.T, mtu int) {
	t.Helper()
	was := 0
	set := func(mtu int) {
		err := nl.With("", func(n *nl.NS) error {
			l, err := n.Link("lo")
			if err != nil {
				return err
			}
			was = l.Attrs().MTU
			return errors.Join(n.Up("lo"), n.LinkSetMTU(l, mtu))
		})
		iferr.Fatal(t, err)
	}
	set(mtu)
	before := was
	t.Cleanup(func() { set(before) })
}

func TestReachFindsTheLargestPacket(t *testing.T) {
	for _, c := range []struct {
		mtu, tried, want int
	}{
		{1500, 1500, 1500},
		{1400, 1500, 1400},
		{1283, 9000, 1283},
		{9000, 1500, 1500}, // no larger packet was tried
	} {
		for _, at := range []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()} {
			loopbackMTU(t, c.mtu)
			find := func() (sampler.Reached, error) {
				return sampler.Reach{To: echo(t, at), Cookie: cookie, MTU: c.tried}.Find(t.Context())
			}
			got, err := find()
			want := sampler.Reached{There: c.want, Back: c.want}
			// On a busy machine there may be no time to try everything: then it is not known. Or all answers of a try come too late.
			for began := time.Now(); err == nil && got != want && time.Since(began) < time.Minute; {
				got, err = find()
			}
			if err != nil || got != want {
				t.Errorf("MTU %d at %s, up to %d: %+v, %v, want %+v", c.mtu, at, c.tried, got, err, want)
			}
		}
	}
}

func TestReachOfWhoDoesNotAnswer(t *testing.T) {
	loopbackMTU(t, 1500)
	at := netip.MustParseAddr("127.0.0.1")
	got, err := sampler.Reach{To: netip.AddrPortFrom(at, 9), Cookie: cookie, MTU: 1500}.Find(t.Context())
	if err != nil || got != (sampler.Reached{}) {
		t.Errorf("nobody listens: %+v, %v", got, err)
	}
	got, err = sampler.Reach{To: echo(t, at), Cookie: []byte("another sixteen!"), MTU: 1500}.Find(t.Context())
	if err != nil || got != (sampler.Reached{}) {
		t.Errorf("a stranger was answered: %+v, %v", got, err)
	}
}

func TestEchoOnAPortInUse(t *testing.T) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	iferr.Fatal(t, err)
	defer c.Close()
	if err := (sampler.Echo{At: c.LocalAddr().(*net.UDPAddr).AddrPort(), Cookie: cookie}).Run(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestEchoNamesAnAddress(t *testing.T) {
	for _, at := range []netip.AddrPort{{}, netip.MustParseAddrPort("0.0.0.0:20001"), netip.MustParseAddrPort("[::]:20001")} {
		if err := (sampler.Echo{At: at, Cookie: cookie}).Run(t.Context()); err == nil {
			t.Errorf("it listens on %v", at)
		}
	}
}
