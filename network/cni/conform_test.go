package cni_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/network/networktest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	in := cni.Usual()
	for _, tech := range []network.Driver{cni.NewBridge(in), cni.NewPTP(in), cni.NewMacvlan(in), cni.NewIPvlan(in)} {
		t.Run(tech.Name, func(t *testing.T) { networktest.Conform(t, tech) })
	}
}
