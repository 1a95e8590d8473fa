package nft_test

import (
	"net/netip"
	"os/exec"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl/nft"
)

// everything is a table with each kind of part.
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

func TestStringSaysWhatTheRulesAre(t *testing.T) {
	if got := everything(t, "/proc/self/ns/net").String(); got != everythingText {
		t.Errorf("got\n%swant\n%s", got, everythingText)
	}
}

// TestStringIsWhatTheKernelHas compares with what the program nft reads back.
func TestStringIsWhatTheKernelHas(t *testing.T) {
	program, err := exec.LookPath("nft")
	if err != nil {
		t.Skip(err)
	}
	ns := route(t).router
	fw := everything(t, ns)
	commit(t, fw)
	var out []byte
	err = netns.Do(ns, func() error {
		out, err = exec.Command(program, "list", "table", "inet", "tested").CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The same, but for the counters, which nft lists first and by name, and the
	// priorities.
	got := string(out)
	for _, change := range [][2]string{
		{`(?s)\tcounter rule\d+ \{.*?\n\t\}\n`, ""},
		{`counter name "rule\d+"`, "counter"},
		{`(chain \w+ \{)\n\t\t(type \w+ hook \w+) priority [\w-]+; `, "$1 $2; "},
		{`\n\n+`, "\n"},
	} {
		got = regexp.MustCompile(change[0]).ReplaceAllString(got, change[1])
	}
	if got != everythingText {
		t.Errorf("nft lists\n%swhich is\n%swant\n%s", out, got, everythingText)
	}
}
