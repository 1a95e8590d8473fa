package technique_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/technique"
	"nettoll/technique/bridge"
	"nettoll/technique/host"
	"nettoll/technique/iptables"
	"nettoll/technique/ipvlan"
	"nettoll/technique/loopback"
	"nettoll/technique/macvlan"
	"nettoll/technique/pipework"
	"nettoll/technique/published"
	"nettoll/technique/routed"
	"nettoll/technique/sharedns"
	"nettoll/technique/techniquetest"
	"nettoll/technique/tunnel"
	"nettoll/technique/udpoverlay"
	"nettoll/technique/veth"
	"nettoll/technique/vxlan"
	"nettoll/technique/wireguard"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestConformance runs the suite on the techniques that need nothing but the kernel, in
// one lab: a program and a lab for each would take longer than the tests.
func TestConformance(t *testing.T) {
	for _, tech := range []technique.Technique{
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
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
