package runner_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// elsewhere is an endpoint whose machine is read by its agent. One CPU of it is idle for a share of the time.
type elsewhere struct {
	place
	boot  string
	may   []record.CPU // that the endpoint may use
	began time.Time
	share float64
}

func (e *elsewhere) Start(context.Context, platform.Command) (platform.Process, error) {
	return started(map[string]agent.Handler{
		sampler.MethodOrigin: func(context.Context, json.RawMessage) (any, error) {
			return sampler.Origin{Boot: e.boot, Machine: record.Machine{CPUs: e.may}}, nil
		},
		sampler.MethodCPU: func(context.Context, json.RawMessage) (any, error) {
			now := time.Now()
			return sampler.Snapshot{At: now, CPUs: map[int64]procfs.CPUStat{0: {Idle: e.share * now.Sub(e.began).Seconds()}}}, nil
		},
	})
}

// TestMachineOfBothEnds has both ends on this machine, read by an agent. They run on CPUs that both may use. What this process does is
// left out of what the idle machine uses, which is never less than nothing.
func TestMachineOfBothEnds(t *testing.T) {
	boot, err := sampler.Boot("/proc")
	iferr.Fatal(t, err)
	for _, share := range []float64{0.5, 1} {
		synctest.Test(t, func(t *testing.T) {
			began, cpus := time.Now(), []record.CPU{{ID: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}, {ID: 3, Core: 3}}
			may := map[string][]record.CPU{"h1c1": cpus[1:], "h1c2": cpus[:3]}
			b := newBench(&way{name: "ssh:native", distant: true, endpoint: func(name string) platform.Endpoint {
				return &elsewhere{place(name), boot, may[name], began, share}
			}})
			b.Cells[0].Placement, b.Settings.MaxRounds = record.PlacementDistinct, 1
			var chosen workload.CPUs
			b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
				chosen = job.CPUs
				return b.tool.well(ctx, job)
			}
			end, err := b.run(t, t.Context())
			ends(t, end, err, record.EndMaxRounds, 1)
			tr := b.trials[0]
			if tr.Status != record.OK || !slices.Equal(chosen.Client, []int{1}) || !slices.Equal(chosen.Server, []int{2}) {
				t.Fatalf("%s, %q, on %+v", tr.Status, tr.Reason, chosen)
			}
			if idle := tr.CPU.Idle; idle < 0 || idle > 1-share-1e-6 && idle > 0 {
				t.Errorf("idle for %v of the time, it uses %v CPU seconds per second", share, idle)
			}
		})
	}
}
