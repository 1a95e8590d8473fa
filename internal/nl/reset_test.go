package nl_test

import (
	"testing"

	"nettoll/internal/nl"
)

func TestResetDevice(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error { return n.AddPair("eth0", ns[1], "eth0", 1480) })
	before := inventory(t, ns[0])
	in(t, ns[0], func(n *nl.NS) error {
		if err := n.Up("eth0"); err != nil {
			return err
		}
		for _, a := range []string{"198.19.0.1/32", "2001:2:0:1::1/128"} {
			if err := n.Addr("eth0", prefix(a)); err != nil {
				return err
			}
		}
		l, err := n.Link("eth0")
		if err != nil {
			return err
		}
		return n.LinkSetMTU(l, 8980)
	})
	if inventory(t, ns[0]) == before {
		t.Fatal("nothing changed")
	}
	in(t, ns[0], func(n *nl.NS) error { return n.Reset("eth0", 1480) })
	if after := inventory(t, ns[0]); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
}
