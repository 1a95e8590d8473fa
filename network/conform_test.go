package network_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/network/bridge"
	"nettoll/network/host"
	"nettoll/network/iptables"
	"nettoll/network/ipvlan"
	"nettoll/network/loopback"
	"nettoll/network/macvlan"
	"nettoll/network/networktest"
	"nettoll/network/pipework"
	"nettoll/network/published"
	"nettoll/network/routed"
	"nettoll/network/sharedns"
	"nettoll/network/tunnel"
	"nettoll/network/udpoverlay"
	"nettoll/network/veth"
	"nettoll/network/vxlan"
	"nettoll/network/wireguard"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestConformance runs the suite on the techniques that need nothing but the kernel, in
// one lab: a program and a lab for each would take longer than the tests.
func TestConformance(t *testing.T) {
	for _, tech := range []network.Technique{
		loopback.New(),
		host.New(),
		host.NewNative(),
		sharedns.New(),
		veth.New(),
		bridge.New(),
		bridge.NewWithoutNetfilter(),
		macvlan.New(),
		ipvlan.NewL2(),
		ipvlan.NewL3(),
		pipework.NewVeth(),
		pipework.NewMacvlan(),
		iptables.New(),
		published.New(),
		published.NewProxy(),
		vxlan.New(),
		routed.New(),
		tunnel.NewIPIP(),
		tunnel.NewGRE(),
		tunnel.NewGeneve(),
		tunnel.NewIPsec(),
		wireguard.New(),
		wireguard.NewUserspace(nil),
		udpoverlay.NewTUN(),
		udpoverlay.NewPacket(),
	} {
		t.Run(tech.Name(), func(t *testing.T) { networktest.Conform(t, tech) })
	}
}
