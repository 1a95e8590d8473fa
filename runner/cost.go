package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/technique"
)

// How long the idle machine is watched before the first round, and before each
// other one.
const (
	idleBefore  = 500 * time.Millisecond
	idleBetween = 100 * time.Millisecond
)

// watchIdle watches the idle machine for a while. What it used by itself is the
// median of all such whiles, so that something that ran in one of them does not
// spoil the cost of all trials.
func (r *Runner) watchIdle(ctx context.Context, while time.Duration) error {
	used, err := r.idleUse(ctx, while)
	if err != nil || ctx.Err() != nil {
		return err
	}
	r.spent += while
	r.idles = append(r.idles, used)
	slices.Sort(r.idles)
	r.idle = r.idles[(len(r.idles)-1)/2]
	return nil
}

// idleUse is how many CPU seconds a second the machine uses by itself.
func (r *Runner) idleUse(ctx context.Context, while time.Duration) (float64, error) {
	from, err := r.cpu.Read()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, nil
	case <-time.After(while):
	}
	to, err := r.cpu.Read()
	if err != nil {
		return 0, err
	}
	use, err := sampler.Use(from, to, 1)
	return use.Busy, err
}

// watcher samples the machine and the daemons over the window.
type watcher struct {
	cpu      *sampler.CPU
	daemons  []platform.Process
	from, to sampler.Snapshot
	pFrom    []sampler.ProcessTime
	pTo      []sampler.ProcessTime
	err      error
}

func (r *Runner) watcher(n technique.Network) *watcher {
	w := &watcher{cpu: r.cpu}
	if d, ok := n.(technique.Daemoner); ok {
		w.daemons = d.Daemons()
	}
	return w
}

func (w *watcher) open()  { w.from, w.pFrom = w.read() }
func (w *watcher) close() { w.to, w.pTo = w.read() }

func (w *watcher) read() (sampler.Snapshot, []sampler.ProcessTime) {
	s, err := w.cpu.Read()
	times := make([]sampler.ProcessTime, len(w.daemons))
	for i, d := range w.daemons {
		if err == nil {
			times[i], err = sampler.Process(d.PID())
		}
	}
	if err != nil && w.err == nil {
		w.err = err
	}
	return s, times
}

// use is the CPU time of the machine and the daemons, scaled to the window.
func (w *watcher) use(window time.Duration) (record.CPUUse, error) {
	if w.err != nil {
		return record.CPUUse{}, w.err
	}
	m, err := sampler.Use(w.from, w.to, window.Seconds())
	use := record.CPUUse{Machine: m}
	for i, d := range w.daemons {
		use.Daemons = append(use.Daemons,
			sampler.Between(fmt.Sprintf("daemon %d", d.PID()), w.pFrom[i], w.pTo[i], window.Seconds()))
	}
	return use, err
}

// cost adds what the traffic cost: CPU time of the whole machine, less what it
// uses when idle, for each 1e9 bytes of payload and for each transaction. A machine
// that was no busier than it had been when idle has no such cost to tell: that is
// a warning, not a zero.
func cost(metrics map[string]record.Metric, use record.CPUUse, idle float64, window time.Duration, bytes, transactions uint64) []record.Warning {
	busy := use.Machine.Busy - idle*window.Seconds()
	if busy <= 0 {
		return []record.Warning{{Code: "idle-was-busy", Text: "the machine was busier before the run, when it should have been idle, than with traffic: CPU cost is unknown"}}
	}
	if transactions > 0 {
		metrics[record.CPUPerTransaction] = record.Metric{Value: busy / float64(transactions), Unit: "cpu-s"}
	} else if bytes > 0 {
		metrics[record.CPUPerGB] = record.Metric{Value: busy / (float64(bytes) / 1e9), Unit: "cpu-s/GB"}
	}
	return nil
}
