package nl_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
)

func TestDeviceIsGivenToAnotherNamespace(t *testing.T) {
	paths := namespaces(t, 2)
	in(t, paths[0], func(n *nl.NS) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "given"
		if err := n.Add(&netlink.Veth{LinkAttrs: attrs, PeerName: "kept"}); err != nil {
			return err
		}
		if err := n.Give("none", paths[1], "eth1"); !errors.As(err, &netlink.LinkNotFoundError{}) {
			t.Errorf("a device that is not there: %v", err)
		}
		return n.Give("given", paths[1], "eth0")
	})
	here, there := inventory(t, paths[0]), inventory(t, paths[1])
	if strings.Contains(here, "device given") || !strings.Contains(here, "device kept") || !strings.Contains(there, "device eth0 (veth)") {
		t.Errorf("here:\n%sthere:\n%s", here, there)
	}
}

func TestAddressIsTakenFromADevice(t *testing.T) {
	path := namespaces(t, 1)[0]
	before := inventory(t, path)
	in(t, path, func(n *nl.NS) error {
		for _, p := range []string{"198.18.0.1/16", "2001:2::1/64"} {
			if err := n.Addr("lo", prefix(p)); err != nil {
				return err
			}
			for range 2 { // the second time it has none
				if err := n.Unaddr("lo", prefix(p)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if after := inventory(t, path); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

func TestFamiliesOfGenericNetlink(t *testing.T) {
	path := namespaces(t, 1)[0]
	if err := nl.HasFamily(path, "nlctrl"); err != nil { // that which knows all others
		t.Error(err)
	}
	err := nl.HasFamily(path, "no-such")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "generic netlink family no-such") {
		t.Error(err)
	}
}
