package uplink

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// host is a machine with addresses, written as DEVICE ADDRESS/BITS. It sends to others from the first address whose network
// they are on, and otherwise by its first device.
type host []string

func (h host) Addresses(context.Context) (all []nl.Address, err error) {
	for _, text := range h {
		device, at, _ := strings.Cut(text, " ")
		all = append(all, nl.Address{Device: device, MTU: 1500, At: netip.MustParsePrefix(at)})
	}
	return all, nil
}

func (h host) Way(ctx context.Context, to netip.Addr) (w nl.Way, err error) {
	all, err := h.Addresses(ctx)
	all = slices.DeleteFunc(all, func(a nl.Address) bool { return a.At.Addr().Is4() != to.Is4() })
	if err != nil || len(all) == 0 {
		return w, errors.New("no route")
	}
	i := slices.IndexFunc(all, func(a nl.Address) bool { return a.At.Contains(to) })
	return nl.Way{Address: all[max(i, 0)]}, nil
}

// givenAt, reachedAt and unreached describe machines.
func givenAt(at string, all ...string) Machine {
	return Machine{Asked: host(all), Given: netip.MustParseAddr(at)}
}

func reachedAt(at string, all ...string) Machine {
	return Machine{Asked: host(all), Reached: []netip.Addr{netip.MustParseAddr(at)}}
}

func unreached(all ...string) Machine { return Machine{Asked: host(all)} }

