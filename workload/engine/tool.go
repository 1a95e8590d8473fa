package engine

import (
	"context"

	"nettoll/record"
	"nettoll/workload"
)

// Name is the engine's name among the tools.
const Name = "engine"

// version is recorded with every run; it grows when figures are measured in
// another way.
const version = "4"

// Tool implements workload.Tool with agents in the endpoints.
type Tool struct{}

// New returns the tool.
func New() Tool { return Tool{} }

var _ workload.Turner = Tool{}

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

// Version implements workload.Tool.
func (Tool) Version(context.Context) (string, error) { return version, nil }

// Drives implements workload.Tool.
func (Tool) Drives() []workload.Drive {
	var all []workload.Drive
	for _, w := range workloads() {
		all = append(all, workload.Drive{Workload: w.name, Options: w.honours, Turns: w.rests > 0})
	}
	return all
}

// Run implements workload.Tool. An error names the client, server or flow that
// it comes from. When ctx ends, so does the traffic, within pollInterval.
func (Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	t, err := plan(job)
	if err != nil {
		return workload.Result{}, err
	}
	defer t.dismiss()
	if err := t.run(ctx); err != nil {
		t.abandon(ctx)
		return workload.Result{}, err
	}
	return t.result()
}

func (t *trial) run(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{t.summon, t.serve, t.connect, t.align, t.window, t.steady, t.stop} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// call watches whether the job's observer is there.
func call(observer func()) {
	if observer != nil {
		observer()
	}
}

// watch tells the job's observer when the window opens, at opens of nanotime, and
// closes. An observer that saw it open sees it close, even if ctx ends in between.
func watch(ctx context.Context, job workload.Job, opens int64) {
	if !sleepUntil(opens, ctx.Done()) {
		return
	}
	call(job.Watch.Open)
	sleepUntil(opens+int64(job.Duration), ctx.Done())
	call(job.Watch.Close)
}

// Metrics are in the base units of record.Kinds.
func metric(name string, value float64) record.Metric {
	kind, _ := record.KindOf(name)
	return record.Metric{Value: value, Unit: kind.Unit}
}
