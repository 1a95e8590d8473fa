package nuttcp

import (
	"testing"

	"nettoll/internal/program"
	"nettoll/internal/testutil"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) {
	workloadtest.Conform(t, func(paths program.Paths) workload.Tool { return New(paths) }, "")
}
