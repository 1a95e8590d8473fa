package kernel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// kept is a platform whose hosts stay when a network is closed.
type kept struct{ platform.Platform }

// Hosts implements platform.Platform.
func (k kept) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	h, err := k.Platform.Hosts(ctx, req)
	return stay{h}, err
}

type stay struct{ platform.Hosts }

func (stay) Close(context.Context) error { return nil }

func (stay) Transient() bool { return false }

// TestIPsecLeavesNothing looks at what no list of devices and routes shows.
func TestIPsecLeavesNothing(t *testing.T) {
	tech := kernel.IPsec()
	if err := tech.Probe(t.Context(), lab.New()); errors.Is(err, platform.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	n, err := tech.Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, kept{lab.New()})
	if err != nil {
		t.Fatal(err)
	}
	// Two directions and two families; a host that receives has a policy for itself and
	// one for what it forwards.
	want(t, n, 4, 6)
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, n, 0, 0)
}

func want(t *testing.T, n *network.Network, states, policies int) {
	t.Helper()
	for _, h := range n.Hosts {
		s, p, err := associations(h.Facts().NetNS)
		if err != nil {
			t.Fatal(err)
		}
		if s != states || p != policies {
			t.Errorf("%s has %d associations and %d policies, want %d and %d", h.Name(), s, p, states, policies)
		}
	}
}

// associations is how many associations and policies a namespace has, of any kind.
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
