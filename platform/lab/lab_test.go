package lab_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) { platformtest.Conform(t, lab.New()) }
