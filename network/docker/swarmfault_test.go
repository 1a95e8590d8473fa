package docker_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"

	dockerd "nettoll/docker/engine"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// disturbed is the engine of traffic, disturbed in the window of its first trial.
type disturbed struct {
	engine.Tool
	once    sync.Once
	disturb func()
}

func (d *disturbed) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	open := job.Watch.Open
	job.Watch.Open = func() {
		open()
		d.once.Do(d.disturb)
	}
	return d.Tool.Run(ctx, job)
}

// rounds measures an overlay of two hosts, round by round, and disturbs the first.
func rounds(t *testing.T, p platform.Platform, n int, disturb func()) []record.Trial {
	t.Helper()
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	var trials []record.Trial
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{"swarm:overlay": {Platform: p, Driver: inSwarm(t, "overlay")}},
		Tools:    map[string]workload.Tool{"engine": &disturbed{Tool: engine.New(), disturb: disturb}},
		Machine:  m,
		Settings: record.Settings{Duration: 1, Warmup: 0.1, MinRounds: n, MaxRounds: n, Confidence: 0.95, Seed: 1},
		Cells: []record.Cell{{
			Network: "swarm:overlay", Hosts: 2, Family: 4, Servers: 1, Clients: 1,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		}},
		Save: func(trial record.Trial) error {
			t.Logf("round %d: %s %s", trial.Round, trial.Status, trial.Reason)
			trials = append(trials, trial)
			return nil
		},
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(trials) != n {
		t.Fatalf("%d trials of %d", len(trials), n)
	}
	if trials[0].Status == record.OK {
		t.Error("the disturbed trial is ok")
	}
	for _, trial := range trials {
		if trial.Status != record.OK && (trial.Reason == "" || strings.Contains(trial.Reason, "\n")) {
			t.Errorf("round %d: the reason is no line: %q", trial.Round, trial.Reason)
		}
	}
	return trials
}

// second is a node of the private swarm that networks of two hosts are built on.
func second(t *testing.T, p *platforms.Swarm) *dockerd.Host {
	t.Helper()
	hosts, err := p.Engines(t.Context(), platform.HostRequest{Count: 2}, dockerd.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := hosts.Close(t.Context()); err != nil { // they stay for the next network
		t.Fatal(err)
	}
	return hosts.Docker()[1]
}

// works fails the test where the last trial is not good.
func works(t *testing.T, trials []record.Trial) {
	t.Helper()
	if last := trials[len(trials)-1]; last.Status != record.OK {
		t.Errorf("afterwards: %s: %s", last.Status, last.Reason)
	}
}

func TestNodeLeaves(t *testing.T) {
	p := swarms(t)
	h := second(t, p)
	works(t, rounds(t, p, 2, func() {
		if _, err := h.Engine.Client.SwarmLeave(t.Context(), client.SwarmLeaveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}))
}

func TestPartition(t *testing.T) {
	p := swarms(t)
	h := second(t, p)
	works(t, rounds(t, p, 3, func() {
		cut, err := h.Start(t.Context(), platform.Command{Path: "ip", Args: []string{"link", "set", h.Uplink().Device, "down"}})
		if err == nil {
			err = cut.Wait()
		}
		if err != nil {
			t.Error(err)
		}
	}))
}
