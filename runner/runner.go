// Package runner measures: round by round it visits the networks of a plan,
// builds each, proves that the traffic crosses it, drives the traffic and hands
// every finished trial to the run file. It joins the contracts and knows no
// driver, no statistics and no format.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// Runner measures the cells of one run.
type Runner struct {
	Networks map[string]Recipe // by their names in the cells
	Tools    map[string]workload.Tool
	Machine  record.Machine
	Settings record.Settings
	Cells    []record.Cell
	// Before are the trials that the run file already holds.
	Before []record.Trial
	// Save keeps a finished trial for good. A trial that cannot be kept ends the run.
	Save func(record.Trial) error
	// Enough says which cells, by key, are known as well as was asked. They are measured no more.
	Enough func([]record.Trial) map[string]bool
	// Watch is told what happens, for progress. It may be nil.
	Watch Watch
	// Unwatched: the idle machine is not watched, for those who do not ask what traffic
	// costs. CPU time is then recorded as if the machine used none by itself.
	Unwatched bool

	cpu     *sampler.CPU
	watched sampler.Baseline             // the idle machine, in all
	ahead   sampler.Baseline             // before the round that comes next
	idle    sampler.Baseline             // before the round that is measured
	distant map[string]*sampler.Baseline // other machines in that round, by boot
	began   time.Time
	spent   time.Duration // in warm-ups and windows, and watching the idle machine
	longest time.Duration // of all rounds
	trials  []record.Trial
	done    map[string]map[int]bool // cell key → rounds that have a trial
	out     map[string]bool         // cells that are measured no more, by key
	known   map[string]bool         // cells that need not be measured on, by key
	failed  map[string]int          // failures in a row
	probed  map[string]bool         // networks that can be built here, and tools that are
	usable  map[string]error        // platforms that were asked whether they are, by name
	probing sync.Mutex              // by networks that are built, or readied, at once
	can     plan.Able
}

// Watch follows a run.
type Watch interface {
	Round(round, trials int)   // a round begins, with so many trials
	Begin(cells []record.Cell) // are measured, in turns if there are several
	Trial(t record.Trial)
}

// Run measures until every cell is known well enough, a limit is reached, or ctx
// ends. Failing trials are recorded and do not end it. The error is one that
// makes going on pointless: nothing can be saved, or the machine cannot be read.
func (r *Runner) Run(ctx context.Context) (record.End, error) {
	r.began = time.Now()
	if err := r.prepare(ctx); err != nil {
		return r.end(record.EndFailed, err), err
	}
	for round := r.first(); ; round++ {
		r.settle(round)
		if reason := r.over(ctx, round); reason != "" {
			return r.end(reason, nil), nil
		}
		begin := time.Now()
		ran, err := r.round(ctx, round)
		if err != nil {
			return r.end(record.EndFailed, err), err
		}
		if ran > 0 {
			r.longest = max(r.longest, time.Since(begin))
		}
	}
}

func (r *Runner) prepare(ctx context.Context) (err error) {
	r.done, r.out, r.failed = map[string]map[int]bool{}, map[string]bool{}, map[string]int{}
	r.probed, r.usable = map[string]bool{}, map[string]error{}
	r.can = r.able()
	for _, t := range r.Before {
		r.note(t)
	}
	if r.cpu, err = sampler.NewCPU("/proc", "/sys"); err != nil {
		return err
	}
	return r.watchIdle(ctx, plan.IdleBefore)
}

// note takes account of a trial.
func (r *Runner) note(t record.Trial) {
	key := t.Cell.Key()
	if r.done[key] == nil {
		r.done[key] = map[int]bool{}
	}
	r.done[key][t.Round] = true
	r.trials = append(r.trials, brief(t))
	switch t.Status {
	case record.Skipped:
		r.out[key] = true
	case record.OK:
		r.failed[key] = 0
	default:
		if r.failed[key]++; r.failed[key] >= record.GiveUp {
			r.out[key] = true
		}
	}
}

