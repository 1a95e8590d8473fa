package cni_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/cni"
	"nettoll/network/networktest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	networktest.ConformEach(t, cni.Reference(cni.Usual())...)
}
