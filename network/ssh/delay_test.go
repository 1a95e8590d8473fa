package ssh_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/ssh/sshtest"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/runner/runnertest"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// TestKnownDelay measures transactions between machines whose LAN delays every packet: they take as long as the delay there and back. It
// is long, since emulated machines, which have delays where this kernel does not, take some milliseconds by themselves.
func TestKnownDelay(t *testing.T) {
	const delay = 500 * time.Millisecond
	shape := platform.Underlay{Delay: delay}
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2, Underlay: shape})
	if errors.Is(err, platform.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	hosts.Close(context.Background())
	sshtest.Start(t, shape, sshtest.Machine{}, sshtest.Machine{})
	trials := runnertest.Run(t, &runner.Runner{
		Networks: map[string]runner.Recipe{"ssh:native": {Platform: onMachines(t), Driver: driver(t, "native")}},
		Tools:    map[string]workload.Tool{"engine": engine.New()},
		Settings: record.Settings{Duration: 6, Warmup: 1.5, MaxRounds: 1},
		Cells: []record.Cell{{
			Network: "ssh:native", Hosts: 2, Family: 4, Servers: 1, Clients: 1, Tool: engine.Name, Workload: record.TCPRR, Placement: record.PlacementFree,
		}},
	})
	if len(trials) != 1 {
		t.Errorf("%d trials", len(trials))
	}
	for _, trial := range trials {
		got := trial.Metrics[record.LatencyP50].Value
		if want := 2 * delay.Seconds(); trial.Status != record.OK || math.Abs(got/want-1) > 0.01 {
			t.Errorf("%s: %s; the median is %v s, want %v", trial.Status, trial.Reason, got, want)
		}
	}
}
