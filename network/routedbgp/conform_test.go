package routedbgp_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/network/networktest"
	"nettoll/network/routedbgp"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range []network.Driver{routedbgp.New(nil), routedbgp.NewPolicy(nil)} {
		t.Run(tech.Name, func(t *testing.T) { networktest.Conform(t, tech) })
	}
}
