package lab_test

import (
	"os"
	"testing"

	"github.com/google/nftables"

	"nettoll/internal/nl"
	"nettoll/platform"
	"nettoll/platform/lab"
)

func TestHostsHaveRulesAndMTU(t *testing.T) {
	const rules = 1200 // more than one message holds
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2, Rules: rules, Underlay: platform.Underlay{MTU: 9000}})
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close(t.Context())
	for _, h := range hosts.All() {
		u := h.Uplink()
		err := nl.With(h.Facts().NetNS, func(n *nl.NS) error {
			l, err := n.Link(u.Device)
			if err == nil && (l.Attrs().MTU != 9000 || u.MTU != 9000) {
				t.Errorf("%s: MTU %d, said to be %d, want 9000", h.Name(), l.Attrs().MTU, u.MTU)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if n := countRules(t, h); n != 2*rules+4 {
			t.Errorf("%s: %d rules, want %d for each IP version and 4 that lead there", h.Name(), n, rules)
		}
	}
}

// countRules is how many firewall rules a host has.
func countRules(t *testing.T, h platform.Host) (n int) {
	t.Helper()
	ns, err := os.Open(h.Facts().NetNS)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	conn, err := nftables.New(nftables.WithNetNSFd(int(ns.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	chains, err := conn.ListChains()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chains {
		rules, err := conn.GetRules(c.Table, c)
		if err != nil {
			t.Fatal(err)
		}
		n += len(rules)
	}
	return n
}
