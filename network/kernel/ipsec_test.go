package kernel_test

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// TestIPsecLeavesNothing checks states and policies, which no list of devices and routes shows.
func TestIPsecLeavesNothing(t *testing.T) {
	tech := kernel.IPsec()
	if err := tech.Probe(t.Context(), lab.New()); errors.Is(err, platform.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	on, _ := networktest.Keep(t, lab.New(), 2)
	n, err := tech.Connect(t.Context(), networktest.Pair, on)
	iferr.Fatal(t, err)
	// Two directions and two families; a receiving host has one policy for itself and one for
	// packets that it forwards.
	want(t, n, 4, 6)
	iferr.Error(t, n.Close(t.Context()))
	want(t, n, 0, 0)
}

func want(t *testing.T, n *network.Network, states, policies int) {
	t.Helper()
	for _, h := range n.Hosts {
		s, p, err := associations(h.Facts().NetNS)
		iferr.Fatal(t, err)
		if s != states || p != policies {
			t.Errorf("%s has %d associations and %d policies, want %d and %d", h.Name(), s, p, states, policies)
		}
	}
}

// associations counts the associations and policies of a namespace, of any kind.
func associations(ns string) (states, policies int, err error) {
	err = netns.Do(ns, func() error {
		s, err := netlink.XfrmStateList(netlink.FAMILY_ALL)
		if err != nil {
			return err
		}
		p, err := netlink.XfrmPolicyList(netlink.FAMILY_ALL)
		states, policies = len(s), len(p)
		return err
	})
	return states, policies, err
}
