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
	for name, want := range map[string]string{
		"flannel-udp":   "--mtu 1308",
		"flannel-vxlan": "--mtu 1350",
	} {
		n, err := named(t, name).Connect(t.Context(), topo, lab.New())
		var small *platform.Unsupported
		if !errors.As(err, &small) || small.Remedy != want {
			t.Errorf("%s: %v, %v; want %q", name, n, err, want)
		}
	}
	// What is said to do does.
	topo.Underlay.MTU = 1350
	n, err := named(t, "flannel-vxlan").Connect(t.Context(), topo, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNarrowTunnelIsNoted(t *testing.T) {
	for name, want := range map[string]string{
		"flannel-vxlan":        "flannel's vxlan backend gives containers the MTU 1450, of which its own device for IPv6 carries 1430",
		"flannel-wireguard-go": "flannel's extension backend gives containers the MTU 1500, of which its own device for IPv4 carries 1420",
	} {
		notes := connect(t, named(t, name)).Remarks()
		if len(notes) != 1 || !strings.HasPrefix(notes[0], want) {
			t.Errorf("%s: remarks %q, want %q", name, notes, want)
		}
	}
}
