// Package runner measures. In each round it visits the networks of a plan, builds each one, proves
// that the traffic crosses it, drives the traffic, and passes every finished trial to the run file.
// It connects the contracts and knows nothing of particular drivers, statistics or formats.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"nettoll/internal/oneline"
	"nettoll/network"
	"nettoll/plan"
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
	// Before holds the trials that the run file already has.
	Before []record.Trial
	// Save stores a finished trial permanently. A trial that cannot be stored ends the run.
	Save func(record.Trial) error
	// Enough reports which cells, by key, are known as precisely as requested. They are not measured again, except
	// for baselines that other cells still need.
	Enough func([]record.Trial) map[string]bool
	// Watch is notified of progress. It may be nil.
	Watch Watch
	// Least rounds are done even if the time budget would end the run before, as long as all of them end within Late after it.
	Least int
	Late  time.Duration
	// Unwatched turns off watching the idle machine, for users who do not want the CPU cost of
	// traffic. CPU time is then recorded as if the idle machine used none.
	Unwatched bool

	cpu     *sampler.CPU
	watched sampler.Baseline             // the idle machine, over the whole run
	ahead   sampler.Baseline             // for the next round
	idle    sampler.Baseline             // for the current round
	down    time.Time                    // when networks were taken down last
	distant map[string]*sampler.Baseline // other machines in the current round, by boot
	began   time.Time
	spent   time.Duration // in warm-ups, windows and turns, and watching the idle machine
	longest time.Duration // the longest round
	work    time.Duration // building the network that took longest among those that stood last
	late    time.Duration // by how much the budget may be exceeded now
	trials  []record.Trial
	rounds  map[int][]int            // the indexes of each round's trials
	done    map[string]map[int][]int // cell key → rounds → parts that have a trial
	out     map[string]int           // the round in which cells were skipped or given up, by key
	known   map[string]bool          // cells that need no more trials, by key
	failed  map[string][]int         // rounds with failures since the last success, by key
	worked  map[string]int           // the last round with a success, by key
	probed  map[string]bool          // networks that can be built here, and tools that can be used
	usable  map[string]error         // what the probes of platforms returned, by platform name
	probing sync.Mutex               // held by networks that are built or readied concurrently
	strays  []string                 // contests, by key, of which a network takes another path than it should
	lingers []string                 // contests between other machines whose payload is still on its way when turns have ended: see takeTurns
	can     plan.Able                // which networks can stand together, and take turns
	rests   bool                     // connections of some networks rest during the turns of others
}

// Watch follows a run.
type Watch interface {
	Round(round, trials int)   // a round begins, with this number of trials
	Begin(cells []record.Cell) // these cells are measured now, in turns if there are several
	Trial(t record.Trial)
}

// Run measures until every cell is known precisely enough, a limit is reached, or ctx ends. Failed trials are
// recorded and do not end the run. It returns an error only when it cannot continue: nothing can be saved, the
// machine's counters cannot be read, or a network cannot be taken down.
func (r *Runner) Run(ctx context.Context) (record.End, error) {
	r.began = time.Now()
	if err := r.prepare(ctx); err != nil {
		return r.end(record.EndFailed, err), err
	}
	done := 0
	for round := r.first(); ; round++ {
		r.findKnown(round)
		if reason := r.over(ctx, round); reason != "" {
			return r.end(reason, nil), nil
		}
		begin := time.Now()
		ran, err := r.round(ctx, round)
		if err != nil {
			return r.end(record.EndFailed, err), err
		}
		if ran == 0 {
			continue
		}
		if done++; done == 2 {
			r.longest = 0 // the first one also started what stands across rounds, such as engines
		}
		r.longest = max(r.longest, time.Since(begin))
	}
}

