package udpoverlay_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/networktest"
	"nettoll/network/udpoverlay"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// connect builds a network of two hosts.
func connect(t *testing.T, tech network.Driver) *network.Network {
	t.Helper()
	return networktest.Build(t, tech, networktest.Pair)
}

func fault(t *testing.T, n *network.Network) string {
	t.Helper()
	if err := n.Broken(t.Context()); err != nil {
		return err.Error()
	}
	return ""
}

func TestProcessThatEndsIsAFault(t *testing.T) {
	for _, tech := range []network.Driver{udpoverlay.NewTUN(), udpoverlay.NewPacket()} {
		t.Run(tech.Name, func(t *testing.T) {
			n := connect(t, tech)
			if got := fault(t, n); got != "" {
				t.Fatalf("a network at work has the fault %s", got)
			}
			iferr.Fatal(t, unix.Kill(n.Daemons[1].PID, unix.SIGKILL))
			if got := fault(t, n); !strings.Contains(got, "udp-overlay on h2: agent") || strings.Contains(got, "\n") {
				t.Errorf("fault %q", got)
			}
		})
	}
}

func TestDeviceThatGoesIsAFault(t *testing.T) {
	n := connect(t, udpoverlay.NewPacket())
	host := n.Hosts[0]
	err := nl.With(host.Facts().NetNS, func(ns *nl.NS) error { return ns.Remove("overlay-bridge") })
	iferr.Fatal(t, err)
	const want = "udp-overlay on h1: nothing is carried any more from overlay-packet to the underlay: "
	got := fault(t, n)
	for over := time.Now().Add(time.Minute); got == "" && time.Now().Before(over); { // until the process has noticed
		time.Sleep(time.Millisecond)
		got = fault(t, n)
	}
	if !strings.HasPrefix(got, want) {
		t.Errorf("fault %q, want %q…", got, want)
	}
}

func TestUnderlayTooSmall(t *testing.T) {
	networktest.TooNarrow(t, udpoverlay.NewTUN(), 1300, "1308 or more: containers would have 1272, and IPv6 needs 1280)")
	networktest.TooNarrow(t, udpoverlay.NewPacket(), 1300, "1322 or more: containers would have 1258, and IPv6 needs 1280)")
}
