package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/moby/moby/client"

	dockerd "nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/network/docker"
	platforms "nettoll/platform/docker"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// run is the id of the tests' runs.
const run = "0123456789abcdef"

// named is what the engine calls an object of the run.
func named(what string) string { return "nettoll-" + run[:12] + "-" + what }

// image is nettoll's, with the test program as nettoll.
func image(t *testing.T) dockerd.Image {
	t.Helper()
	agent, err := rootfs.Agent()
	if err != nil {
		t.Fatal(err)
	}
	root, err := rootfs.New(agent)
	if err != nil {
		t.Fatal(err)
	}
	return dockerd.Image{Root: root}
}

// host is the engine's machine as a host, without a platform around it. The engine is
// left at the end of the test.
func (d *daemon) host(t *testing.T) *dockerd.Host {
	t.Helper()
	c, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	e := dockerd.NewEngine(c, run, image(t))
	h := dockerd.Borrow(e, 0, true)
	t.Cleanup(func() {
		if err := h.Empty(context.Background()); err != nil {
			t.Error(err)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

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

// rounds measures a network of the engine in two rounds, and disturbs the first trial.
// That must fail with one line that has the words, the second must be as ever.
func rounds(t *testing.T, d *daemon, network string, disturb func(), words ...string) {
	t.Helper()
	p := platforms.New(platforms.Options{
		Run: run, Image: image(t),
		Dial: []func(context.Context) (*client.Client, bool, error){
			func(context.Context) (*client.Client, bool, error) {
				c, err := d.connect()
				return c, true, err
			},
		},
	})
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	var trials []record.Trial
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{},
		Tools:    map[string]workload.Tool{"engine": &disturbed{Tool: engine.New(), disturb: disturb}},
		Machine:  m,
		Settings: record.Settings{Duration: 0.5, Warmup: 0.5, MinRounds: 2, MaxRounds: 2, Confidence: 0.95, Seed: 1},
		Cells: []record.Cell{{
			Network: network, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine",
			Workload: record.TCPRR, Placement: record.PlacementFree,
		}},
		Save: func(trial record.Trial) error {
			t.Logf("round %d: %s %s", trial.Round, trial.Status, trial.Reason)
			trials = append(trials, trial)
			return nil
		},
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	for _, tech := range docker.All() {
		if tech.Name == network {
			r.Networks[network] = runner.Recipe{Platform: p, Driver: tech}
		}
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(trials) != 2 {
		t.Fatalf("%d trials, want 2", len(trials))
	}
	if first := trials[0]; first.Status != record.Failed {
		t.Errorf("the disturbed trial: %s", first.Status)
	} else if err := oneLine(first.Reason, words...); err != nil {
		t.Error(err)
	}
	if last := trials[1]; last.Status != record.OK {
		t.Errorf("the next trial: %s: %s", last.Status, last.Reason)
	}
}
