package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nettoll/internal/origin"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload/engine"
)

// resume resumes a run file.
func (a *app) resume(cmd *cobra.Command, f runFlags) error {
	if info, err := os.Stat(f.resume); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return usagef("--resume %s: only a regular file can be resumed", f.resume)
	}
	var file *record.File
	err := unless(cmd.Context(), func() (err error) {
		file, err = readRun(f.resume, record.ReadFile)
		return err
	})
	if err != nil {
		return err
	}
	if err := unix.Faccessat(unix.AT_FDCWD, f.resume, unix.W_OK, unix.AT_EACCESS); err != nil && !f.dryRun && !errors.Is(err, unix.EOPNOTSUPP) {
		return usagef("--resume %s: it cannot be written: %w; copy it, and resume the copy", f.resume, err)
	}
	if !ownID(file.Run.ID) {
		return usagef("--resume %s: its id is %q, and must be at least %d hexadecimal digits; begin another run", f.resume, file.Run.ID, shortestID)
	}
	if err := f.cni.resumes(file.Run); err != nil {
		return err
	}
	set := f.limits(lastLimits(file))
	set.Venue = f.venue(file.Run.Cells)
	if err := sameVenue(file.Venue(), set.Venue); err != nil {
		return err
	}
	if err := plan.Resumable(file.Run.Cells, file.Run.Settings, f.known()); err != nil {
		return usagef("--resume %s: %w; begin another run", f.resume, err)
	}
	if err := plan.CheckLimits(set); err != nil {
		return f.fault(err, nil)
	}
	if err := cmp.Or(f.suitEngines(file.Run.Cells), f.suitMachines(file.Run.Cells), f.suitClusters(file.Run.Cells), f.sameTargets(file.Trials)); err != nil {
		return err
	}
	if err := a.tasksFit(&f, file.Run.Cells, set); err != nil {
		return err
	}
	f.done = doneRounds(file)
	here, unknown := versions(cmd.Context(), file.Run.Cells, toolByName(a.paths)) // without those that an interrupt kept from answering
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	unlike := cmp.Or(sameMachine(file), sameTools(file.Run.Cells, file.Run.Tools, here, unknown))
	switch {
	case unlike != nil && f.dryRun:
		return a.showPlan(f, notSkipped(file), skippedBefore(file), set, allOfIt(unlike))
	case unlike != nil:
		return unlike
	case f.dryRun:
		return a.dryRun(cmd.Context(), f, notSkipped(file), skippedBefore(file), set)
	}
	if err := cmp.Or(f.reachable("--resume", f.resume, file.Run.Cells), f.checkTime(notSkipped(file), set)); err != nil {
		return err
	}
	return a.where(cmd.Context(), &f, file.Run.Cells, func(ctx context.Context) error {
		if !f.outside(file.Run.Cells) {
			whole := record.Cell{Options: record.Options{Congestion: set.Congestion}} // of cells that name none
			if err := checkCongestion(append(notSkipped(file), whole)); err != nil {
				return err
			}
		}
		e, err := a.venue(ctx, &f, file.Run)
		if err != nil {
			return err
		}
		w, file, err := record.Append(f.resume, record.Resume{Started: time.Now().UTC(), Version: origin.Version(), Settings: &set})
		if err != nil {
			return a.leftBehind(err, e.leave(ctx))
		}
		return a.drive(ctx, f.resume, w, file, e, set, notSkipped(file), f)
	})
}

// lastLimits returns the run's settings with the limits that the last process had that resumed it.
func lastLimits(file *record.File) record.Settings {
	set, last := file.Run.Settings, file.Limits()
	set.MinRounds, set.MaxRounds, set.Budget = last.MinRounds, last.MaxRounds, last.Budget
	set.Precision, set.EqualWithin = last.Precision, last.EqualWithin
	return set
}

// sameMachine refuses to resume a run where new trials could not be compared with its own.
func sameMachine(file *record.File) error {
	was := file.Run.Machine
	is, err := machineHere()
	if err != nil {
		return err
	}
	switch {
	case file.Here() && was.Root && !is.Root: // older run files do not say that they were root's
		return usagef("--resume: the run began as root, and idle time would be read by another clock; resume it as root, or begin another run")
	case is.Kernel != was.Kernel:
		return usagef("--resume: the run began on kernel %s, this is %s; begin another run", was.Kernel, is.Kernel)
	case is.CPUModel == was.CPUModel && len(is.CPUs) == len(was.CPUs) && !slices.Equal(record.Each(is.CPUs, numberOf), record.Each(was.CPUs, numberOf)):
		return usagef("--resume: the run began on CPUs %v, and this process may use CPUs %v; begin another run", record.Each(was.CPUs, numberOf), record.Each(is.CPUs, numberOf))
	case is.CPUModel != was.CPUModel || !slices.Equal(is.CPUs, was.CPUs):
		return usagef("--resume: the run began on other CPUs (%d, %s) than are available now (%d, %s); begin another run",
			len(was.CPUs), was.CPUModel, len(is.CPUs), is.CPUModel)
	case file.Here() && was.Power.Frequency() != "" && is.Power.Frequency() != was.Power.Frequency():
		return usagef("--resume: the run began with cpufreq %s, now it is %s; choose that governor again, or begin another run",
			was.Power.Frequency(), cmp.Or(is.Power.Frequency(), "not known"))
	}
	return nil
}

