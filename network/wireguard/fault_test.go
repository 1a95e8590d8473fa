package wireguard_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/network/networktest"
	"nettoll/network/wireguard"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestSmallMTU checks that the error is about the MTU, before anything depends on the kernel.
func TestSmallMTU(t *testing.T) {
	networktest.TooNarrow(t, wireguard.New(), 1350, "1360 or more: containers would have 1270,")
}

// TestProgramThatEnds checks that the network notices, and can still be taken down.
func TestProgramThatEnds(t *testing.T) {
	n := networktest.Build(t, wireguard.NewUserspace(nil), networktest.Pair)
	procs := n.Daemons
	if len(procs) != 2 {
		t.Fatalf("%d processes carry payload, want one on each host", len(procs))
	}
	networktest.Killed(t, n, procs[1].PID, "wireguard-go on h2")
}

// TestTwoAtOnce builds two networks, as runs on several numbers of hosts do. Their processes share the directory of their sockets.
func TestTwoAtOnce(t *testing.T) {
	first := networktest.Build(t, wireguard.NewUserspace(nil), networktest.Pair)
	second := networktest.Build(t, wireguard.NewUserspace(nil), networktest.Pair)
	iferr.Error(t, first.Broken(t.Context()))
	iferr.Error(t, second.Broken(t.Context()))
}