// brief is what Enough needs of a trial: a run of many trials must not keep
// every counter of each in memory.
func brief(t record.Trial) record.Trial {
	b := record.Trial{Cell: t.Cell, Round: t.Round, Order: t.Order, Status: t.Status, Reason: t.Reason}
	for _, name := range append(record.Primary(t.Cell.Workload), record.LatencyMean) {
		if m, ok := t.Metrics[name]; ok {
			if b.Metrics == nil {
				b.Metrics = map[string]record.Metric{}
			}
			b.Metrics[name] = m
		}
	}
	return b
}

// over says why no further round begins, or nothing.
func (r *Runner) over(ctx context.Context, round int) string {
	if ctx.Err() != nil {
		return record.EndInterrupted
	}
	if r.allOut() {
		return record.EndFailed
	}
	if round > r.Settings.MaxRounds {
		return record.EndMaxRounds
	}
	if r.settled() {
		return record.EndPrecision
	}
	if budget := r.budget(); budget > 0 && time.Since(r.began)+r.longest > budget {
		return record.EndBudget
	}
	return ""
}

func (r *Runner) budget() time.Duration {
	return time.Duration(r.Settings.Budget * float64(time.Second))
}

// hurry says that the budget is used up, in the middle of a round.
func (r *Runner) hurry() bool { return r.budget() > 0 && time.Since(r.began) > r.budget() }

// allOut says that there is nothing left to measure.
func (r *Runner) allOut() bool {
	for _, c := range r.Cells {
		if !r.out[c.Key()] {
			return false
		}
	}
	return true
}

// first is the round to begin with: the last one that the run file has trials of, which may not
// be whole. What is missing in an earlier one was not measured for a reason, and would be paired
// with trials of long ago.
func (r *Runner) first() int {
	last := 1
	for _, t := range r.Before {
		last = max(last, t.Round)
	}
	return last
}

// settle finds the cells that need not be measured on: those that are known well enough, and
// baselines that nothing open is compared with. A baseline alone is asked for itself. Before the
// fewest rounds are done there are none.
func (r *Runner) settle(round int) {
	r.known = map[string]bool{}
	if round <= r.Settings.MinRounds {
		return
	}
	enough := r.Enough(r.trials)
	compared, needed := map[record.Cell]bool{}, map[record.Cell]bool{}
	for _, c := range r.Cells {
		if key := c.Key(); !c.IsNative() && !r.out[key] {
			r.known[key] = enough[key]
			compared[c.Against()] = true
			needed[c.Against()] = needed[c.Against()] || !enough[key]
		}
	}
	for _, c := range r.Cells {
		if key := c.Key(); c.IsNative() {
			r.known[key] = compared[c] && !needed[c] || !compared[c] && enough[key]
		}
	}
}

// settled reports whether no cell needs to be measured on.
func (r *Runner) settled() bool {
	for _, c := range r.Cells {
		if key := c.Key(); !r.out[key] && !r.known[key] {
			return false
		}
	}
	return true
}

// round visits every network once and says how many trials it ran.
func (r *Runner) round(ctx context.Context, round int) (ran int, err error) {
	var visits []plan.Visit
	var total int
	for _, v := range plan.Visits(r.Cells, round, r.Settings.Seed) {
		if v.Cells = r.open(v.Cells, round); len(v.Cells) > 0 {
			visits = append(visits, v)
			total += len(v.Cells)
		}
	}
	if r.Watch != nil && total > 0 {
		r.Watch.Round(round, total)
	}
	if total > 0 {
		if err := r.watchIdle(ctx, plan.IdleBetween); err != nil {
			return 0, err
		}
		r.idle, r.ahead, r.distant = r.ahead, sampler.Baseline{}, map[string]*sampler.Baseline{}
	}
	place := &order{round: round, last: r.inRound(round)}
	for _, g := range plan.Groups(visits, r.Settings, r.can) {
		if ctx.Err() != nil || r.hurry() {
			break
		}
		n, err := r.group(ctx, g, place)
		ran += n
		if err != nil {
			return ran, err
		}
		for _, v := range g.Visits {
			r.gone(ctx, v)
		}
	}
	return ran, nil
}

