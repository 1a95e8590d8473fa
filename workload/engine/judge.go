package engine

import (
	"fmt"
	"runtime"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// turn is how long a thread may keep those waiting that share its CPU: some slices
// of the kernel's scheduler.
const turn = 10 * time.Millisecond

// judge looks for flows that received nothing in the window. Something is wrong with
// such a flow, and the error names it. But where so many flows share a CPU that some
// do not have their turn within the window, it is a flow with a share of nothing,
// and a warning, as long as others have received something; likewise a few among many
// that share a path.
func (t *trial) judge() ([]record.Warning, error) {
	var silent []error
	heard := map[unit]int{}
	for _, f := range t.flows {
		k := t.kinds[f.kind]
		p, at := f.end(k.measured)
		switch {
		case at >= len(p.window.Units):
			return nil, fmt.Errorf("%v: says nothing of %s", p, p.flows[at].Label)
		case p.window.Units[at] > 0:
			heard[k.counts]++
		default:
			heard[k.counts] += 0
			silent = append(silent, fmt.Errorf("%v: %s received nothing in the window", p, p.flows[at].Label))
		}
	}
	if len(silent) == 0 {
		return nil, nil
	}
	for _, n := range heard {
		if n == 0 {
			return nil, silent[0]
		}
	}
	switch {
	case t.starves():
		return []record.Warning{workload.Starved(len(silent), len(t.flows), "they share CPUs with too many")}, nil
	case workload.Crowded(len(silent), len(t.flows), t.job.Duration):
		return []record.Warning{workload.Starved(len(silent), len(t.flows), "they share the path with many")}, nil
	}
	return nil, silent[0]
}

// starves reports whether a flow can wait for a CPU for as long as the window lasts.
func (t *trial) starves() bool {
	least := runtime.NumCPU()
	for _, set := range [][]int{t.job.CPUs.Client, t.job.CPUs.Server} {
		if len(set) > 0 {
			least = min(least, len(set))
		}
	}
	return time.Duration(len(t.flows)/least)*turn > t.job.Duration
}
