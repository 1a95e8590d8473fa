package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/technique"
	"nettoll/workload"
)

// watcher samples the machine, the daemons of a network and its containers at the
// edges of the window.
type watcher struct {
	at         *machines
	daemons    []technique.Daemon
	containers []container
	from, to   edge
}

// container is an endpoint whose CPU time is counted as a whole.
type container struct {
	name string
	platform.CPUAccounter
}

// edge is what was read at one edge of the window.
type edge struct {
	machines   []sampler.Snapshot
	daemons    []sampler.ProcessTime
	containers []sampler.ContainerTime
	switches   uint64
	err        error
	uncounted  error // of the first container that did not tell
}

func newWatcher(at *machines, s *session, links []link) *watcher {
	w := &watcher{at: at}
	if d, ok := s.network.(technique.Daemoner); ok {
		w.daemons = d.Daemons()
	}
	seen := map[platform.CPUAccounter]bool{}
	for _, s := range seats(links) {
		if c, ok := platform.As[platform.CPUAccounter](s.Endpoint); ok && !seen[c] {
			seen[c] = true
			w.containers = append(w.containers, container{s.Name(), c})
		}
	}
	return w
}

// watch is what a tool tells of the edges.
func (w *watcher) watch(ctx context.Context) workload.Watch {
	return workload.Watch{Open: func() { w.from = w.read(ctx) }, Close: func() { w.to = w.read(ctx) }}
}

// read asks all containers at once: they may be far away, and are to be read at the
// same moment as the machine.
func (w *watcher) read(ctx context.Context) edge {
	e := edge{containers: make([]sampler.ContainerTime, len(w.containers))}
	uncounted := make([]error, len(w.containers))
	var asking sync.WaitGroup
	for i, c := range w.containers {
		asking.Go(func() {
			e.containers[i], uncounted[i] = sampler.Container(func() (time.Duration, error) { return c.CPUTime(ctx) })
		})
	}
	e.machines, e.err = w.at.snap(ctx)
	for _, d := range w.daemons {
		if e.err == nil {
			var t sampler.ProcessTime
			t, e.err = sampler.Process(d.PID())
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

// use is the CPU time of the machine, the daemons and the containers, scaled to the
// window. Of containers it is that of all or, with a warning, of none: a sum of some
// would be a wrong number.
func (w *watcher) use(window time.Duration) (record.CPUUse, []record.Warning, error) {
	for _, err := range []error{w.from.err, w.to.err} {
		if err != nil {
			return record.CPUUse{}, nil, err
		}
	}
	m, err := w.at.use(w.from.machines, w.to.machines, window.Seconds())
	if err != nil {
		return record.CPUUse{}, nil, err
	}
	use := record.CPUUse{Machine: m}
	if use.Hosts, err = w.at.apart(w.from.machines, w.to.machines, window.Seconds()); err != nil {
		return record.CPUUse{}, nil, err
	}
	for i, d := range w.daemons {
		one := sampler.Between(title(d), w.from.daemons[i], w.to.daemons[i], window.Seconds())
		one.Host = d.OnHost()
		use.Daemons = append(use.Daemons, one)
	}
	for _, e := range []edge{w.from, w.to} {
		if errors.Is(e.uncounted, platform.ErrUnsupported) {
			return use, nil, nil
		}
		if e.uncounted != nil {
			return use, []record.Warning{{Code: "container-cpu", Text: "the CPU time of containers is unknown: " + oneLine(e.uncounted)}}, nil
		}
	}
	for i, c := range w.containers {
		use.Containers = append(use.Containers, w.to.containers[i].Since(w.from.containers[i], c.name, window.Seconds()))
	}
	return use, nil, nil
}

// foreignWork doubts a trial on this machine alone.
func (w *watcher) foreignWork(use record.CPUUse, window time.Duration) []record.Warning {
	if w.at.of != nil {
		return nil // what others do elsewhere is not known as well
	}
	return foreignWork(use, window, w.to.switches-min(w.from.switches, w.to.switches))
}

// title is what records call a daemon.
func title(d technique.Daemon) string {
	if named, ok := d.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("daemon %d", d.PID())
}
