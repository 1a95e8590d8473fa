package nft_test

import (
	"errors"
	"net/netip"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl/nft"
	"nettoll/internal/nl/nltest"
	"nettoll/platform/platformtest"
)

// everything returns a table with each kind of part.
func everything(t *testing.T, ns string) *nft.Firewall {
	fw := firewall(t, ns)
	sub := fw.Chain("SUB")
	sub.Rule(nft.Return())
	forward := fw.BaseChain("FORWARD", nft.Forward, true)
	forward.Rule(nft.In("br0"), nft.NotOut("br0"), nft.Jump(sub))
	forward.Rule(nft.Out("br0"), nft.Established(), nft.Accept())
	forward.Rule(nft.Drop())
	six := netip.MustParseAddr("2001:2:0:1::2")
	nat := fw.BaseChain("PREROUTING", nft.PreroutingNAT, false)
	nat.Rule(nft.ToLocal(), nft.Ports(unix.IPPROTO_TCP, 20001, 20008), nft.DNAT(netip.MustParseAddr("198.19.0.2")))
	nat.Rule(nft.To(single(six)), nft.Ports(unix.IPPROTO_UDP, 20001, 20008), nft.DNAT(six))
	fw.BaseChain("OUTPUT", nft.OutputNAT, false)
	post := fw.BaseChain("POSTROUTING", nft.PostroutingNAT, false)
	post.Rule(nft.From(netip.MustParsePrefix("198.19.0.0/20")), nft.NotOut("br0"), nft.Masquerade())
	post.Rule(nft.From(netip.MustParsePrefix("2001:2:0:1::/64")), nft.SNAT(six))
	return fw
}

const everythingText = `table inet tested {
	chain SUB {
		counter return
	}
	chain FORWARD { type filter hook forward; policy drop;
		iifname "br0" oifname != "br0" counter jump SUB
		oifname "br0" ct state established,related counter accept
		counter drop
	}
	chain PREROUTING { type nat hook prerouting; policy accept;
		fib daddr type local tcp dport 20001-20008 counter dnat ip to 198.19.0.2
		ip6 daddr 2001:2:0:1::2 udp dport 20001-20008 counter dnat ip6 to 2001:2:0:1::2
	}
	chain OUTPUT { type nat hook output; policy accept;
	}
	chain POSTROUTING { type nat hook postrouting; policy accept;
		ip saddr 198.19.0.0/20 oifname != "br0" counter masquerade
		ip6 saddr 2001:2:0:1::/64 counter snat ip6 to 2001:2:0:1::2
	}
}
`

// TestKernelHasTheRules compares the rules with those that the program nft reads back.
func TestKernelHasTheRules(t *testing.T) {
	ns := route(t).router
	commit(t, everything(t, ns))
	got, err := nltest.Rules(t.Context(), ns, "ruleset", "inet")
	if errors.Is(err, exec.ErrNotFound) {
		platformtest.Require(t, "nft", err)
	}
	if err != nil || got != everythingText {
		t.Errorf("%v, got\n%swant\n%s", err, got, everythingText)
	}
}
