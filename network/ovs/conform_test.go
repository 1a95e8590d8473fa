package ovs_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/networktest"
	"nettoll/network/ovs"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	networktest.ConformEach(t, ovs.All(nil)...)
}