// able says what can stand beside others, and take turns. It is asked once: how much memory is free
// changes.
func (r *Runner) able() plan.Able {
	return plan.AbleTo(r.Cells, r.atOnce, func(tool, work string) bool {
		t, ok := r.Tools[tool].(workload.Turner)
		return ok && slices.ContainsFunc(t.Drives(), func(d workload.Drive) bool { return d.Workload == work && d.Turns })
	})
}

// atOnce is how many networks of a platform can stand at once, by the name of one; 0 is any number.
func (r *Runner) atOnce(network string) int {
	recipe, ok := r.Networks[network]
	if !ok {
		return 1
	}
	if b, ok := recipe.Platform.(platform.Engines); ok {
		return b.AtOnce()
	}
	return 0
}

// open are the cells that still want a trial in the round.
func (r *Runner) open(cells []record.Cell, round int) (open []record.Cell) {
	for _, c := range cells {
		if key := c.Key(); !r.out[key] && !r.known[key] && !r.done[key][round] {
			open = append(open, c)
		}
	}
	return open
}

// inRound is how many trials of a round there are. A resumed run may have some of a
// round that it goes on with.
func (r *Runner) inRound(round int) (n int) {
	for _, t := range r.trials {
		if t.Round == round {
			n++
		}
	}
	return n
}

// complete is how many rounds have a trial of every cell that is still measured.
func (r *Runner) complete() (rounds int) {
	for r.inRound(rounds+1) > 0 && len(r.open(r.Cells, rounds+1)) == 0 {
		rounds++
	}
	return rounds
}

// order numbers the trials of a round.
type order struct{ round, last int }

// save completes a trial, keeps it for good and takes account of it.
func (r *Runner) save(t record.Trial, place *order) error {
	place.last++
	t.Round, t.Order = place.round, place.last
	if t.Elapsed == 0 {
		t.Elapsed = time.Since(t.Started).Seconds()
	}
	t.Started = t.Started.UTC()
	if err := t.Check(); err != nil { // a tool or the kernel has counted nonsense: no reason to lose all other trials
		t = record.Trial{
			Cell: t.Cell, Round: t.Round, Order: t.Order, Started: t.Started, Elapsed: t.Elapsed,
			Status: record.Failed, Reason: "what was measured cannot be true: " + oneLine(err),
		}
	}
	if err := r.Save(t); err != nil {
		return fmt.Errorf("save trial: %w", err)
	}
	r.note(t)
	if r.Watch != nil {
		r.Watch.Trial(t)
	}
	return nil
}

func (r *Runner) end(reason string, err error) record.End {
	e := record.End{
		Finished: time.Now().UTC(), Reason: reason, Rounds: r.complete(),
		Measuring: r.spent.Seconds(), Elapsed: time.Since(r.began).Seconds(), Idle: max(0, r.watched.Rate()),
	}
	if err != nil {
		e.Detail = err.Error()
	}
	seen := map[string]bool{}
	for _, recipe := range r.Networks {
		if s, ok := recipe.Platform.(platform.Engines); ok && !seen[s.Name()] {
			seen[s.Name()] = true
			e.Stood = append(e.Stood, s.Stood()...)
		}
	}
	slices.Sort(e.Stood)
	return e
}

// unusable makes trials of a network that could not be used, one for each cell.
func unusable(cells []record.Cell, began time.Time, err error) []record.Trial {
	trials := make([]record.Trial, len(cells))
	for i, c := range cells {
		t := record.Trial{Cell: c, Started: began, Status: record.Failed, Reason: oneLine(err)}
		var missing *platform.Unsupported
		var wrong *network.WrongPath
		if errors.Is(err, platform.ErrUnsupported) {
			t.Status = record.Skipped
		}
		if errors.As(err, &missing) {
			t.Remedy = missing.Remedy
		}
		if errors.As(err, &wrong) {
			t.Status, t.Reason = record.Invalid, oneLine(wrong)
		}
		trials[i] = t
	}
	return trials
}
