package keeper

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// children are the processes that a keeper must wait for: those that it has started, and
// those that were given to it when their parents had ended. Whoever ends is reaped at once.
type children struct {
	mu    *sync.Mutex
	alive map[int]chan syscall.WaitStatus // those whose end is of interest
}

func newChildren() children {
	c := children{mu: &sync.Mutex{}, alive: map[int]chan syscall.WaitStatus{}}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGCHLD)
	go func() {
		for range ends {
			c.reap()
		}
	}()
	return c
}

// reap takes leave of all who have ended. It says whether nobody is left.
func (c children) reap() (none bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return err == syscall.ECHILD
		}
		if waiting := c.alive[pid]; waiting != nil {
			delete(c.alive, pid)
			waiting <- status
		}
	}
}

// child is a process that the keeper has started.
type child struct {
	pid   int
	ended <-chan syscall.WaitStatus // how, once
}

// start starts a program. It cannot be reaped before it is known.
func (c children) start(path string, argv []string, attr *syscall.ProcAttr) (child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return child{}, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	c.alive[pid] = ended
	return child{pid, ended}, nil
}

// signal sends a signal to a child that has not been reaped.
func (c children) signal(to child, s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive[to.pid] != nil {
		_ = unix.Kill(to.pid, s) // fails where nobody is left to hear it
	}
}

// endAll ends all descendants and returns when none is left. Whoever forks meanwhile, or is
// just given another parent, may be overlooked in the list, but is waited for.
func (c children) endAll() {
	for self := os.Getpid(); !c.reap(); time.Sleep(time.Millisecond) {
		for _, pid := range Family(self)[1:] {
			_ = unix.Kill(pid, unix.SIGKILL) // fails where it has just ended
		}
	}
}
