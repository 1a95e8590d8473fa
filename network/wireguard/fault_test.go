package wireguard_test

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/network/wireguard"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestSmallMTU wants to be told what is wrong before anything depends on the kernel.
func TestSmallMTU(t *testing.T) {
	topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1, Underlay: platform.Underlay{MTU: 1350}}
	_, err := wireguard.New().Connect(t.Context(), topo, lab.New())
	if err == nil || !strings.Contains(err.Error(), "wireguard on an underlay with the MTU 1350: not supported here (needs 1360 or more: containers would have 1270,") {
		t.Error(err)
	}
}

// TestProgramThatEnds wants the network to know, and to be taken down all the same.
func TestProgramThatEnds(t *testing.T) {
	tech := wireguard.NewUserspace(nil)
	platformtest.Require(t, "wireguard-go", tech.Probe(t.Context(), lab.New()))
	n, err := tech.Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	fault := n.Broken
	if err := fault(t.Context()); err != nil {
		t.Error(err)
	}
	procs := n.Daemons
	if len(procs) != 2 {
		t.Fatalf("%d processes carry payload, want one on each host", len(procs))
	}
	if err := unix.Kill(procs[1].PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for err = fault(t.Context()); err == nil && t.Context().Err() == nil; err = fault(t.Context()) {
		continue // the end is noticed by another goroutine
	}
	if !strings.HasPrefix(err.Error(), "wireguard-go on h2 ended (signal: killed)") {
		t.Error(err)
	}
	if err := n.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
