package flannel

import (
	"errors"
	"strings"
	"testing"

	"nettoll/platform"
	"nettoll/platform/lab"
)

func TestNarrowUnderlayIsRefused(t *testing.T) {
	topo := two
	topo.Underlay.MTU = 1300
	n, err := named(t, "flannel-vxlan").driver().Connect(t.Context(), topo, lab.New())
	var small *platform.Unsupported
	if !errors.As(err, &small) || small.Remedy != "--mtu 1350" {
		t.Errorf("%v, %v", n, err)
	}
	// What is said to do does, and IPv4, which flannel-udp carries alone, needs less.
	for name, mtu := range map[string]int{"flannel-vxlan": 1350, "flannel-udp": 1280} {
		topo.Underlay.MTU = mtu
		n, err := named(t, name).driver().Connect(t.Context(), topo, lab.New())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := n.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestNarrowTunnelIsNoted(t *testing.T) {
	for name, want := range map[string]string{
		"flannel-vxlan":        "flannel's vxlan backend gives containers the MTU 1450, of which its own device for IPv6 carries 1430",
		"flannel-wireguard-go": "flannel's extension backend gives containers the MTU 1500, of which its own device for IPv4 carries 1420",
	} {
		notes := connect(t, named(t, name)).Standing().Remarks()
		if len(notes) != 1 || !strings.HasPrefix(notes[0], want) {
			t.Errorf("%s: remarks %q, want %q", name, notes, want)
		}
	}
}
