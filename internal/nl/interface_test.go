package nl_test

import (
	"testing"

	"nettoll/internal/nl"
)

// TestDirectionsOfADevice has one end of a pair send to the other.
func TestDirectionsOfADevice(t *testing.T) {
	frame := append([]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5}, make([]byte, 1000)...) // see TestPacketHearsTheOtherEndOnly
	inPair(t, func() error {
		a, err := nl.Packet("a")
		if err != nil {
			return err
		}
		defer a.Close()
		const frames = 100 // more than the kernel sends by itself
		for range frames {
			if _, err := a.Write(frame); err != nil {
				return err
			}
		}
		return nl.With("", func(n *nl.NS) error {
			for _, name := range []string{"a", "b"} {
				d, err := n.Interface(name)
				if err != nil {
					return err
				}
				less, more := [2]uint64{d.In, d.InBytes}, [2]uint64{d.Packets - d.In, d.Bytes - d.InBytes}
				if name == "b" {
					less, more = more, less
				}
				if less[0] > frames/2 || less[1] > frames*500 || more[0] < frames || more[1] < frames*1000 {
					t.Errorf("%s counts %+v", name, d)
				}
			}
			return nil
		})
	})
}

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
