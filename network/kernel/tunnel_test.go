package kernel_test

import (
	"strings"
	"testing"

	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// TestSmallMTU wants to be told what is wrong before anything depends on the kernel.
func TestSmallMTU(t *testing.T) {
	for want, tech := range map[string]network.Driver{
		"gre on an underlay with the MTU 1290: not supported here (needs 1304 or more: containers would have 1266,":   kernel.GRE(),
		"ipsec on an underlay with the MTU 1290: not supported here (needs 1336 or more: containers would have 1234,": kernel.IPsec(),
	} {
		topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1, Underlay: platform.Underlay{MTU: 1290}}
		_, err := tech.Connect(t.Context(), topo, lab.New())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", tech.Name, err)
		}
	}
}
