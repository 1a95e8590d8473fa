package wrk_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/workload/workloadtest"
	"nettoll/workload/wrk"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, wrk.Tool, "") }
