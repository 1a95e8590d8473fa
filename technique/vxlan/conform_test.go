package vxlan_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/technique"
	"nettoll/technique/techniquetest"
	"nettoll/technique/vxlan"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range []technique.Technique{vxlan.New()} {
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
