package nft_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl/nft"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/wrap"
	"nettoll/platform/platformtest"
)

// TestTranslationsOfOthers checks that connections are counted which rules of another program, here nft, have directed to an
// address, in the way in which Docker writes such rules.
func TestTranslationsOfOthers(t *testing.T) {
	_, err := exec.LookPath("nft")
	platformtest.Require(t, "nft", err)
	for _, six := range []bool{false, true} {
		r := route(t)
		ip := map[bool]string{false: "ip", true: "ip6"}[six]
		gateway := map[bool]netip.Addr{false: netip.MustParseAddr("198.19.0.1"), true: netip.MustParseAddr("2001:2:0:1::1")}[six]
		source := map[bool]netip.Addr{false: netip.MustParseAddr("198.19.1.1"), true: netip.MustParseAddr("2001:2:0:2::1")}[six]
		to := func(port uint16) string { return netip.AddrPortFrom(r.rightAddr[six], port).String() }
		rules := fmt.Sprintf(`table %s others {
	chain translate {
		iifname != "br0" udp dport 20001 counter dnat to %s comment "DNAT"
		udp dport 20002 counter dnat to %s
		udp dport 20003 dnat to %s
		udp dport 20004 counter dnat to %s
	}
	chain prerouting { type nat hook prerouting priority dstnat; fib daddr type local counter jump translate; }
	chain postrouting { type nat hook postrouting priority srcnat; counter snat to %s; }
}`, ip, to(21001), to(21001), to(21001), netip.AddrPortFrom(r.leftAddr[six], 20004), source)
		iferr.Fatal(t, netns.Do(r.router, func() error {
			cmd := exec.CommandContext(t.Context(), "nft", "-f", "-")
			cmd.Stdin = strings.NewReader(rules)
			out, err := cmd.CombinedOutput()
			return wrap.Error(err, "%s", out)
		}))
		translated(t, "before", r, r.rightAddr[six], 2, 0)
		conn := receiver(t, r.right, netip.AddrPortFrom(r.rightAddr[six], 21001))
		for _, port := range []uint16{20001, 20001, 20002, 20003} {
			send(t, r.left, netip.AddrPortFrom(gateway, port), 3)
			arrive(t, conn, 3)
		}
		translated(t, "three of four connections", r, r.rightAddr[six], 2, 3)
		translated(t, "another address", r, r.leftAddr[six], 1, 0)
		translated(t, "an address that is only a source", r, source, 0, 0)
	}
}

// translated checks what was counted of an address. There is no such table of the other IP version.
func translated(t *testing.T, what string, r routed, to netip.Addr, rules int, packets uint64) {
	t.Helper()
	got, err := nft.ReadTranslation(r.router, "others", to)
	iferr.Fatal(t, err)
	if want := (nft.Translation{Table: true, Rules: rules, Packets: packets}); got != want {
		t.Errorf("%s (%s): %+v, want %+v", what, to, got, want)
	}
	other := netip.IPv6Unspecified()
	if to.Is6() {
		other = netip.IPv4Unspecified()
	}
	if got, err := nft.ReadTranslation(r.router, "others", other); err != nil || got.Table {
		t.Errorf("%s: a table of the other IP version: %+v, %v", what, got, err)
	}
}
