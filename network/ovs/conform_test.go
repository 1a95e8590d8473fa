package ovs_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/networktest"
	"nettoll/network/ovs"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range ovs.All(nil) {
		t.Run(tech.Name, func(t *testing.T) { networktest.Conform(t, tech) })
	}
}
