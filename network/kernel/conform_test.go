package kernel_test

import (
	"slices"
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/network/udpoverlay"
	"nettoll/network/wireguard"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestConformance runs the suite on the networks that need nothing but the kernel, in
// one lab: a program and a lab for each would take longer than the tests.
func TestConformance(t *testing.T) {
	for _, d := range slices.Concat(kernel.All(), []network.Driver{
		wireguard.New(), wireguard.NewUserspace(nil), udpoverlay.NewTUN(), udpoverlay.NewPacket(),
	}) {
		t.Run(d.Name, func(t *testing.T) { networktest.Conform(t, d) })
	}
}
