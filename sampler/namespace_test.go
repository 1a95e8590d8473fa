package sampler_test

import (
	"net"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/sampler"
)

// space is a namespace with lo up.
func space(t *testing.T) string {
	t.Helper()
	ns, err := netns.New(t.Context(), 1, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns[0].Close() })
	if err := nl.With(ns[0].Path(), func(n *nl.NS) error { return n.Up("lo") }); err != nil {
		t.Fatal(err)
	}
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
			_, _ = c.Write([]byte("x")) // the second hears that nobody listens
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]uint64{quiet: 0, busy: sent} {
		got, err := sampler.Protocols(path)
		if err != nil {
			t.Fatal(err)
		}
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
