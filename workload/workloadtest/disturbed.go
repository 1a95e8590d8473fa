package workloadtest

import (
	"context"
	"sync"

	"nettoll/workload"
)

// Disturbed returns the tool, except that disturb is called in the window of its first trial.
func Disturbed(tool workload.Tool, disturb func()) workload.Tool {
	var once sync.Once
	run := tool.Run
	tool.Run = func(ctx context.Context, job workload.Job) (workload.Result, error) {
		open := job.Watch.Open
		job.Watch.Open = func() {
			open()
			once.Do(disturb)
		}
		return run(ctx, job)
	}
	return tool
}
