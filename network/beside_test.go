package network_test

import (
	"errors"
	"testing"

	"nettoll/network"
	"nettoll/platform"
)

// TestBeside checks that networks on the same machines have ports of their own, as long as there are some below those of clients.
func TestBeside(t *testing.T) {
	topo := network.Topology{Hosts: 2, Servers: 2, Clients: 3}
	for place, want := range map[int]int{0: 0, 1: 20017, 2: 20033, 796: 32737} {
		at, err := topo.Beside(place, 32767)
		if err != nil || at.FirstPort != want {
			t.Errorf("network %d: port %d, want %d, %v", place, at.FirstPort, want, err)
		}
	}
	if _, err := topo.Beside(797, 32767); !errors.Is(err, platform.ErrUnsupported) { // it would have 32753 to 32768
		t.Error(err)
	}
}
