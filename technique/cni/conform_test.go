package cni_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/technique"
	"nettoll/technique/cni"
	"nettoll/technique/techniquetest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	in := cni.Usual()
	for _, tech := range []technique.Technique{cni.NewBridge(in), cni.NewPTP(in), cni.NewMacvlan(in), cni.NewIPvlan(in)} {
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
