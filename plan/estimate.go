package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nettoll/record"
)

// Time beside warm-up and window that an estimate assumes.
const (
	TrialOverhead = 15 * time.Millisecond // starting, connecting and reading counters
	PairOverhead  = 5 * time.Millisecond  // more for each client process
	VisitOverhead = 17 * time.Millisecond // building a network and taking it down
	// ContainerOverhead is more for each container of a network, AgentOverhead for
	// each client process in it.
	ContainerOverhead = 1500 * time.Microsecond
	AgentOverhead     = 10 * time.Millisecond
)

// How long the idle machine is watched before the first round besides, and before every
// round. The first is longer, as it may be the only one. Where only ticks tell how long
// it was idle it takes three times as long.
const (
	IdleBefore  = 500 * time.Millisecond
	IdleBetween = 100 * time.Millisecond
)

// Forecast says how long a run would take.
type Forecast struct {
	Cells     int
	Visits    int // networks built in a round
	Groups    int // of networks that stand at once
	InTurns   int // cells that take turns; all others have whole trials
	MinRounds int // with the budget considered
	MaxRounds int
	// Comparisons is how many primary ones the run makes, Verdict how many rounds they take at the
	// least to be called different, after correction for their number.
	Comparisons int
	Verdict     int
	Round       time.Duration
	Min         time.Duration // if the precision is reached as early as possible
	Max         time.Duration
	Bounded     bool          // the time budget is what bounds Max
	Starting    time.Duration // of a round: engines and daemons start and end
	Slow        []string      // networks that this is for, those that take half a second of it or more
}

// Estimate says how long measuring the cells takes with what is known. No round begins
// that would end after the budget, but for the first.
func Estimate(cells []record.Cell, set record.Settings, known Known) Forecast {
	visits := group(cells)
	compared := record.Comparisons(cells)
	f := Forecast{Cells: len(cells), Visits: len(visits), MaxRounds: set.MaxRounds,
		Comparisons: compared}
	if compared > 0 {
		f.Verdict = record.LeastRounds(compared, set.Confidence)
	}
	f.MinRounds = min(max(set.MinRounds, f.Verdict), set.MaxRounds)
	starting := 0.0
	const slow = 0.5 // s
	round, before := IdleBetween.Seconds(), IdleBefore.Seconds()
	if len(visits) == 0 {
		round, before = 0, 0
	}
	able := known.able(cells)
	for _, g := range Groups(visits, set, able) {
		f.Groups++
		slowest := 0.0 // of those that are built at once
		for _, v := range g.Visits {
			containers := v.Servers + v.Clients + v.Neighbours
			p := known.platformOf(v.Network)
			build := p.Visit.Seconds() + known.kindOf(v.Network).Startup.Seconds() + float64(containers)*p.Container.Seconds()
			if build >= slow && !slices.Contains(f.Slow, v.Network) {
				f.Slow = append(f.Slow, v.Network)
			}
			starting += build
			if able.Across && p.AtOnce > 0 {
				starting -= build
				slowest, build = max(slowest, build), 0
			}
			round += build
			round += VisitOverhead.Seconds() + float64(containers)*ContainerOverhead.Seconds() + float64(v.Pairs())*AgentOverhead.Seconds()
		}
		round += slowest
		starting += slowest
		for _, c := range g.Whole {
			t, _ := known.tool(c.Tool)
			round += t.whole(set.Warmup) + t.whole(max(set.Duration, t.MinDuration.Seconds())) + t.Lead.Seconds() +
				TrialOverhead.Seconds() + float64(c.Pairs())*PairOverhead.Seconds()
		}
		for _, contest := range g.Contests {
			round += contest.span(set).Seconds()
			f.InTurns += len(contest.Cells)
			for _, c := range contest.Cells {
				round += TrialOverhead.Seconds() + float64(c.Pairs())*PairOverhead.Seconds()
			}
		}
	}
	if set.Budget > 0 && round > 0 {
		begun := max(1, math.Floor((set.Budget-before)/round))
		if begun < float64(f.MaxRounds) {
			f.MaxRounds, f.Bounded = int(begun), true
		}
		f.MinRounds = min(f.MinRounds, f.MaxRounds)
	}
	f.Round, f.Starting = seconds(round), seconds(starting)
	f.Min = seconds(before + round*float64(f.MinRounds))
	f.Max = seconds(before + round*float64(f.MaxRounds))
	return f
}

// Short reports whether the run will have too few rounds for any verdict: so few that no
// difference, however large, could be told from chance among so many comparisons.
func (f Forecast) Short() bool { return f.Comparisons > 0 && f.MaxRounds < f.Verdict }

// whole rounds seconds up to the tool's step.
func (t Tool) whole(s float64) float64 {
	if step := t.Step.Seconds(); step > 0 {
		return math.Ceil(s/step) * step
	}
	return s
}

// Assumes says what the estimate takes for granted.
func (Forecast) Assumes() string {
	return fmt.Sprintf("assuming %s and %s a client beside warm-up and window of each trial, and %s, %s a container and %s a client for building a network, what its engine and its daemons take to start, and %s a round in which the idle machine is watched",
		TrialOverhead, PairOverhead, VisitOverhead, ContainerOverhead, AgentOverhead, IdleBetween)
}

// seconds is a duration; what is too long for one is the longest.
func seconds(s float64) time.Duration {
	ns := math.Round(s * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
