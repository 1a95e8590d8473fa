package ovs_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/technique/ovs"
	"nettoll/technique/techniquetest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range ovs.All(nil) {
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
