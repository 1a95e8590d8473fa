package engine

import (
	"net/netip"
	"slices"
	"testing"
)

func TestTCPAddresses(t *testing.T) {
	for engine, want := range map[string][]netip.Addr{
		"unix:///var/run/docker.sock": nil,
		"http://docker.example.com":   nil, // stands for an engine that is reached by ssh
		"tcp://192.0.2.1:2376":        {netip.MustParseAddr("192.0.2.1")},
		"tcp://[2001:db8::1]:2376":    {netip.MustParseAddr("2001:db8::1")},
	} {
		if got := tcpAddresses(t.Context(), engine); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", engine, got, want)
		}
	}
}
