package routedbgp_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/networktest"
	"nettoll/network/routedbgp"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	networktest.ConformEach(t, routedbgp.New(nil), routedbgp.NewPolicy(nil))
}
