package nl_test

import (
	"testing"

	"nettoll/internal/nl"
)

func TestHomeOfTheOtherEnd(t *testing.T) {
	ns := namespaces(t, 3)
	in(t, ns[0], func(n *nl.NS) error { return n.AddPair("a", ns[1], "b", 0) })
	in(t, ns[1], func(n *nl.NS) error {
		l, err := n.Link("b")
		if err != nil {
			return err
		}
		for i, want := range []bool{true, false, false} {
			home, err := n.HomeOf(ns[i])
			if err != nil {
				return err
			}
			if got := home != nl.Here && int(home) == l.Attrs().NetNsID; got != want {
				t.Errorf("namespace %d is %d, and the other end of b in %d", i, home, l.Attrs().NetNsID)
			}
		}
		return nil
	})
	if err := nl.With(ns[0], func(n *nl.NS) error { _, err := n.HomeOf("/nowhere"); return err }); err == nil {
		t.Error("a namespace that does not exist has a number")
	}
}
