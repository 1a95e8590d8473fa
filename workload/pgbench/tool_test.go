package pgbench_test

import (
	"testing"

	"nettoll/internal/program"
	"nettoll/internal/testutil"
	"nettoll/workload"
	"nettoll/workload/pgbench"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) {
	workloadtest.Conform(t, func(p program.Paths) workload.Tool { return pgbench.New(p) }, "", pgbench.Name, "postgres")
}
