package kernel_test

import (
	"testing"

	"nettoll/network/kernel"
	"nettoll/network/networktest"
)

// TestSmallMTU checks that the error is about the MTU, before anything depends on the kernel.
func TestSmallMTU(t *testing.T) {
	networktest.TooNarrow(t, kernel.GRE(), 1290, "1304 or more: containers would have 1266,")
	networktest.TooNarrow(t, kernel.IPsec(), 1290, "1336 or more: containers would have 1234,")
}
