package redisbench_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/workload/redisbench"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, redisbench.Tool, "") }
