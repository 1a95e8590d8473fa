package wrk_test

import (
	"testing"

	"nettoll/internal/program"
	"nettoll/internal/testutil"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
	"nettoll/workload/wrk"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) {
	workloadtest.Conform(t, func(p program.Paths) workload.Tool { return wrk.New(p) }, "", wrk.Name, "nginx")
}
