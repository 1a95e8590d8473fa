package lab

import (
	"errors"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

func TestNamespacesWithoutIPv6(t *testing.T) {
	all, err := netns.New(t.Context(), 1, nothing)
	iferr.Fatal(t, err)
	defer all[0].Close()
	iferr.Error(t, netns.Do(all[0].Path(), needIPv6))
	iferr.Fatal(t, netns.SetSysctl(all[0].Path(), "net/ipv6/conf/default/disable_ipv6", "1"))
	if err := netns.Do(all[0].Path(), needIPv6); !errors.Is(err, platform.ErrUnsupported) {
		t.Errorf("IPv6 is turned off: %v", err)
	}
}
