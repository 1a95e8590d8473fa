package engine

import (
	"context"

	"nettoll/record"
	"nettoll/workload"
)

// Name is the engine's name among the tools.
const Name = "engine"

// version is recorded with every run; it is increased when the method of measurement changes.
const version = "7"

// New returns the tool, which runs agents in the endpoints.
func New() workload.Tool {
	tool := workload.Tool{
		Name:    Name,
		Version: func(context.Context) (string, error) { return version, nil },
		Run:     run,
		Stand:   stand,
	}
	for _, w := range workloads() {
		tool.Drives = append(tool.Drives, workload.Drive{
			Workload: w.name, Options: w.honours, Turns: w.rests > 0, Warmed: w.warmed(record.Options{Streams: 1}),
			Bounds: record.Each(w.sizes, func(s size) record.Bounds { return s.Bounds }),
		})
	}
	return tool
}

// run drives a trial. An error names the client, server or flow that it comes from. When ctx ends,
// the traffic ends within pollInterval.
func run(ctx context.Context, job workload.Job) (workload.Result, error) {
	t, err := plan(job)
	if err != nil {
		return workload.Result{}, err
	}
	defer t.dismiss()
	if err := inOrder(ctx, t.summon, t.compare, t.serve, t.connect, t.align, t.window, t.steady, t.stop); err != nil {
		t.abandon(ctx)
		return workload.Result{}, err
	}
	return t.result()
}

// inOrder runs the phases of a trial until one fails.
func inOrder(ctx context.Context, phases ...func(context.Context) error) error {
	return record.Try(phases, func(phase func(context.Context) error) error { return phase(ctx) })
}