func (r *Runner) prepare(ctx context.Context) (err error) {
	r.done, r.out = map[string]map[int][]int{}, map[string]int{}
	r.failed, r.worked = map[string][]int{}, map[string]int{}
	r.probed, r.usable = map[string]bool{}, map[string]error{}
	r.rounds = map[int][]int{}
	// Computed once, because the amount of free memory changes.
	r.can = plan.AbleTo(r.Cells, r.Settings, r.room, func(tool, work string) bool {
		t := r.Tools[tool]
		return t.Stand != nil && slices.ContainsFunc(t.Drives, func(d workload.Drive) bool { return d.Workload == work && d.Turns })
	})
	r.rests = r.resting()
	for _, t := range r.Before {
		r.note(t)
	}
	if r.cpu, err = sampler.NewCPU("/proc", "/sys"); err != nil {
		return err
	}
	r.cpu.Aside = true // what carries traffic runs in processes of its own
	return r.watchIdle(ctx, plan.IdleBefore)
}

// note records a trial in the runner's state.
func (r *Runner) note(t record.Trial) {
	key := t.Cell.Key()
	if r.done[key] == nil {
		r.done[key] = map[int][]int{}
	}
	r.done[key][t.Round] = append(r.done[key][t.Round], t.Part)
	r.rounds[t.Round] = append(r.rounds[t.Round], len(r.trials))
	r.trials = append(r.trials, brief(t))
	switch t.Status {
	case record.Skipped:
		r.giveUp(key, t.Round)
	case record.OK:
		r.failed[key], r.worked[key] = nil, t.Round
		if r.out[key] == t.Round { // it failed in another part of the round
			delete(r.out, key)
		}
	default:
		if r.worked[key] == t.Round {
			break // it worked in another part of the round
		}
		if r.failed[key] = record.AddNew(r.failed[key], t.Round); len(r.failed[key]) >= record.GiveUp {
			r.giveUp(key, t.Round)
		}
	}
}

// giveUp notes that a cell is not tried any more.
func (r *Runner) giveUp(key string, round int) {
	if r.out[key] == 0 {
		r.out[key] = round
	}
}

// givenUp returns the round in which a cell was given up, or else the one in which that happened to what it has been compared with so
// far: further trials of it could be compared with nothing. 0 means that it is still measured.
func (r *Runner) givenUp(c record.Cell) int {
	out, base := r.out[c.Key()], c.Against().Key()
	if out == 0 && !c.IsNative() && r.worked[base] > 0 {
		return r.out[base]
	}
	return out
}

// brief returns the parts of a trial that Enough needs, so that a run of many trials does not keep
// every counter in memory.
func brief(t record.Trial) record.Trial {
	b := record.Trial{Cell: t.Cell, Round: t.Round, Part: t.Part, Order: t.Order, Status: t.Status, Reason: t.Reason, Window: t.Window}
	for _, name := range record.Ranked(t.Cell.Workload) {
		if m, ok := t.Metrics[name]; ok {
			if b.Metrics == nil {
				b.Metrics = map[string]record.Metric{}
			}
			b.Metrics[name] = m
		}
	}
	for _, s := range t.Slices { // a baseline's trial counts in some of them
		b.Slices = append(b.Slices, record.Slice{At: s.At, Window: s.Window, Bytes: s.Bytes, Transactions: s.Transactions})
	}
	return b
}

// over returns the reason why no further round begins, or "".
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
	if r.allKnown() {
		return record.EndPrecision
	}
	if budget := r.budget(); budget > 0 {
		spent, missing := time.Since(r.began), r.Least-round+1
		switch {
		case missing > 0 && r.longest > 0 && spent+time.Duration(missing)*r.longest <= budget+r.Late:
			r.late = r.Late // also if this round should end in time: it may take longer than the others
		case spent+r.longest > budget:
			return record.EndBudget
		default:
			r.late = 0
		}
	}
	return ""
}

func (r *Runner) budget() time.Duration { return seconds(r.Settings.Budget) }

// hurry reports whether the budget is used up, in the middle of a round.
func (r *Runner) hurry() bool { return r.budget() > 0 && time.Since(r.began) > r.budget()+r.late }

// allOut reports whether nothing is left to measure.
func (r *Runner) allOut() bool {
	return !slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return r.givenUp(c) == 0 })
}

// first returns the round to begin with: the last round with trials in the run file, which may be
// incomplete. A trial missing from an earlier round was left out for a reason, and one taken now
// would be paired with trials from long ago.
func (r *Runner) first() int {
	return max(1, record.Most(r.Before, func(t record.Trial) int { return t.Round }))
}

