package kubernetes

import (
	"errors"
	"net/netip"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// TestOneIPVersion has clusters of one IP version: IPv4 is measured unless the user says otherwise, so that leaving -4 out does not help.
func TestOneIPVersion(t *testing.T) {
	to := &plumb.Node{Endpoint: called{name: "h1c1"}}
	for f, want := range map[network.Family]string{network.IPv4: "measure IPv6 alone (-6)", network.IPv6: "measure IPv4 alone (-4)"} {
		missing, ok := errors.AsType[*platform.Unsupported](unlessBoth(nil, to, f, netip.Addr{}))
		if !ok || missing.Remedy != want {
			t.Errorf("without IPv%d: %+v, want the advice %q", f, missing, want)
		}
	}
	if err := unlessBoth(nil, to, network.IPv4, netip.MustParseAddr("192.0.2.1")); err != nil {
		t.Error(err)
	}
}
