package lab_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
)

// outside makes one end of a veth pair whose other end is in the namespace at path. there reports whether it still
// exists, which it does as long as that namespace does.
func outside(t *testing.T, path string) (there func() bool) {
	t.Helper()
	all, err := netns.New(t.Context(), 1, func() error { return nil })
	iferr.Fatal(t, err)
	t.Cleanup(func() { all[0].Close() })
	ns := all[0].Path()
	iferr.Fatal(t, nl.With(ns, func(n *nl.NS) error { return n.AddPair("outside", path, "inside", 0) }))
	return func() bool {
		has, err := nl.HasDevice(ns, "outside")
		iferr.Error(t, err)
		return has
	}
}

func TestGoneWaitsForTheKernel(t *testing.T) {
	l := lab.New()
	hosts, err := l.Hosts(t.Context(), platform.HostRequest{Count: 1})
	iferr.Fatal(t, err)
	containers, err := hosts.All()[0].Containers(t.Context(), 200)
	iferr.Fatal(t, err)
	there := outside(t, containers[0].Facts().NetNS)
	if err := l.Gone(t.Context()); err != nil || !there() {
		t.Errorf("nothing was closed: %v", err)
	}
	iferr.Fatal(t, hosts.Close(t.Context()))
	stopped := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if err := l.Gone(ctx); !errors.Is(err, stopped) && there() {
		t.Errorf("it did not hear that it was interrupted: %v", err)
	}
	iferr.Fatal(t, l.Gone(t.Context()))
	if there() {
		t.Error("a container is still there")
	}
}

// tired is a context that ends after a given number of calls that ask whether it has.
type tired struct {
	context.Context
	left atomic.Int64
}

func (c *tired) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestBuildingHearsAnInterrupt interrupts the building of a network at different points.
func TestBuildingHearsAnInterrupt(t *testing.T) {
	topo := network.Topology{Hosts: 1, Servers: 1, Clients: 1, Setup: record.Setup{Neighbours: 150, Rules: 500}}
	for _, after := range []int64{0, 5, 150, 400, 600, 650, 700, 750} {
		ctx := &tired{Context: t.Context()}
		ctx.left.Store(after)
		n, err := kernel.Bridge().Connect(ctx, topo, lab.New())
		if err == nil {
			n.Close(context.Background())
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted when it had looked for that %d times: %v", after, err)
		}
	}
}
