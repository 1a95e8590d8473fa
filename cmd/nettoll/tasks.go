package main

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/internal/cgroup"
	"nettoll/plan"
	"nettoll/platform/lab"
	"nettoll/record"
)

// Threads of a run, as counted in runs of few networks: those of the processes that measure, and of each agent.
const (
	ownTasks   = 36
	agentTasks = 12
)

// tasks returns about how many processes and threads a run of the cells has at once: if each of its networks stands alone, and if
// they stand together.
func tasks(cells []record.Cell) (alone, together int) {
	for _, place := range record.Distinct(cells, plan.Place) {
		agents := place.Servers + place.Clients*max(1, place.Processes)
		alone, together = max(alone, agents), together+agents
	}
	return ownTasks + agentTasks*alone, ownTasks + agentTasks*min(together, plan.MostContainers)
}

// mostTasks returns how many processes and threads this process and those that it starts may have, and what limits them; 0 is any
// number.
func mostTasks() (most int, by string) {
	most, by = cgroup.MostTasks("/proc", "/sys/fs/cgroup"), "pids.max of its control group, as docker run --pids-limit and TasksMax= set it"
	var user syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NPROC, &user); err == nil && syscall.Geteuid() != 0 && user.Cur < 1<<20 && (most == 0 || int(user.Cur) < most) {
		most, by = int(user.Cur), "ulimit -u"
	}
	return most, by
}

// tasksFit refuses a run whose processes could not start, and notes if they may not all fit.
func (a *app) tasksFit(f *runFlags, cells []record.Cell, turns bool) error {
	if f.outside(cells) || lab.Inside() {
		return nil
	}
	most, by := mostTasks()
	note, err := checkTasks(most, by, cells, turns)
	if note != "" {
		fmt.Fprintln(a.stderr, "note: "+note)
	}
	return err
}

// checkTasks refuses a run whose processes could not start: Go's runtime ends a program that gets no thread. It returns a note if they
// may not all fit.
func checkTasks(most int, by string, cells []record.Cell, turns bool) (note string, err error) {
	alone, together := tasks(cells)
	if !turns {
		together = alone
	}
	switch {
	case most == 0 || most >= together:
		return "", nil
	case most < alone:
		return "", usagef("this process may have %d processes and threads with all that it starts (%s), and the run needs about %d; raise the limit", most, by, alone)
	}
	return fmt.Sprintf("this process may have %d processes and threads with all that it starts (%s), and the run may need about %d: "+
		"if it fails, raise the limit, or give --together 1", most, by, together), nil
}
