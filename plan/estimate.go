package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nettoll/record"
)

// Time that an estimate assumes in addition to warm-up and window.
const (
	TrialOverhead = 15 * time.Millisecond // starting, connecting and reading counters
	PairOverhead  = 5 * time.Millisecond  // more for each client process
	VisitOverhead = 17 * time.Millisecond // building a network and taking it down
	// ContainerOverhead is added for each container of a network, AgentOverhead for each client process in it.
	ContainerOverhead = 1500 * time.Microsecond
	AgentOverhead     = 10 * time.Millisecond
)

// How long the idle machine is watched: IdleBefore before the first round, which may be the only one, and IdleWatched in
// each round for the next. Where idle time is known only in ticks, both take three times as long.
const (
	IdleBefore  = 500 * time.Millisecond
	IdleWatched = 100 * time.Millisecond
)

// Forecast is an estimate of how long a run takes.
type Forecast struct {
	Cells     int
	Visits    int // networks built in a round
	Groups    int // sets of networks that stand at once
	Cut       int // groups into which sets of networks are cut that cannot all stand at once, each with its own baselines
	Alone     int // networks that are too large to stand beside their baseline
	Single    int // networks of which no two can stand at once where they are built
	InTurns   int // cells that take turns; all others have whole trials
	MinRounds int // within the budget
	MaxRounds int
	// Comparisons is how many primary comparisons the run makes, Verdict the least number of rounds in which one of
	// them can be called different, after correction for their number.
	Comparisons int
	Verdict     int
	Round       time.Duration
	Min         time.Duration // if the precision is reached as early as possible
	Max         time.Duration
	Bounded     bool          // Max is limited by the time budget
	Starting    time.Duration // part of a round in which engines and daemons start and end
	Slow        []string      // networks that account for it, those that take at least half a second
}

// Estimate returns how long measuring the cells takes with what is known. Except for the first, no round begins
// that would end after the budget.
func Estimate(cells []record.Cell, set record.Settings, known Known) Forecast {
	visits := group(cells)
	f := Forecast{Cells: len(cells), MaxRounds: set.MaxRounds, Comparisons: record.Comparisons(cells)}
	if f.Comparisons > 0 {
		f.Verdict = record.LeastRounds(f.Comparisons, set.Confidence)
	}
	f.MinRounds = min(max(set.MinRounds, f.Verdict), set.MaxRounds)
	starting := 0.0
	const slow = 0.5 // s
	round, before := IdleWatched.Seconds(), IdleBefore.Seconds()
	if len(visits) == 0 {
		round, before = 0, 0
	}
	able, inTurns := known.able(cells, set), map[record.Cell]bool{}
	for _, g := range Groups(visits, set, able, nil) {
		f.Groups++
		f.Visits += len(g.Visits)
		if len(g.based) > 0 {
			f.Cut++
		}
		if set.Turns && able.alone(g.Visits[0].Network) {
			f.Single++
		}
		if one := g.Visits[0]; set.Turns && !able.alone(one.Network) && roomOf(one.Cell) > MostContainers && !one.Cells[0].IsNative() {
			f.Alone++
		}
		slowest := 0.0 // of the networks that are built at the same time
		for _, v := range g.Visits {
			containers := containersOf(v.Cell)
			p, kind := known.platformOf(v.Network), known.kindOf(v.Network)
			build := p.Visit.Seconds() + kind.Startup.Seconds() + float64(containers)*p.Container.Seconds()
			for _, d := range record.Dimensions(record.Condition) {
				if d.TakenBy(kind.Has) {
					build += d.Longer(v.Cell).Seconds()
				}
			}
			if build >= slow && !slices.Contains(f.Slow, v.Network) {
				f.Slow = append(f.Slow, v.Network)
			}
			if p.AtOnce > 0 && !v.Timed(kind.Has) {
				slowest, build = max(slowest, build), 0
			}
			starting += build
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
			round += contest.span(set, known).Seconds()
			for _, c := range contest.Cells {
				inTurns[c] = true
				round += TrialOverhead.Seconds() + float64(c.Pairs())*PairOverhead.Seconds()
			}
		}
	}
	f.InTurns = len(inTurns)
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

// Estimate returns how long measuring the suite's cells takes as long as nobody knows which congestion control the machines
// have: under nearly all of them traffic can take turns.
func (s Suite) Estimate(cells []record.Cell, known Known) Forecast {
	return s.estimate(cells, "cubic", known)
}

func (s Suite) estimate(cells []record.Cell, congestion string, known Known) Forecast {
	set := Settings(s)
	set.Congestion = congestion
	return Estimate(cells, set, known)
}

// spare is by how much more rounds a time budget should have room for than a verdict takes: a forecast is for a quiet machine.
const spare = 1.1

// ShortTrial is how long trials of transactions are that have only two turns, the fewest.
var ShortTrial = 2 * exchangeTurn.Slice

// Shortened returns the suite with trials of two turns if its time budget has too little room for the rounds that a verdict takes
// and a tenth to spare, and has enough for these. A duration that the suite's file gives stays, and trials that take no turns would
// lose more than a turn. congestion is TCP's congestion control where a cell names none.
func (s Suite) Shortened(cells []record.Cell, congestion string, known Known) Suite {
	is := s.estimate(cells, congestion, known)
	enough := float64(is.MaxRounds) >= spare*float64(is.Verdict)
	if s.written("duration") || !is.Bounded || is.Comparisons == 0 || is.InTurns < is.Cells || enough {
		return s
	}
	short := s
	short.Duration = min(s.Duration, ShortTrial)
	if f := short.estimate(cells, congestion, known); f.MaxRounds < f.Verdict {
		return s
	}
	return short
}

// Short reports whether the run, which has done some rounds already, will have too few for any verdict: even an
// arbitrarily large difference could not be distinguished from chance among that many comparisons.
func (f Forecast) Short(done int) bool { return f.Comparisons > 0 && done+f.MaxRounds < f.Verdict }

// whole rounds seconds up to the tool's step.
func (t Tool) whole(s float64) float64 {
	if step := t.Step.Seconds(); step > 0 {
		return math.Ceil(s/step) * step
	}
	return s
}

// Assumes describes the assumptions of the estimate.
func (Forecast) Assumes() string {
	return fmt.Sprintf("assuming for each trial %s and %s per client in addition to warm-up and window; for building a network %s, %s per container, %s per client and the start of its engine and daemons; and for each round %s in which the idle machine is watched",
		TrialOverhead, PairOverhead, VisitOverhead, ContainerOverhead, AgentOverhead, IdleWatched)
}

// seconds converts to a duration, limited to the longest one.
func seconds(s float64) time.Duration {
	ns := math.Round(s * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
