package main

import (
	"context"
	"math"
	"strings"
	"sync"
	"syscall"
	"time"

	"nettoll/internal/program"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/workload"
)

// expand returns the cells of the suite, whatever its time budget.
func (f *runFlags) expand(s plan.Suite) ([]record.Cell, error) {
	s.TimeBudget = 0
	if f.selfCheck {
		return plan.SelfCheck(s, f.known())
	}
	return plan.Expand(s, f.known())
}

// fit returns the cells that engines and machines of the user are there for. If the suite's time budget has room for a verdict only with
// shorter trials, and the user did not set their duration, it shortens them. If the budget is too short all the same, and the user did
// not set that, it extends or lifts it.
func (f *runFlags) fit(s *plan.Suite, cells []record.Cell) ([]record.Cell, error) {
	cells = f.onMachinesThere(s, f.onEnginesThere(s, cells))
	if s.TimeBudget == 0 {
		return cells, nil
	}
	within, k, may := *s, f.known(), f.lifts() || f.stretches()
	if err := s.CheckBudget(cells, k); err != nil && !may {
		return nil, err
	}
	elsewhere := len(ofMachines(cells)) > 0 || !f.cluster && len(ofClusters(cells)) > 0 // what can be used there is asked later
	if control, err := congestion(f.outside(cells)); err == nil && !f.given("duration") && !elsewhere {
		within = within.Shortened(cells, control, k)
	}
	unbounded := within
	unbounded.TimeBudget = 0
	switch {
	case !may || unbounded.Estimate(cells, k).Min <= s.TimeBudget:
		*s = within
	case f.stretches():
		least := time.Duration(s.MinRounds) * s.Estimate(cells, k).Round
		least += least / 10 // where traffic cannot take turns, as under the congestion control of some engines, a round takes longer
		s.TimeBudget = max(s.TimeBudget, least.Truncate(time.Minute)+time.Minute)
	default:
		s.TimeBudget = 0
	}
	return cells, nil
}

// stretches reports whether the time budget is that of a suite which was moved to another platform. Networks may
// take longer to build there, so the budget is extended to the least number of rounds.
func (f *runFlags) stretches() bool { return f.given("platform") && !f.given("time-budget") }

// lifts reports whether the time budget is only that of the default suite, which the user did not name: it is meant
// for the suite's own measurements, not for those that arguments, flags and suite files request instead.
func (f *runFlags) lifts() bool {
	return (!f.given("suite") || !f.budgeted) && !f.given("time-budget")
}

// excess is by how much of itself the default time budget may be exceeded.
const excess = 0.5

// late returns how many rounds a run does even if its time budget ends before, and by how much it may exceed that for them: the
// rounds that a verdict takes. A forecast is for a quiet machine; on a busy one the default run, for which it has little room to
// spare, would decide nothing. A budget that somebody has chosen is never exceeded.
func (f *runFlags) late(e plan.Forecast, set record.Settings) (rounds int, by time.Duration) {
	if f.resume != "" || !f.lifts() || e.Comparisons == 0 || e.Verdict > set.MaxRounds {
		return 0, 0
	}
	return e.Verdict, time.Duration(excess * set.Budget * float64(time.Second))
}

// known returns what the planner needs to know of the drivers; private and cluster say whether engines, or clusters, are
// private or the user's.
func known(paths program.Paths, conflists cniFlags, private, cluster bool) plan.Known {
	var k plan.Known
	for _, v := range catalogue(startable(paths, conflists, private, cluster)) {
		k.Platforms = append(k.Platforms, v.plan)
		k.Networks = append(k.Networks, record.Each(v.drivers, v.planned)...)
	}
	for _, t := range tools(paths) {
		tool := plan.Tool{Name: t.Name, Drives: record.Each(t.Drives, func(d workload.Drive) plan.Drive { return plan.Drive(d) })}
		if t.Probe != nil {
			tool.Step, tool.Lead = programStep, programLead
			tool.Missing = missing(t)
		}
		k.Tools = append(k.Tools, tool)
	}
	k.Sources = reference.Names()
	for _, i := range reference.Instances() {
		k.Instances = append(k.Instances, plan.Instance{
			Provider: i.Provider, Name: i.Name, Price: i.Price, Network: i.Network, Rate: uint64(max(i.Rate, 0)),
		})
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		k.Files = int(min(files.Max, math.MaxInt32)) // the Go runtime raises its limit to the maximum
	}
	return k
}

// Programs accept whole seconds only. Their clients run on for a moment after the window, and take a moment to
// start.
const (
	programStep = time.Second
	programLead = 600 * time.Millisecond
)

// missing returns a function that reports why a program cannot be used. It probes once, for no longer than a
// program needs to print its version.
func missing(t workload.Tool) func() string {
	const patience = 30 * time.Second
	return sync.OnceValue(func() string {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := t.Probe(ctx); err != nil {
			return err.Error()
		}
		return ""
	})
}

// skipsOf returns what the suite leaves out, in the form of the run file.
func skipsOf(s plan.Suite, k plan.Known) []record.Skip {
	var skips []record.Skip
	for _, left := range plan.Skipped(s, k) {
		name := left.Network
		if left.Underlay != "" {
			name = strings.TrimSpace(name + " on the underlay " + left.Underlay)
		}
		skips = append(skips, record.Skip{Network: name, Reason: left.Reason})
	}
	return skips
}

// versions returns the versions of the tools that the cells name, as far as they are installed, and why those of the others are not
// known.
func versions(ctx context.Context, cells []record.Cell, by map[string]workload.Tool) (all map[string]string, unknown map[string]error) {
	all, unknown = map[string]string{}, map[string]error{}
	for _, name := range record.Distinct(cells, toolOf) {
		if t, known := by[name]; known {
			if version, err := t.Version(ctx); err != nil {
				unknown[name] = err
			} else if version != "" {
				all[name] = version
			}
		}
	}
	return all, unknown
}
