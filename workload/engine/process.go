package engine

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is what all sessions of an agent share: the settings of Go's runtime.
// Each of the two is a reason to stop the world, which would wait for flows, so
// both are made before the flows of a session run. The collector comes back when
// no session is left; the processors stay.
type process struct {
	mu       sync.Mutex
	sessions int
	flows    int
	gc       int // percent, as it was
}

// spareProcessors are for everything but flows: reading requests, answering,
// timers.
const spareProcessors = 3

func (p *process) enter(flows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions == 0 {
		p.gc = debug.SetGCPercent(-1)
	}
	p.sessions++
	p.flows += flows
	if want := p.flows + spareProcessors; runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}

func (p *process) leave(flows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions--
	p.flows -= flows
	if p.sessions == 0 {
		debug.SetGCPercent(p.gc)
	}
}

// ownThread gives the calling goroutine a thread of its own for good: the thread
// ends with the goroutine, and its settings with it. cpu -1 is any.
func ownThread(cpu int) error {
	runtime.LockOSThread()
	var urgent unix.Sigset_t
	urgent.Val[0] = 1 << (syscall.SIGURG - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &urgent, nil); err != nil {
		return fmt.Errorf("block SIGURG: %w", err)
	}
	if cpu < 0 {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	return nil
}
