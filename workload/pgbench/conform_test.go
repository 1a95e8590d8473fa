package pgbench_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/workload/pgbench"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, pgbench.Tool, "") }
