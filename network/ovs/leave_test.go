package ovs

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl/nltest"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// staying is a platform whose hosts stay when a network is closed.
type staying struct {
	platform.Platform
	hosts platform.Hosts
}

func (s staying) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return s, nil
}

func (s staying) All() []platform.Host      { return s.hosts.All() }
func (staying) Close(context.Context) error { return nil }
func (staying) Transient() bool             { return false }
func (s staying) inventories(t *testing.T) (all string) {
	t.Helper()
	for _, h := range s.hosts.All() {
		one, err := nltest.Inventory(h.Facts().NetNS)
		if err != nil {
			t.Fatal(err)
		}
		all += h.Name() + ":\n" + one
	}
	return all
}

// Also an Open vSwitch that has died leaves nothing, and hosts get their addresses back.
func TestDeadDaemonLeavesNothing(t *testing.T) {
	for _, name := range []string{"ovs-userspace-tso", "ovs-userspace-vxlan"} {
		t.Run(name, func(t *testing.T) { dies(t, named(t, name)) })
	}
}

func dies(t *testing.T, v variant) {
	count := v.Hosts[0]
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: count})
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close(context.Background())
	s := staying{lab.New(), hosts}
	before := s.inventories(t)
	b, err := v.on(t, network.Topology{Hosts: count, Servers: 1, Clients: 1}, s)
	if err != nil {
		t.Fatal(err)
	}
	if with := s.inventories(t); with == before {
		t.Errorf("a network has changed nothing:\n%s", with)
	}
	server := b.Servers[0].NS
	d := b.vswitches[0].daemon
	if err := unix.Kill(d.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	if err := b.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if after := s.inventories(t); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	if inside, err := nltest.Inventory(server); err != nil || strings.Contains(inside, "eth0") {
		t.Errorf("in the container: %v\n%s", err, inside)
	}
}
