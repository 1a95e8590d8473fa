package weave_test

import (
	"testing"

	"nettoll/network/networktest"
	"nettoll/network/weave"
)

func TestConformance(t *testing.T) {
	networktest.ConformEach(t, weave.All(nil)...)
}
