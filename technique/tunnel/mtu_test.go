package tunnel_test

import (
	"strings"
	"testing"

	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/technique"
	"nettoll/technique/tunnel"
)

// TestSmallMTU wants to be told what is wrong before anything depends on the kernel.
func TestSmallMTU(t *testing.T) {
	for want, tech := range map[string]technique.Technique{
		"h1: the MTU of the underlay, 1290, leaves containers behind ipip 1270: it must be at least 1300":  tunnel.NewIPIP(),
		"h1: the MTU of the underlay, 1290, leaves containers behind ipsec 1234: it must be at least 1336": tunnel.NewIPsec(),
	} {
		topo := technique.Topology{Hosts: 2, Servers: 1, Clients: 1, Underlay: platform.Underlay{MTU: 1290}}
		_, err := tech.Connect(t.Context(), topo, lab.New())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", tech.Name(), err)
		}
	}
}
