package redisbench_test

import (
	"testing"

	"nettoll/internal/program"
	"nettoll/internal/testutil"
	"nettoll/workload"
	"nettoll/workload/redisbench"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) {
	workloadtest.Conform(t, func(p program.Paths) workload.Tool { return redisbench.New(p) }, "", redisbench.Name, "redis-server")
}
