package weave_test

import (
	"testing"

	"nettoll/technique/techniquetest"
	"nettoll/technique/weave"
)

func TestConformance(t *testing.T) {
	for _, tech := range weave.All(nil) {
		t.Run(tech.Name(), func(t *testing.T) { techniquetest.Conform(t, tech) })
	}
}
