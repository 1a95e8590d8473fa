package sampler_test

import (
	"testing"

	"nettoll/internal/testutil/inlab"
)

// TestMain runs all tests of the package inside a lab: those of Endpoint need their own devices.
func TestMain(m *testing.M) { inlab.Main(m) }
