package udpoverlay_test

import (
	"errors"
	"io/fs"
	"testing"

	"nettoll/internal/testutil"
	"nettoll/platform/lab"
	"nettoll/technique"
	"nettoll/technique/techniquetest"
	"nettoll/technique/udpoverlay"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range []technique.Technique{udpoverlay.NewTUN(), udpoverlay.NewPacket()} {
		t.Run(tech.Name(), func(t *testing.T) {
			// A permission is no matter of how the kernel was built.
			if err := tech.Probe(t.Context(), lab.New()); errors.Is(err, fs.ErrPermission) {
				t.Skip(err)
			}
			techniquetest.Conform(t, tech)
		})
	}
}
