package weave

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
)

// Lines from Weave's documentation, and lines of connections with a password.
const documented = `
<- 192.168.48.12:33866   established unencrypted fastdp 7e:21:4a:70:2f:45(host2) mtu=1410
<- 192.168.48.13:60773   pending     encrypted   fastdp 7e:ae:cd:d5:23:8d(host3)
-> 192.168.48.14:6783    retrying    dial tcp4 192.168.48.14:6783: no route to host
-> 192.168.48.15:6783    failed      dial tcp4 192.168.48.15:6783: no route to host, retry: 2015-08-06 18:55:38.246910357 +0000 UTC
-> 192.168.48.16:6783    connecting
<- 192.168.48.17:54782   established sleeve 8a:50:4c:23:11:ae(ubuntu1204)
-> 192.168.48.18:6783    established encrypted   sleeve 8a:50:4c:23:11:af(host8) encrypted=truemtu=1376
-> 192.168.48.19:6783    established none   8a:50:4c:23:11:b0(host9)
-> 192.168.48.20:6783    established sleeve 8a:50:4c:23:11:b1(host10) mtu=65535
-> 192.168.48.21:6783    waiting     until: 2015-08-06 18:55:38.246910357 +0000 UTC
`

func TestParseConnections(t *testing.T) {
	got, err := parse(documented)
	iferr.Fatal(t, err)
	for i := range got {
		got[i].Detail = ""
	}
	at := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 48, n}) }
	want := []connection{
		{Peer: at(12), State: up, Overlay: fastdp, MTU: 1410},
		{Peer: at(13), State: "pending"},
		{Peer: at(14), State: "retrying"},
		{Peer: at(15), State: "failed"},
		{Peer: at(16), State: "connecting"},
		{Peer: at(17), State: up, Overlay: sleeve},
		{Peer: at(18), State: up, Overlay: sleeve, Encrypted: true, MTU: 1376},
		{Peer: at(19), State: up, Overlay: undecided},
		{Peer: at(20), State: up, Overlay: sleeve},
		{Peer: at(21), State: "waiting"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if none, err := parse("\n"); err != nil || len(none) != 0 {
		t.Errorf("no connections: %v, %v", none, err)
	}
}

// TestNoDevice reads a device that does not exist: that is no error, however the hop is read.
func TestNoDevice(t *testing.T) {
	h := maybe(plumb.DeviceHop("h1", "", "no-device"))
	if c, err := h.Read(t.Context()); err != nil || c.Bytes != 0 || h.Keep != nil {
		t.Errorf("%+v, %v; it is kept open: %v", c, err, h.Keep != nil)
	}
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"404 page not found":                          "it lacks a direction, an address or a state",
		"-> 192.168.48.12:6783":                       "it lacks a direction, an address or a state",
		"-> host2:6783 established sleeve":            "its address is invalid",
		"-> 192.168.48.12:6783 splendid sleeve":       `the state "splendid" is not known`,
		"-> 192.168.48.12:6783 established":           "it does not say how it carries payload",
		"-> 192.168.48.12:6783 established encrypted": "it does not say how it carries payload",
		"-> 192.168.48.12:6783 established silk":      `the overlay "silk" is not known`,
	} {
		_, err := parse(line)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "Weave Net 2.x is known") {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

func TestMTU(t *testing.T) {
	for underlay, want := range map[int]int{1500: 1376, 1460: 1376, 1450: 1366, 9000: 8916} {
		if got := named("weave-sleeve", nil).mtu(underlay); got != want {
			t.Errorf("on %d: %d, want %d", underlay, got, want)
		}
	}
	if got := named("weave-sleeve-encrypted", nil).mtu(9000); got != 8912 {
		t.Errorf("encrypted, on 9000: %d", got)
	}
}

func FuzzParseConnections(f *testing.F) {
	f.Add(documented)
	f.Add("-> 198.18.0.1:6783 established encrypted")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parse(text)
		if err != nil && all != nil {
			t.Errorf("%q: an error and %d connections", text, len(all))
		}
		for _, c := range all {
			if !c.Peer.IsValid() || (c.State == up) != (c.Overlay != "") || c.Encrypted && c.State != up {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}
