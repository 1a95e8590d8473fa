package tunnel_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/technique"
	"nettoll/technique/techniquetest"
	"nettoll/technique/tunnel"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	all := []technique.Technique{tunnel.NewIPsec(), tunnel.NewGeneve(), tunnel.NewGRE(), tunnel.NewIPIP()}
	for _, tech := range all {
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