func TestJoin(t *testing.T) {
	const docker0 = "docker0 172.17.0.1/16"
	for name, c := range map[string]struct {
		of   []Machine
		want []string // device and addresses of each; a single text is an error
	}{
		"alone":       {[]Machine{unreached("eth0 10.0.0.1/24")}, []string{""}},
		"one network": {[]Machine{unreached(docker0, "eth0 10.0.0.1/24"), unreached(docker0, "en1 10.0.0.2/24")}, []string{"eth0 10.0.0.1/24", "en1 10.0.0.2/24"}},
		"both IP versions": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth0 fd00::1/64"), unreached("eth0 10.0.0.2/24", "eth0 fd00::2/64")},
			[]string{"eth0 10.0.0.1/24 fd00::1/64", "eth0 10.0.0.2/24 fd00::2/64"},
		},
		"IPv6 over other devices": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth1 fd00::1/64"), unreached("eth0 10.0.0.2/24", "eth1 fd00::2/64")},
			[]string{"eth0 10.0.0.1/24", "eth0 10.0.0.2/24"},
		},
		"IPv6 alone": {[]Machine{unreached("eth0 fd00::1/64"), unreached("eth0 fd00::2/64")}, []string{"eth0 fd00::1/64", "eth0 fd00::2/64"}},
		"two addresses of one device": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth0 10.0.0.11/24"), unreached("eth0 10.0.0.2/24", "eth0 10.0.0.12/24")},
			[]string{"eth0 10.0.0.1/24", "eth0 10.0.0.2/24"},
		},
		"two networks": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth1 10.1.0.1/24"), unreached("eth0 10.0.0.2/24", "eth1 10.1.0.2/24")},
			[]string{"a and b reach each other over several networks, by 10.0.0.1 and 10.0.0.2 (eth0, eth0), or by 10.1.0.1 and 10.1.0.2 (eth1, eth1); name one with --address a=10.0.0.1,b=10.0.0.2"},
		},
		"two networks, and one is reached": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth1 10.1.0.1/24"), reachedAt("10.1.0.2", "eth0 10.0.0.2/24", "eth1 10.1.0.2/24")},
			[]string{"eth1 10.1.0.1/24", "eth1 10.1.0.2/24"},
		},
		"two networks, and one is reached over IPv6": {
			[]Machine{
				unreached("eth0 10.0.0.1/24", "eth1 10.1.0.1/24", "eth1 fd00::1/64"),
				reachedAt("fd00::2", "eth0 10.0.0.2/24", "eth1 10.1.0.2/24", "eth1 fd00::2/64"),
			},
			[]string{"eth1 10.1.0.1/24 fd00::1/64", "eth1 10.1.0.2/24 fd00::2/64"},
		},
		"two networks, and one is given": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth1 10.1.0.1/24"), givenAt("10.1.0.2", "eth0 10.0.0.2/24", "eth1 10.1.0.2/24")},
			[]string{"eth1 10.1.0.1/24", "eth1 10.1.0.2/24"},
		},
		"an IPv6 address is given": {
			[]Machine{
				unreached("eth0 10.0.0.1/24", "eth1 10.1.0.1/24", "eth1 fd00::1/64"),
				givenAt("fd00::2", "eth0 10.0.0.2/24", "eth1 10.1.0.2/24", "eth1 fd00::2/64"),
			},
			[]string{"eth1 10.1.0.1/24 fd00::1/64", "eth1 10.1.0.2/24 fd00::2/64"},
		},
		"an address of another is reached": { // such as that of a translating router
			[]Machine{unreached("eth0 10.0.0.1/24"), reachedAt("192.0.2.1", "eth0 10.0.0.2/24")},
			[]string{"eth0 10.0.0.1/24", "eth0 10.0.0.2/24"},
		},
		"routed": {[]Machine{reachedAt("10.0.0.1", "eth0 10.0.0.1/24"), unreached("eth0 10.1.0.2/24")}, []string{"eth0 10.0.0.1/24", "eth0 10.1.0.2/24"}},
		"routed, and nothing is known": {
			[]Machine{unreached(docker0, "eth0 10.0.0.1/24", "eth0 fd00::1/64"), unreached(docker0, "eth0 10.1.0.2/24")},
			[]string{"no addresses are known by which a and b reach each other; name them with --address a=ADDRESS,b=ADDRESS (a has 10.0.0.1 on eth0, fd00::1 on eth0; b has 10.1.0.2 on eth0)"},
		},
		"one machine": {
			[]Machine{unreached(docker0, "eth0 10.0.0.1/24"), unreached(docker0, "eth0 10.0.0.1/24")},
			[]string{"a and b have the same addresses: they are one machine, or have nothing that is not the other's, too"},
		},
		"one has an address of its own, and the other has not": {
			[]Machine{unreached(docker0, "eth0 10.0.0.1/24"), unreached(docker0)},
			[]string{"no addresses are known by which a and b reach each other; name them with --address a=ADDRESS,b=ADDRESS (a has 10.0.0.1 on eth0; b has none of its own)"},
		},
		"the same address is given": {
			[]Machine{unreached(docker0, "eth0 10.0.0.1/24"), givenAt("172.17.0.1", docker0, "eth0 10.0.0.2/24")},
			[]string{"--address b=172.17.0.1: that is not an address of b alone; of this IP version, b has 10.0.0.2 on eth0"},
		},
		"three": {
			[]Machine{unreached("eth0 10.0.0.1/24"), unreached("eth0 10.0.0.2/24"), unreached("eth0 10.0.0.3/24")},
			[]string{"eth0 10.0.0.1/24", "eth0 10.0.0.2/24", "eth0 10.0.0.3/24"},
		},
		"three on two networks": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth1 10.1.0.1/24"), unreached("eth0 10.0.0.2/24"), unreached("eth1 10.1.0.3/24")},
			[]string{"a reaches c from 10.1.0.1, and others from 10.0.0.1; name its address with --address a=ADDRESS"},
		},
		"three, of which the second has no IPv6": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth0 fd00::1/64"), unreached("eth0 10.0.0.2/24"), unreached("eth0 10.0.0.3/24", "eth0 fd00::3/64")},
			[]string{"eth0 10.0.0.1/24 fd00::1/64", "eth0 10.0.0.2/24", "eth0 10.0.0.3/24 fd00::3/64"},
		},
		"three, of which the third has other networks with either": {
			[]Machine{unreached("eth0 10.0.0.1/24", "eth1 fd00::1/64"), unreached("eth0 10.0.0.2/24"), unreached("eth1 fd00::3/64")},
			[]string{"a reaches c from fd00::1, and others from 10.0.0.1; name its address with --address a=ADDRESS"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.of {
				c.of[i].Name = string(rune('a' + i))
			}
			links, err := Join(t.Context(), c.of)
			if err != nil {
				if got := err.Error(); len(c.want) != 1 || got != c.want[0] {
					t.Errorf("%s\nwant %q", got, c.want)
				}
				return
			}
			var got []string
			for _, l := range links {
				got = append(got, text(l))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// text writes an uplink as its device and its addresses.
func text(l platform.Uplink) string {
	all := l.Device
	for _, at := range []netip.Prefix{l.Addr4, l.Addr6} {
		if at.IsValid() {
			all += " " + at.String()
		}
	}
	return all
}

func TestWays(t *testing.T) {
	links, err := Join(t.Context(), []Machine{unreached("eth0 10.0.0.1/24"), unreached("en1 10.0.0.2/24")})
	iferr.Fatal(t, err)
	if got, want := Ways([]string{"a", "b"}, links), []string{"a (10.0.0.1, eth0) and b (10.0.0.2, en1)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
