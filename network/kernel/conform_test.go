package kernel_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/network/udpoverlay"
	"nettoll/network/wireguard"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestConformance runs the suite on the networks that need nothing but the kernel, in one lab: a
// program and a lab for each would take longer than the tests.
func TestConformance(t *testing.T) {
	networktest.ConformEach(t, append(kernel.All(),
		wireguard.New(), wireguard.NewUserspace(nil), udpoverlay.NewTUN(), udpoverlay.NewPacket(),
	)...)
}
