package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// watcher samples the machine, the daemons of a network and its containers at the
// edges of the window, or of each turn.
type watcher struct {
	at         *machines
	daemons    []network.Daemon
	containers []container
	turns      []turnUse
}

// turnUse is what was read at the beginning and at the end of a turn, and what crossed the network
// in between. A whole trial is one, whose edges are those of its window.
type turnUse struct {
	from, to edge
	crossed  uint64 // bytes of payload; 0 where the window is all
}

// container is an endpoint whose CPU time is counted as a whole.
type container struct {
	name string
	used func(context.Context) (time.Duration, error)
}

// edge is what was read at one edge of the window.
type edge struct {
	machines   []sampler.Snapshot
	daemons    []sampler.ProcessTime
	containers []sampler.ContainerTime
	switches   uint64
	at         time.Time // when the machines had been read
	late       bool      // a turn had begun by then
	err        error
	uncounted  error // of the first container that did not tell
}

func newWatcher(at *machines, s *session, links []link) *watcher {
	w := &watcher{at: at, daemons: s.network.Daemons}
	seen := map[string]bool{}
	for _, s := range seats(links) {
		if used := s.Facts().CPUTime; used != nil && !seen[s.Name()] {
			seen[s.Name()] = true
			w.containers = append(w.containers, container{s.Name(), used})
		}
	}
	return w
}

// watch is what a tool tells of the edges.
func (w *watcher) watch(ctx context.Context) workload.Watch {
	w.turns = make([]turnUse, 1)
	return workload.Watch{Open: func() { w.turns[0].from = w.read(ctx) }, Close: func() { w.turns[0].to = w.read(ctx) }}
}

// read asks all containers at once: they may be far away, and are to be read at the
// same moment as the machine.
func (w *watcher) read(ctx context.Context) edge {
	e := edge{containers: make([]sampler.ContainerTime, len(w.containers))}
	uncounted := make([]error, len(w.containers))
	var asking sync.WaitGroup
	for i, c := range w.containers {
		asking.Go(func() {
			e.containers[i], uncounted[i] = sampler.Container(func() (time.Duration, error) { return c.used(ctx) })
		})
	}
	e.machines, e.err = w.at.snap(ctx)
	e.at = time.Now()
	for _, d := range w.daemons {
		if e.err == nil {
			var t sampler.ProcessTime
			t, e.err = sampler.Process(d.PID)
			e.daemons = append(e.daemons, t)
		}
	}
	if e.err == nil {
		e.switches, e.err = sampler.Switches("/proc")
	}
	asking.Wait()
	e.uncounted = cmp.Or(uncounted...)
	return e
}

// use is the CPU time of the machine, the daemons and the containers in a window of so many
// seconds. Of containers it is that of all or, with a warning, of none: a sum of some
// would be a wrong number.
//
// Of what was used between the edges of turns, beyond what the idle machine uses in a second, so much
// belongs to the window as of the payload that crossed the network: bytes. Where the edges are
// those of the window but for scheduling delays, it is in proportion to the time.
func (w *watcher) use(window, bytes, idle float64) (record.CPUUse, []record.Warning, error) {
	for _, t := range w.turns {
		for _, err := range []error{t.from.err, t.to.err} {
			if err != nil {
				return record.CPUUse{}, nil, err
			}
		}
	}
	turns := w.timely()
	m, hosts, elapsed, err := w.at.use(turns)
	if err != nil {
		return record.CPUUse{}, nil, err
	}
	share := window / elapsed
	if crossed := crossedIn(turns); crossed > 0 {
		share = bytes / float64(crossed)
	}
	use := record.CPUUse{Machine: scaled(m, share, window, idle*(window-share*elapsed))}
	for _, h := range hosts {
		h.Busy = max(0, h.Busy*share+h.Idle*(window-share*elapsed))
		h.Idle = max(0, h.Idle)
		use.Hosts = append(use.Hosts, h)
	}
	for i, d := range w.daemons {
		var sum record.ProcessCPU
		for _, t := range turns {
			one := sampler.Between(d.Name, t.from.daemons[i], t.to.daemons[i], share*t.seconds())
			sum.Name, sum.User, sum.System = one.Name, sum.User+one.User, sum.System+one.System
		}
		sum.Host = d.Host
		use.Daemons = append(use.Daemons, sum)
	}
	for _, t := range w.turns {
		for _, e := range []edge{t.from, t.to} {
			if errors.Is(e.uncounted, platform.ErrUnsupported) {
				return use, nil, nil
			}
			if e.uncounted != nil {
				return use, []record.Warning{{Code: "container-cpu", Text: "the CPU time of containers is unknown: " + oneLine(e.uncounted)}}, nil
			}
		}
	}
	for i, c := range w.containers {
		sum := record.ContainerCPU{Name: c.name}
		for _, t := range turns {
			sum.CPU += t.to.containers[i].Since(t.from.containers[i], c.name, share*t.seconds()).CPU
		}
		use.Containers = append(use.Containers, sum)
	}
	return use, nil, nil
}

// timely are the turns at whose edges no other turn had begun when they were read, or all if there
// is none: on a busy machine the time of another network's turn would be taken for theirs.
func (w *watcher) timely() []turnUse {
	timely := slices.DeleteFunc(slices.Clone(w.turns), func(t turnUse) bool { return t.from.late || t.to.late })
	if crossedIn(timely) == 0 {
		return w.turns
	}
	return timely
}

func crossedIn(turns []turnUse) (bytes uint64) {
	for _, t := range turns {
		bytes += t.crossed
	}
	return bytes
}

// resting is what the daemons used between one turn of their network and its next; nil where
// there is nothing to tell.
func (w *watcher) resting() *record.Resting {
	var r record.Resting
	for i := range max(0, len(w.turns)-1) {
		others := turnUse{from: w.turns[i].to, to: w.turns[i+1].from}
		if others.from.late || others.to.late {
			continue
		}
		seconds := others.seconds()
		for n, d := range w.daemons {
			r.CPU += sampler.Between(d.Name, others.from.daemons[n], others.to.daemons[n], seconds).Total()
		}
		r.Watched += seconds
	}
	if len(w.daemons) == 0 || r.Watched <= 0 {
		return nil
	}
	return &r
}

// seconds is how long it was between the edges.
func (t turnUse) seconds() float64 {
	if len(t.from.machines) == 0 || len(t.to.machines) == 0 {
		return 0
	}
	return t.to.machines[0].At.Sub(t.from.machines[0].At).Seconds()
}

// scaled is a share of what a machine did, as it would have been in a window, with as much busy
// time more.
func scaled(m record.MachineCPU, share, window, more float64) record.MachineCPU {
	m.Busy = max(0, m.Busy*share+more)
	m.Softirq *= share
	m.Steal *= share
	m.PerCPU = slices.Clone(m.PerCPU)
	for i := range m.PerCPU {
		c := &m.PerCPU[i]
		c.User, c.System, c.Softirq = c.User*share, c.System*share, c.Softirq*share
		c.IRQ, c.Steal = c.IRQ*share, c.Steal*share
		c.Idle = max(0, min(c.Idle*share, window))
	}
	return m
}

// foreignWork doubts a trial on this machine alone.
func (w *watcher) foreignWork(use record.CPUUse, window time.Duration) []record.Warning {
	if w.at.of != nil {
		return nil // what others do elsewhere is not known as well
	}
	var switches uint64
	for _, t := range w.turns {
		switches += t.to.switches - min(t.from.switches, t.to.switches)
	}
	return foreignWork(use, window, switches)
}
