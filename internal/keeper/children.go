package keeper

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// children are the processes that a keeper must wait for: those that it has started, and orphans
// that it has inherited. A process that ends is reaped at once.
type children struct {
	mu    *sync.Mutex
	alive map[int]chan syscall.WaitStatus // those whose end is awaited
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

// reap reaps all processes that have ended. It reports whether none is left.
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
	ended <-chan syscall.WaitStatus // receives its status, once
}

// start starts a program. The lock prevents it from being reaped before it is registered.
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
		_ = unix.Kill(to.pid, s) // fails if it has just ended
	}
}

// endAll ends all descendants and returns when none is left. A process that forks meanwhile, or is
// just being given another parent, may be missing in the list, but is waited for.
func (c children) endAll() {
	for self := os.Getpid(); !c.reap(); time.Sleep(time.Millisecond) {
		for _, pid := range Family(self)[1:] {
			_ = unix.Kill(pid, unix.SIGKILL) // fails if it has just ended
		}
	}
}

// Family returns a process and all its descendants, in its process group or not: servers start
// their children in sessions of their own.
func Family(pid int) []int {
	children := listed
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		children = parented() // a kernel that does not list children (CONFIG_PROC_CHILDREN)
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// listed returns the children of a process. It does not read the machine's other processes, of
// which there can be hundreds.
func listed(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list) // fails if it has ended meanwhile
		for _, f := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// parented finds the same by reading all processes, once.
func parented() func(pid int) []int {
	by := map[int][]int{}
	all, _ := procfs.AllProcs()
	for _, p := range all {
		if stat, err := p.Stat(); err == nil { // it may have ended meanwhile
			by[stat.PPID] = append(by[stat.PPID], p.PID)
		}
	}
	return func(pid int) []int { return slices.Clone(by[pid]) }
}