// findKnown finds the cells that need no more trials: those that are known precisely enough, and baselines that no
// open cell is compared with. A baseline with nothing to compare is judged by itself. Until the minimum number of
// rounds is done, none is known. Trials of the round itself, which a resumed run can have, do not count, since
// the rest of the round would then be divided into other parts.
func (r *Runner) findKnown(round int) {
	r.known = map[string]bool{}
	if round <= r.Settings.MinRounds {
		return
	}
	enough := r.Enough(slices.DeleteFunc(slices.Clone(r.trials), func(t record.Trial) bool { return t.Round >= round }))
	compared, needed := map[record.Cell]bool{}, map[record.Cell]bool{}
	for _, c := range r.Cells {
		if key := c.Key(); !c.IsNative() && r.givenUp(c) == 0 {
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

// allKnown reports whether no cell needs more trials.
func (r *Runner) allKnown() bool {
	return !slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return r.givenUp(c) == 0 && !r.known[c.Key()] })
}

// resting reports whether connections of any network rest during the turns of others.
func (r *Runner) resting() bool {
	all := plan.Groups(plan.Visits(r.Cells, 1, r.Settings.Seed), r.Settings, r.can, nil)
	return slices.ContainsFunc(all, func(g plan.Group) bool { return len(g.Contests) > 0 })
}

// round visits every network once, and baselines once in each part, and returns the number of trials it ran.
func (r *Runner) round(ctx context.Context, round int) (ran int, err error) {
	groups := r.groups(round)
	total := 0
	for _, g := range groups {
		for _, v := range g.Visits {
			total += len(v.Cells)
		}
	}
	if r.Watch != nil && total > 0 {
		r.Watch.Round(round, total)
	}
	if total > 0 {
		if err := r.baseline(ctx); err != nil {
			return 0, err
		}
	}
	place := &order{round: round, last: r.inRound(round)}
	for _, g := range groups {
		if ctx.Err() != nil || r.hurry() {
			break
		}
		n, err := r.group(ctx, g, place)
		ran += n
		if err != nil {
			return ran, err
		}
		r.gone(ctx, g)
		r.down = time.Now()
	}
	return ran, nil
}

// groups returns what is left to measure in a round. The parts of the round follow from the cells that were open
// when it began, so that a resumed run continues each part with the baseline that the part has, or still needs.
func (r *Runner) groups(round int) []plan.Group {
	var visits []plan.Visit
	for _, v := range plan.Visits(r.Cells, round, r.Settings.Seed) {
		v.Cells = slices.DeleteFunc(v.Cells, func(c record.Cell) bool {
			out := r.givenUp(c)
			return r.known[c.Key()] || out > 0 && out < round
		})
		if len(v.Cells) > 0 {
			visits = append(visits, v)
		}
	}
	return plan.Groups(visits, r.Settings, r.can, func(c record.Cell, part int) bool {
		out := r.out[c.Key()]
		return (out == 0 || out == round && c.IsNative()) && !r.has(c, round, part)
	})
}

// has reports whether a cell has its trial in a part of a round: any trial of the round, except that each part has
// its own of the baseline.
func (r *Runner) has(c record.Cell, round, part int) bool {
	parts := r.done[c.Key()][round]
	if c.IsNative() {
		return slices.Contains(parts, part)
	}
	return len(parts) > 0
}

// room returns how many networks can stand at once with one.
func (r *Runner) room(network string) plan.Room {
	recipe, ok := r.Networks[network]
	if !ok {
		return plan.Room{AtOnce: 1}
	}
	on := recipe.Platform.Info()
	return plan.Room{AtOnce: on.AtOnce, Crowd: on.Crowd, Single: recipe.Driver.Single, Apart: recipe.Driver.Apart, Relays: recipe.Driver.Relays, Carried: recipe.Driver.Carried}
}

// inRound returns the number of trials that a round has. In a resumed run, the first round may
// already have some.
func (r *Runner) inRound(round int) (n int) { return len(r.rounds[round]) }

// complete returns the number of rounds that have a trial of every cell that is still measured, with its baseline.
func (r *Runner) complete() (rounds int) {
	for r.inRound(rounds+1) > 0 && len(r.missing(rounds+1)) == 0 {
		rounds++
	}
	return rounds
}

// missing returns the cells that are still measured and have no trial in a round, and the baselines without a trial
// in a part that has one of a cell that is compared with it.
func (r *Runner) missing(round int) (cells []record.Cell) {
	parts := map[record.Cell][]int{} // of baselines
	for _, i := range r.rounds[round] {
		if t := &r.trials[i]; t.Part > 0 {
			parts[t.Cell.Against()] = append(parts[t.Cell.Against()], t.Part)
		}
	}
	for _, c := range r.Cells {
		key := c.Key()
		has := len(r.done[key][round]) > 0
		for _, part := range parts[c] {
			has = has && slices.Contains(r.done[key][round], part)
		}
		if r.givenUp(c) == 0 && !r.known[key] && !has {
			cells = append(cells, c)
		}
	}
	return cells
}

// order numbers the trials of a round.
type order struct{ round, last int }

// save completes a trial, stores it permanently and notes it.
func (r *Runner) save(t record.Trial, place *order) error {
	place.last++
	t.Round, t.Order = place.round, place.last
	if t.Elapsed == 0 {
		t.Elapsed = time.Since(t.Started).Seconds()
	}
	t.Started = t.Started.UTC()
	if t.Status == record.Skipped && r.worked[t.Cell.Key()] > 0 { // it can run here, and may do so again in the next round
		t.Status = record.Failed
	}
	if t.Status == record.OK && slices.ContainsFunc(r.Before, func(o record.Trial) bool { return paired(o, t) }) {
		remark(&t, "the run was resumed in this round: what this trial is compared with was measured before")
	}
	if err := t.Check(); err != nil { // a tool or the kernel counted nonsense: not a reason to lose all other trials
		t = record.Trial{
			Cell: t.Cell, Round: t.Round, Part: t.Part, Order: t.Order, Started: t.Started, Elapsed: t.Elapsed,
			Status: record.Failed, Reason: "the measured values are impossible: " + oneline.Errors(err.Error()),
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

// paired reports whether one of two trials is compared with the other, if the second is OK.
func paired(a, b record.Trial) bool {
	return a.Status == record.OK && a.Round == b.Round && a.Part == b.Part && a.Cell != b.Cell && a.Cell.Against() == b.Cell.Against() &&
		(a.Cell.IsNative() || b.Cell.IsNative())
}

func (r *Runner) end(reason string, err error) record.End {
	e := record.End{
		Finished: time.Now().UTC(), Reason: reason, Rounds: r.complete(),
		Measuring: r.spent.Seconds(), Elapsed: time.Since(r.began).Seconds(), Idle: max(0, r.watched.Rate()),
	}
	switch over := time.Since(r.began) - r.budget(); {
	case err != nil:
		e.Detail = err.Error()
	case reason == record.EndBudget && r.late > 0 && over >= time.Second/2:
		e.Detail = fmt.Sprintf("it was exceeded by %.0f s for the first %d rounds", over.Seconds(), r.Least)
	}
	if is, was := sampler.Power("/sys", r.Machine.CPUs).Frequency(), r.Machine.Power.Frequency(); was != "" && is != was {
		e.Frequency = cmp.Or(is, "not known")
	}
	seen := map[string]bool{}
	for _, recipe := range r.Networks {
		if on := recipe.Platform.Info(); on.Stood != nil && !seen[on.Name] {
			seen[on.Name] = true
			e.Stood = append(e.Stood, on.Stood()...)
		}
	}
	slices.Sort(e.Stood)
	return e
}

// unusable returns a trial for each cell of a network that could not be used.
func unusable(cells []record.Cell, began time.Time, err error) []record.Trial {
	trials := make([]record.Trial, len(cells))
	for i, c := range cells {
		t := record.Trial{Cell: c, Started: began}
		failed(context.Background(), &t, err)
		if wrong, ok := errors.AsType[*network.WrongPath](err); ok {
			t.Status, t.Reason = record.Invalid, oneline.Errors(wrong.Error())
		}
		trials[i] = t
	}
	return trials
}
