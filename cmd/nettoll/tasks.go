package main

import (
	"fmt"
	"slices"
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
// they stand together, at most so many beside their baseline (0: any number).
func tasks(cells []record.Cell, most int) (alone, together int) {
	agents := record.Each(record.Distinct(cells, plan.Place), func(place record.Cell) int { return place.Servers + place.Pairs() })
	slices.Sort(agents)
	if most > 0 && len(agents) > most+1 {
		agents = agents[len(agents)-most-1:]
	}
	for _, n := range agents {
		alone, together = max(alone, n), together+n
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
func (a *app) tasksFit(f *runFlags, cells []record.Cell, set record.Settings) error {
	if f.outside(cells) || lab.Inside() {
		return nil
	}
	most, by := mostTasks()
	note, err := checkTasks(most, by, cells, set)
	if note != "" {
		fmt.Fprintln(a.stderr, "note: "+note)
	}
	return err
}

// checkTasks refuses a run whose processes could not start: Go's runtime ends a program that gets no thread. It returns a note if they
// may not all fit.
func checkTasks(most int, by string, cells []record.Cell, set record.Settings) (note string, err error) {
	alone, together := tasks(cells, set.Together)
	if !set.Turns {
		together = alone
	}
	switch {
	case most == 0 || most >= together:
		return "", nil
	case most < alone:
		return "", usagef("this process may have %d processes and threads with all that it starts (%s), and the run needs about %d; raise the limit", most, by, alone)
	}
	fix := "raise the limit, or give --together 1"
	if set.Together == 1 {
		fix = "raise the limit, or give --turns=false"
	}
	return fmt.Sprintf("this process may have %d processes and threads with all that it starts (%s), and the run may need about %d: "+
		"if it fails, %s", most, by, together, fix), nil
}
