package lab

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// TestSwitchSendsAtTheRateOfALink checks that a host to which several others send at once receives no more than its link carries.
func TestSwitchSendsAtTheRateOfALink(t *testing.T) {
	const rate = 100_000_000
	hosts, err := New().Hosts(t.Context(), platform.HostRequest{Count: 3, Underlay: platform.Underlay{Rate: rate}})
	iferr.Fatal(t, err)
	defer hosts.Close(context.Background())
	shaped := 0
	for _, ns := range hosts.(*site).all {
		is, err := nl.HasDevice(ns.Path(), switchDevice)
		iferr.Fatal(t, err)
		for i := 0; is && i < 3; i++ {
			iferr.Fatal(t, nl.With(ns.Path(), func(n *nl.NS) error {
				l, err := n.Link(port(i))
				if err != nil {
					return err
				}
				all, err := n.QdiscList(l)
				for _, q := range all {
					if tbf, ok := q.(*netlink.Tbf); ok && tbf.Rate*8 == rate {
						shaped++
					}
				}
				return err
			}))
		}
	}
	if shaped != 3 {
		t.Errorf("%d of 3 ports of the switch send at the rate of a link", shaped)
	}
}

func TestSwitchPassesNothingThroughNetfilter(t *testing.T) {
	hosts, err := New().Hosts(t.Context(), platform.HostRequest{Count: 3})
	iferr.Fatal(t, err)
	defer hosts.Close(context.Background())
	found := false
	for _, ns := range hosts.(*site).all {
		is, err := nl.HasDevice(ns.Path(), switchDevice)
		iferr.Fatal(t, err)
		if !is {
			continue
		}
		found = true
		for _, key := range netns.BridgeNetfilter {
			got, err := netns.Sysctl(ns.Path(), key)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("br_netfilter is not loaded")
			}
			if err != nil || got != "0" {
				t.Errorf("%s is %q, %v", key, got, err)
			}
		}
	}
	if !found {
		t.Error("three hosts have no switch")
	}
}

// TestSingleHostHasACarrier checks that the uplink of a single host carries packets, though there is no switch, which would be slow
// to remove.
func TestSingleHostHasACarrier(t *testing.T) {
	hosts, err := New().Hosts(t.Context(), platform.HostRequest{Count: 1})
	iferr.Fatal(t, err)
	defer hosts.Close(context.Background())
	for _, ns := range hosts.(*site).all {
		is, err := nl.HasDevice(ns.Path(), switchDevice)
		iferr.Fatal(t, err)
		if is {
			t.Error("a single host has a switch")
		}
	}
	iferr.Error(t, nl.With(hosts.All()[0].Facts().NetNS, func(n *nl.NS) error { return n.Running(t.Context(), uplinkDevice) }))
}
