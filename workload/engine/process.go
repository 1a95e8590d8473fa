package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/wrap"
	"nettoll/sampler"
)

// process is the state that all sessions of an agent share: the settings of Go's runtime.
type process struct {
	mu       sync.Mutex
	sessions int
	managed  int // sessions with managed flows
	percent  int // what the collector was set to; 0: not yet
	flows    int
}

// usualGC is Go's own GC percentage.
const usualGC = 100

// collect sets the collector: off while flows run that the scheduler does not know of, as usual for managed flows, and seldom between
// sessions. It is not set to what it is, since that stops the world, too, and flows of other sessions may run.
func (p *process) collect() {
	percent := agent.GCPercent
	switch {
	case p.sessions > p.managed:
		percent = -1
	case p.sessions > 0:
		percent = usualGC
	}
	if percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
}

// spareProcessors are for everything but flows: reading requests, answering, timers.
const spareProcessors = 3

// enter prepares the runtime for the flows of a session, and leave undoes that.
//
// The collector and a change of the number of processors stop the world, which would wait for flows
// that the scheduler does not know of. So both are set before the flows run. The collector is
// turned on again when no session with such flows is left; the number of processors stays.
//
// Managed flows run on the scheduler. They keep the collector, and the process has as many
// processors as they have CPUs, as a separate program would.
//
// GOGC and GOMEMLIMIT in the environment of whoever runs nettoll are for other programs: near a limit
// the collector would run all the time, also during flows that turned it off.
func (p *process) enter(flows []*flow, managed bool) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.collect()
	p.sessions++
	alone := p.sessions == 1
	if alone {
		debug.SetMemoryLimit(math.MaxInt64)
	}
	if managed {
		p.managed++
		release := func() {}
		if alone {
			if release, err = confine(flows); err != nil {
				p.managed--
				p.sessions--
				return nil, err
			}
		}
		return func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.managed--
			p.sessions--
			if p.flows == 0 {
				release()
			}
			p.collect()
		}, nil
	}
	p.flows += len(flows)
	debug.SetMaxThreads(math.MaxInt32) // Go ends a process that has more than 10,000, as maxFlows would
	if want := p.flows + spareProcessors; runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sessions--
		p.flows -= len(flows)
		p.collect()
	}, nil
}

// confine keeps all threads of the process to the CPUs of the flows.
func confine(flows []*flow) (release func(), err error) {
	set := unix.NewCPUSet(sampler.MostCPUs)
	for _, f := range flows {
		if f.cpu < 0 {
			set.Zero()
			break
		}
		if set.Set(f.cpu); !set.IsSet(f.cpu) {
			return nil, fmt.Errorf("pin to CPU %d: no such CPU", f.cpu)
		}
	}
	before := runtime.GOMAXPROCS(0)
	if set.Count() == 0 {
		runtime.GOMAXPROCS(runtime.NumCPU())
		return func() { runtime.GOMAXPROCS(before) }, nil
	}
	old := unix.NewCPUSet(sampler.MostCPUs)
	if err := unix.SchedGetaffinityDynamic(unix.Getpid(), old); err != nil {
		return nil, fmt.Errorf("get CPUs of the process: %w", err)
	}
	if err := placeThreads(set); err != nil {
		return nil, fmt.Errorf("pin to %d CPUs: %w", set.Count(), err)
	}
	runtime.GOMAXPROCS(set.Count())
	return func() {
		_ = placeThreads(old) // these CPUs were granted before
		runtime.GOMAXPROCS(before)
	}, nil
}

// placeThreads goes through the threads twice, as a new thread may be made by one that has not been
// placed yet.
func placeThreads(set unix.CPUSetDynamic) error {
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return err
			}
			if err := unix.SchedSetaffinityDynamic(id, set); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// ownThread gives the flow the thread of the calling goroutine for good.
func (f *flow) ownThread() error {
	if err := ownThread(f.cpu); err != nil {
		return err
	}
	f.thread.Store(int32(unix.Gettid()))
	return nil
}

// moved returns an error if a flow was taken from its CPU.
func (s *session) moved() error {
	for _, f := range s.flows {
		if thread := int(f.thread.Load()); f.cpu >= 0 && thread != 0 && !sampler.StaysOn(thread, f.cpu) {
			return fmt.Errorf("%s ran on another CPU than %d for a part of the time: this may not be used any more, or is offline", f.label, f.cpu)
		}
	}
	return nil
}

// ownThread gives the calling goroutine a thread of its own for good: the thread ends with the
// goroutine, and its settings with it. cpu -1 is any.
func ownThread(cpu int) error {
	runtime.LockOSThread()
	var urgent unix.Sigset_t
	urgent.Val[0] = 1 << (syscall.SIGURG - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &urgent, nil); err != nil {
		return fmt.Errorf("block SIGURG: %w", err)
	}
	// Otherwise the kernel lets a sleep last up to 50 µs longer.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set timer slack: %w", err)
	}
	if cpu < 0 {
		return nil
	}
	set := unix.NewCPUSet(sampler.MostCPUs)
	set.Set(cpu)
	return wrap.Error(unix.SchedSetaffinityDynamic(0, set), "pin to CPU %d", cpu)
}
