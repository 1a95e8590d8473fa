package routedbgp_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/technique"
	"nettoll/technique/routedbgp"
	"nettoll/technique/techniquetest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range []technique.Technique{routedbgp.New(nil), routedbgp.NewPolicy(nil)} {
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
