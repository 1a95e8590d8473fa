package ipvlan_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/technique"
	"nettoll/technique/ipvlan"
	"nettoll/technique/techniquetest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range []technique.Technique{ipvlan.NewL2(), ipvlan.NewL3()} {
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
