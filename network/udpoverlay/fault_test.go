package udpoverlay_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/network/udpoverlay"
	"nettoll/platform"
	"nettoll/platform/lab"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// connect builds a network of two hosts.
func connect(t *testing.T, tech network.Driver) *network.Network {
	t.Helper()
	if err := tech.Probe(t.Context(), lab.New()); err != nil {
		t.Skip(err)
	}
	n, err := tech.Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
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
			if err := unix.Kill(n.Daemons[1].PID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	const want = "udp-overlay on h1: from overlay-packet to the underlay nothing is carried any more: "
	got := fault(t, n)
	for got == "" { // until the process has noticed
		time.Sleep(time.Millisecond)
		got = fault(t, n)
	}
	if !strings.HasPrefix(got, want) {
		t.Errorf("fault %q, want %q…", got, want)
	}
}

func TestUnderlayTooSmall(t *testing.T) {
	for want, tech := range map[string]network.Driver{
		"udp-overlay-tun on an underlay with the MTU 1300: not supported here (needs 1308 or more: containers would have 1272, and IPv6 needs 1280)":    udpoverlay.NewTUN(),
		"udp-overlay-packet on an underlay with the MTU 1300: not supported here (needs 1322 or more: containers would have 1258, and IPv6 needs 1280)": udpoverlay.NewPacket(),
	} {
		topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1, Underlay: platform.Underlay{MTU: 1300}}
		if _, err := tech.Connect(t.Context(), topo, lab.New()); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
