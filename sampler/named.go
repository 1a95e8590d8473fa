package sampler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/await"
)

// Named is a process by the name that the kernel gives it: the first 15 characters of its program's.
type Named struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// FindNamed returns the processes of this PID namespace that have one of the names, in the order of their PIDs. It reads nothing
// of others but their names. It looks twice: a child that a daemon has just started has the daemon's name until it runs a program
// of its own. proc is "/proc".
func FindNamed(ctx context.Context, proc string, names []string) (all []Named, err error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("sampler: find processes: %w", err)
	}
	nameOf := func(pid int) string { // "" is one that has ended meanwhile
		text, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
		return strings.TrimSuffix(string(text), "\n")
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if name := nameOf(pid); slices.Contains(names, name) {
			all = append(all, Named{pid, name})
		}
	}
	if err := await.Sleep(ctx, 100*time.Millisecond); err != nil {
		return nil, fmt.Errorf("sampler: find processes: %w", err)
	}
	all = slices.DeleteFunc(all, func(p Named) bool { return nameOf(p.PID) != p.Name })
	slices.SortFunc(all, func(a, b Named) int { return a.PID - b.PID })
	return all, nil
}

// CPUTimes returns how much CPU time each of the processes has used so far: all of them, or an error.
func CPUTimes(pids []int) ([]time.Duration, error) {
	all := make([]time.Duration, len(pids))
	for i, pid := range pids {
		seconds, ok := CPUTime(pid)
		if !ok {
			return nil, fmt.Errorf("sampler: read CPU time of process %d: %w", pid, unix.ESRCH)
		}
		all[i] = time.Duration(seconds * float64(time.Second))
	}
	return all, nil
}
