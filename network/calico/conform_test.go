package calico_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/network/calico"
	"nettoll/network/networktest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range []network.Driver{calico.NewBGP(nil), calico.NewPolicy(nil), calico.NewIPIP(nil), calico.NewVXLAN(nil)} {
		t.Run(tech.Name, func(t *testing.T) { networktest.Conform(t, tech) })
	}
}
