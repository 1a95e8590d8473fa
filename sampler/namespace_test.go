package sampler_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/sampler"
)

// space returns a namespace with lo up.
func space(t *testing.T) string {
	t.Helper()
	ns, err := netns.New(t.Context(), 1, func() error { return nil })
	iferr.Fatal(t, err)
	t.Cleanup(func() { ns[0].Close() })
	iferr.Fatal(t, nl.With(ns[0].Path(), func(n *nl.NS) error { return n.Up("lo") }))
	return ns[0].Path()
}

func TestProtocolsAreThoseOfTheNamespace(t *testing.T) {
	quiet, busy := space(t), space(t)
	const sent = 3
	err := netns.Do(busy, func() error {
		c, err := net.Dial("udp4", "127.0.0.1:9")
		if err != nil {
			return err
		}
		defer c.Close()
		for range sent {
			_, _ = c.Write([]byte("x")) // the second write gets the error that nobody listens
		}
		return nil
	})
	iferr.Fatal(t, err)
	for path, want := range map[string]uint64{quiet: 0, busy: sent} {
		got, err := sampler.Protocols(path)
		iferr.Fatal(t, err)
		if n, ok := got["UdpNoPorts"]; !ok || (n > 0) != (want > 0) || n > want {
			t.Errorf("UdpNoPorts is %d, %v, want %d", n, ok, want)
		}
		for _, name := range []string{"IpFragCreates", "TcpInCsumErrors", "Ip6FragCreates", "TcpExtTCPTimeouts"} {
			if _, ok := got[name]; !ok {
				t.Errorf("no %s", name)
			}
		}
	}
	if _, err := sampler.Protocols("/proc/self/fd/4095"); err == nil {
		t.Error("no error of a namespace that does not exist")
	}
}

func TestDevicesAreThoseOfTheNamespace(t *testing.T) {
	path := space(t)
	got, err := sampler.Devices(path)
	if err != nil || len(got) == 0 || got[0].Name != "lo" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := sampler.Devices("/proc/self/fd/4095"); err == nil {
		t.Error("no error of a namespace that does not exist")
	}
}

func TestPacketsAreThoseOfTheNamespace(t *testing.T) {
	path := space(t)
	before, err := sampler.Packets(path)
	iferr.Fatal(t, err)
	err = netns.Do(path, func() error {
		c, err := net.Dial("udp4", "127.0.0.1:9")
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return err
	})
	iferr.Fatal(t, err)
	after, err := sampler.Packets(path)
	// The datagram, and the ICMP message that nobody listens, each sent and received.
	if n := after["lo"] - before["lo"]; err != nil || n != 4 {
		t.Errorf("%d packets, %v", n, err)
	}
	if _, err := sampler.Packets("/proc/self/fd/4095"); err == nil {
		t.Error("no error of a namespace that does not exist")
	}
}

func TestRoutesAreThoseOfTheNamespace(t *testing.T) {
	path := space(t)
	err := nl.With(path, func(n *nl.NS) error {
		if err := n.AddPair("a", path, "b", 0); err != nil {
			return err
		}
		if err := n.Up("a", "b"); err != nil {
			return err
		}
		for _, p := range []string{"198.19.0.1/24", "2001:2:0:1::1/64"} {
			if err := n.Addr("a", netip.MustParsePrefix(p)); err != nil {
				return err
			}
		}
		if err := n.Route(netip.MustParsePrefix("198.19.5.0/24"), netip.MustParseAddr("198.19.0.7"), "a"); err != nil {
			return err
		}
		return n.Route(nl.Default(true), netip.MustParseAddr("2001:2:0:1::7"), "a")
	})
	iferr.Fatal(t, err)
	got, err := sampler.Routes(path)
	iferr.Fatal(t, err)
	for to, want := range map[string]string{
		"198.19.0.0/24": "dev a (", "198.19.5.0/24": "via 198.19.0.7 dev a (",
		"2001:2:0:1::/64 metric 256": "dev a (", "default (IPv6) metric 1024": "via 2001:2:0:1::7 dev a (",
	} {
		if !strings.HasPrefix(got[to], want) {
			t.Errorf("%s leads %q, want %s…", to, got[to], want)
		}
		delete(got, to)
	}
	if len(got) > 0 {
		t.Errorf("there is %v as well", got)
	}
	err = netns.Do(path, func() error {
		leads, err := sampler.RouteTo(netip.MustParseAddr("198.19.5.9"))
		if !strings.HasPrefix(leads, "via 198.19.0.7 dev a (") {
			t.Errorf("it leads %q", leads)
		}
		return err
	})
	iferr.Error(t, err)
}