func numberOf(c record.CPU) int { return c.ID }

// sameTools refuses to resume a run without the tools that its cells began with, or with other versions of them, for the same
// reason. Cells whose tool is missing would be given up. unknown are the reasons for which versions are not known.
func sameTools(cells []record.Cell, was, are map[string]string, unknown map[string]error) error {
	for _, name := range record.Distinct(cells, toolOf) {
		began := fmt.Sprintf("--resume: the run began with %s %s", name, was[name])
		switch is := are[name]; {
		case was[name] == "" || is == was[name]:
		case is == "" && unknown[name] != nil && !absent(unknown[name]):
			return fmt.Errorf("%s, and the version of the one here is not known: %w", began, unknown[name])
		case is == "":
			return usagef("%s, which is not here; install it, or give its path with --tool-path", began)
		case name == engine.Name: // a part of nettoll
			return usagef("%s, this is %s; begin another run", began, is)
		default:
			return usagef("%s, this is %s; give the path of that version with --tool-path, or begin another run", began, is)
		}
	}
	return nil
}

// absent reports whether the reason for which a tool cannot be used is that a program is not there.
func absent(err error) bool {
	why, ok := errors.AsType[*platform.Unsupported](err)
	return ok && why.Option == ""
}

// sameVenue refuses to resume a run on engines or clusters of other owners than it began on, or with another proof of its paths.
// Where a run of an older version began is not known: only the first process that resumes it chooses.
func sameVenue(was, is *record.Venue) error {
	if was == nil || is == nil {
		return nil
	}
	flags := func(v *record.Venue) (given []string) {
		for _, flag := range []struct {
			name  string
			given bool
		}{
			{privateEngine, v.PrivateEngine}, {privateCluster, v.PrivateCluster},
			{nodeAgent + ", --" + nodeDaemons + " or --" + nodePrivileged, v.NodeAgent}, {"expect " + v.Expect, v.Expect != ""},
			{fmt.Sprintf("%s %d", podCPUs, v.PodCPUs), v.PodCPUs > 0},
		} {
			if flag.given {
				given = append(given, "--"+flag.name)
			}
		}
		return given
	}
	had, has := flags(was), flags(is)
	for _, flag := range had {
		if !slices.Contains(has, flag) {
			return usagef("--resume: the run began with %s; give it again", flag)
		}
	}
	for _, flag := range has {
		if !slices.Contains(had, flag) {
			return usagef("--resume: the run began without %s; leave it out", flag)
		}
	}
	// Where there is none now, it is said why when the engine is dialled.
	if began := strings.Join(was.Engines, " --docker-host "); len(was.Engines) > 0 && len(is.Engines) > 0 && !slices.Equal(was.Engines, is.Engines) {
		return usagef("--resume: the run began with --docker-host %s; give the same, in this order, or have the docker command use that engine again", began)
	}
	return nil
}

// doneRounds returns the number of rounds that a resumed run does not measure again: all before the last one, and that, too, if
// the process that measured it found it complete.
func doneRounds(file *record.File) int {
	before := record.Most(file.Trials, func(t record.Trial) int { return t.Round - 1 })
	return max(before, record.Most(file.Ends, func(e record.End) int { return e.Rounds }))
}

// notSkipped returns the cells of a run without those that were skipped, which are not tried again.
func notSkipped(file *record.File) []record.Cell {
	skipped := map[record.Cell]bool{}
	for _, t := range file.Trials {
		skipped[t.Cell] = skipped[t.Cell] || t.Status == record.Skipped
	}
	return record.Those(file.Run.Cells, func(c record.Cell) bool { return !skipped[c] })
}

// skippedBefore returns the networks with cells that were skipped, and why.
func skippedBefore(file *record.File) (all []plan.Skip) {
	for _, t := range file.Trials {
		if t.Status == record.Skipped {
			all = record.AddNew(all, plan.Skip{Network: t.Cell.Network, Reason: told(t.Reason)})
		}
	}
	return all
}

// ownID reports whether an id can be one of newID's. Control groups, images and pages of a run are named after it.
func ownID(id string) bool {
	return len(id) >= shortestID && strings.Trim(id, "0123456789abcdef") == ""
}
