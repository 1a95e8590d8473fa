package runner_test

import (
	"context"
	"testing"

	"nettoll/record"
	"nettoll/runner"
	"nettoll/workload"
)

// cells returns one cell for each network.
func cells(networks ...string) (all []record.Cell) {
	for _, n := range networks {
		all = append(all, record.Cell{
			Network: n, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "fake", Workload: record.TCPStream,
			Placement: record.PlacementFree,
		})
	}
	return all
}

// bench is a runner with fakes, and the trials that it saves.
type bench struct {
	*runner.Runner
	w      *world
	tool   *tool
	trials []record.Trial
	ways   map[string]*way // the kinds of networks, by name
}

// newBench returns a bench that measures the cells of the ways, for one second each, in at most three rounds.
func newBench(ways ...*way) *bench {
	b := &bench{w: newWorld(), ways: map[string]*way{}}
	b.tool = &tool{w: b.w}
	b.Runner = &runner.Runner{
		Networks: map[string]runner.Recipe{},
		Tools:    map[string]workload.Tool{"fake": b.tool.tool()},
		Settings: record.Settings{Duration: 1, MinRounds: 1, MaxRounds: 3, Confidence: 0.95, Seed: 1},
		Save: func(t record.Trial) error {
			b.trials = append(b.trials, t)
			return nil
		},
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	for _, f := range ways {
		f.w, b.ways[f.name] = b.w, f
		b.Networks[f.name] = runner.Recipe{Platform: &ground{w: b.w}, Driver: f.driver()}
		b.Cells = append(b.Cells, cells(f.name)...)
	}
	return b
}

// run runs and checks what holds for every run: all networks are closed, and the trials of every
// round are numbered from 1.
func (b *bench) run(t *testing.T, ctx context.Context) (record.End, error) {
	t.Helper()
	order := map[int]int{}
	for _, tr := range b.Before {
		order[tr.Round]++
	}
	end, err := b.Run(ctx)
	if b.w.open != 0 {
		t.Errorf("%d networks were left open", b.w.open)
	}
	for _, tr := range b.trials {
		if order[tr.Round]++; tr.Order != order[tr.Round] {
			t.Errorf("round %d: trial of %s has the order %d, want %d", tr.Round, tr.Cell.Network, tr.Order, order[tr.Round])
		}
	}
	return end, err
}

// of returns the trials of a network.
func (b *bench) of(network string) (all []record.Trial) {
	for _, t := range b.trials {
		if t.Cell.Network == network {
			all = append(all, t)
		}
	}
	return all
}
