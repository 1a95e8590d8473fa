package weave_test

import (
	"testing"

	"nettoll/network/networktest"
	"nettoll/network/weave"
)

func TestConformance(t *testing.T) {
	for _, tech := range weave.All(nil) {
		t.Run(tech.Name, func(t *testing.T) { networktest.Conform(t, tech) })
	}
}
