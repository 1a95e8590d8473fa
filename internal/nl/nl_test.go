package nl_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
)

func TestPairHasOneEndInEachNamespace(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error { return n.AddPair("here", ns[1], "there", 0) })
	for i, want := range []string{
		"device here (veth) mtu 1500\ndevice lo (device) mtu 65536\n",
		"device lo (device) mtu 65536\ndevice there (veth) mtu 1500\n",
	} {
		if got := inventory(t, ns[i]); got != want {
			t.Errorf("namespace %d has\n%swant\n%s", i, got, want)
		}
	}
	err := nl.With(ns[0], func(n *nl.NS) error { return n.AddPair("here", ns[1], "other", 0) })
	if !errors.Is(err, unix.EEXIST) || !strings.HasPrefix(err.Error(), "add veth here: ") {
		t.Errorf("a second one of that name: %v", err)
	}
	err = nl.With(ns[0], func(n *nl.NS) error { return n.AddPair("more", "/no/such/namespace", "more", 0) })
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into no namespace: %v", err)
	}
}

func TestRemoveTwiceDoesNoHarm(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error { return n.AddPair("here", ns[1], "there", 0) })
	for range 2 {
		in(t, ns[0], func(n *nl.NS) error { return n.Remove("here") })
	}
	in(t, ns[1], func(n *nl.NS) error { return n.Remove("there") }) // went with the other end
	for _, path := range ns {
		if got := inventory(t, path); got != "device lo (device) mtu 65536\n" {
			t.Errorf("left:\n%s", got)
		}
	}
	err := nl.With(ns[0], func(n *nl.NS) error { return n.Remove("lo") })
	if err == nil || !strings.HasPrefix(err.Error(), "remove device lo: ") {
		t.Errorf("lo was removed: %v", err)
	}
}

func TestErrorsNameOperationAndObject(t *testing.T) {
	in(t, namespaces(t, 1)[0], func(n *nl.NS) error {
		for want, err := range map[string]error{
			"find device eth7: ":                          n.Up("eth7"),
			"find device eth8: ":                          n.Addr("eth8", prefix("198.19.0.1/24")),
			"find device eth9: ":                          n.Master("lo", "eth9"),
			"add route to 198.19.0.0/20 via 198.18.0.1: ": n.Route(prefix("198.19.0.0/20"), addr("198.18.0.1"), "lo"),
			"add bridge a-name-of-more-than-15-letters: ": n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "a-name-of-more-than-15-letters"}}),
			"add lo to bridge lo: ":                       n.Master("lo", "lo"),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error is %v, want one that begins with %q", err, want)
			}
		}
		return nil
	})
	if _, err := nl.Open("/no/such/namespace"); err == nil || !strings.Contains(err.Error(), "/no/such/namespace") {
		t.Errorf("error is %v", err)
	}
}
