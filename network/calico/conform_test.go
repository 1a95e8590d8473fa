package calico_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/calico"
	"nettoll/network/networktest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	networktest.ConformEach(t, calico.All(nil)...)
}
