package lab

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

func TestSwitchPassesNothingThroughNetfilter(t *testing.T) {
	hosts, err := New().Hosts(t.Context(), platform.HostRequest{Count: 3})
	iferr.Fatal(t, err)
	defer hosts.Close(context.Background())
	found := false
	for _, ns := range hosts.(*site).all {
		is, err := nl.HasDevice(ns.Path(), "switch")
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
