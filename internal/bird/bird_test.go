package bird

import (
	"net/netip"
	"strings"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

type host struct {
	platform.Host
	addr4, addr6 string
}

func (h host) Uplink() platform.Uplink {
	return platform.Uplink{Device: "eth0", Addr4: netip.MustParsePrefix(h.addr4), Addr6: netip.MustParsePrefix(h.addr6)}
}

func TestConfig(t *testing.T) {
	s := &plumb.Site{Hosts: []*plumb.Host{
		{Host: host{addr4: "198.18.0.1/16", addr6: "2001:2:0:ffff::1/64"}},
		{Host: host{addr4: "198.18.0.2/16", addr6: "2001:2:0:ffff::2/64"}, Index: 1},
	}}
	plain := Mesh{Routes: plumb.Routes{Site: s, Families: []bool{false, true}}}
	tunnelled := Mesh{Routes: plumb.Routes{Site: s, Families: []bool{false}}, Tunnel: "tunl0"}
	for _, c := range []struct {
		mesh Mesh
		has  []string
		not  string
	}{
		{plain, []string{
			"router id 198.18.0.1;",
			"static { ipv4; route 198.19.0.0/20 blackhole; }", "static { ipv6; route 2001:2:0:1::/64 blackhole; }",
			"local 2001:2:0:ffff::1 as 64512; neighbor 2001:2:0:ffff::2 as 64512; multihop; connect delay time 1; passive on;",
			"\tipv6 { gateway recursive; import all;",
		}, "tunnelled"},
		{tunnelled, []string{
			"route 198.18.0.2/32 via 198.18.0.2%tunl0 onlink;", "\tipv4 { gateway recursive; igp table tunnelled; import all;",
		}, "ipv6"},
	} {
		got := c.mesh.config(s.Hosts[0])
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
		if strings.Contains(got, c.not) {
			t.Errorf("%s in\n%s", c.not, got)
		}
		// The other end is the one that connects.
		if strings.Contains(c.mesh.config(s.Hosts[1]), "passive") {
			t.Error("both ends wait to be called")
		}
	}
}
