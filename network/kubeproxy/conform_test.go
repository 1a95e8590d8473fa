package kubeproxy_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/kubeproxy"
	"nettoll/network/networktest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	networktest.ConformEach(t, kubeproxy.All(nil)...)
}
