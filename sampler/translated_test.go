package sampler

import (
	"net/netip"
	"strings"
	"testing"
)

// ofIPVS is a list as ip_vs_conn_seq_show in net/netfilter/ipvs/ip_vs_conn.c of Linux writes it.
const ofIPVS = `Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData
TCP 0AF40105 D431 0A600001 4E21 0AF40002 4E21 ESTABLISHED     899
TCP 0AF40105 D432 0A600001 4E22 0AF40002 4E22 CLOSE             9
UDP 0AF40105 D433 0A600001 4E22 0AF40002 4E22 UDP             299 sip abc
TCP 0AF40105 D434 0A600001 4E21 0AF40003 4E21 ESTABLISHED     899
TCP 0AF40105 D435 0A600001 4E20 0AF40002 4E20 ESTABLISHED     899
TCP 0AF40105 D436 0A600002 4E21 0AF40002 4E21 ESTABLISHED     899
UDP fd00:0010:0244:0001:0000:0000:0000:0005 D437 fd00:0010:0096:0000:0000:0000:0000:0001 4E21 fd00:0010:0244:0000:0000:0000:0000:0002 4E21 UDP             299
TCP fd00:0010:0244:0001:0000:0000:0000:0005 D438 fd00:0010:0096:0000:0000:0000:0000:0001 4E21 0AF40002 4E21 ESTABLISHED     899
`

func TestConnectionsOfIPVS(t *testing.T) {
	for _, c := range []struct {
		to, server string
		want       int
	}{
		{"10.96.0.1", "10.244.0.2", 3},
		{"10.96.0.1", "10.244.0.4", 0},
		{"10.96.0.2", "10.244.0.2", 1},
		{"10.96.0.3", "10.244.0.2", 0},
		{"fd00:10:96::1", "fd00:10:244::2", 1},
		{"fd00:10:96::1", "10.244.0.2", 1}, // a real server of the other IP version
	} {
		d := Dialled{To: netip.MustParseAddr(c.to), First: 20001, Last: 20008, Servers: []netip.Addr{netip.MustParseAddr(c.server)}}
		if got, err := d.inIPVS(strings.NewReader(ofIPVS)); err != nil || got != c.want {
			t.Errorf("%d connections from %s to %s, %v; want %d", got, c.to, c.server, err, c.want)
		}
	}
	for _, wrong := range []string{"TCP 0AF40105 D431 0A60000 x 0AF40002 4E21 S 1", "TCP 0AF40105 D431 xyz 4E21 0AF40002 4E21 S 1", "TCP 0AF40105 D431 0A600001 4E21 ::g 4E21 S 1"} {
		d := Dialled{To: netip.MustParseAddr("10.96.0.1"), First: 1, Last: 65535}
		if _, err := d.inIPVS(strings.NewReader(wrong)); err == nil {
			t.Errorf("no error for %q", wrong)
		}
	}
}
