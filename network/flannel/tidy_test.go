package flannel

import (
	"context"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// staying are hosts that outlive networks.
type staying struct {
	platform.Platform
	hosts platform.Hosts
}

func (s staying) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return kept{s.hosts}, nil
}

type kept struct{ platform.Hosts }

func (kept) Close(context.Context) error { return nil }

func (kept) Transient() bool { return false }

// TestKilledDaemonLeavesNothing: a flanneld that is killed cannot put its host in order.
// One of the hosts has rules of its own, which stay.
func TestKilledDaemonLeavesNothing(t *testing.T) {
	for _, name := range []string{"flannel-vxlan", "flannel-host-gw"} {
		t.Run(name, func(t *testing.T) {
			tech := named(t, name)
			hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer hosts.Close(context.Background())
			own := []string{"-w", "-A", "FORWARD", "-s", "198.18.99.99", "-j", "DROP"}
			if err := run(t.Context(), &plumb.Host{Host: hosts.All()[0]}, "iptables", own...); err != nil {
				t.Fatal(err)
			}
			before := networktest.State(t, hosts.All()...)
			s, err := plumb.Begin(t.Context(), two, staying{lab.New(), hosts})
			if err != nil {
				t.Fatal(err)
			}
			n, err := tech.build(t.Context(), &plumb.Network{Site: s})
			if err != nil {
				t.Fatal(s.Abandon(t.Context(), err))
			}
			for _, d := range n.Needed[1:] {
				if err := d.Kill(); err != nil {
					t.Error(err)
				}
			}
			if err := n.Close(t.Context()); err != nil {
				t.Error(err)
			}
			networktest.Same(t, "after flanneld was killed", before, networktest.State(t, hosts.All()...))
			for _, program := range []string{"iptables", "ip6tables"} {
				if run(t.Context(), &plumb.Host{Host: hosts.All()[0]}, program, "-w", "-S", chain) == nil {
					t.Errorf("%s: flanneld's chain is still there", program)
				}
			}
			if err := run(t.Context(), &plumb.Host{Host: hosts.All()[0]}, "iptables", append([]string{"-w", "-C"}, own[2:]...)...); err != nil {
				t.Errorf("the host's own rule is gone: %v", err)
			}
		})
	}
}
