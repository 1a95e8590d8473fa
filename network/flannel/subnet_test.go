package flannel

import (
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/networktest"
	"nettoll/platform/lab"
)

func TestNarrowUnderlayIsRefused(t *testing.T) {
	networktest.TooNarrow(t, named(t, "flannel-vxlan").driver(), 1300, "1350 or more")
	topo := networktest.Pair
	// The recommended MTU works, and flannel-udp, which carries IPv4 only, needs less.
	for name, mtu := range map[string]int{"flannel-vxlan": 1350, "flannel-udp": 1280} {
		topo.Underlay.MTU = mtu
		n, err := named(t, name).driver().Connect(t.Context(), topo, lab.New())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		iferr.Error(t, n.Close(t.Context()))
	}
}

func TestNarrowTunnelIsNoted(t *testing.T) {
	for _, c := range []struct {
		name  string
		six   bool // the IP version that it matters for, alone
		start string
	}{
		{"flannel-vxlan", true, "flannel's vxlan backend gives containers the MTU 1450, but its own device for IPv6 carries only 1430"},
		{"flannel-wireguard-go", false, "flannel's extension backend gives containers the MTU 1500, but its own device for IPv4 carries only 1420"},
	} {
		n := built(t, c.name).Standing()
		for version, notes := range map[network.Family][]string{network.IPv4: n.Remarks(network.IPv4), network.IPv6: n.Remarks(network.IPv6)} {
			notes = slices.DeleteFunc(notes, func(r string) bool { return strings.HasPrefix(r, "flanneld on ") }) // it had to wait
			want := 0
			if c.six == (version == network.IPv6) {
				want = 1
			}
			if len(notes) != want || want == 1 && !strings.HasPrefix(notes[0], c.start) {
				t.Errorf("%s: remarks on IPv%d: %q", c.name, version, notes)
			}
		}
	}
}
