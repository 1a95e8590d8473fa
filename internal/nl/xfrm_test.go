package nl_test

import (
	"testing"

	"nettoll/internal/nl"
)

// TestESPPayloadFits checks that the result is exactly the largest packet that fits.
func TestESPPayloadFits(t *testing.T) {
	wire := func(packet int) int { // RFC 4303 and 4106: IP header, SPI and sequence number, IV, payload padded to 4 with a trailer of 2, ICV
		return 20 + 8 + 8 + (packet+2+3)/4*4 + 16
	}
	for mtu := 1280; mtu <= 9000; mtu++ {
		if p := nl.ESPPayload(mtu); wire(p) > mtu || wire(p+1) <= mtu {
			t.Fatalf("MTU %d: %d bytes of payload take %d, and one more takes %d", mtu, p, wire(p), wire(p+1))
		}
	}
	if got := nl.ESPPayload(1500); got != 1446 { // as the kernel computes it
		t.Errorf("an MTU of 1500 carries %d, want 1446", got)
	}
}
