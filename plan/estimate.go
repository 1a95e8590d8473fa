package plan

import (
	"fmt"
	"math"
	"time"

	"nettoll/record"
)

// Time beside warm-up and window that an estimate assumes.
const (
	TrialOverhead = 20 * time.Millisecond // starting, connecting and reading counters
	VisitOverhead = 30 * time.Millisecond // building a network and taking it down
)

// Forecast says how long a run would take.
type Forecast struct {
	Cells     int
	Visits    int // networks built in a round
	MinRounds int // with the budget considered
	MaxRounds int
	Round     time.Duration
	Min       time.Duration // if the precision is reached as early as possible
	Max       time.Duration
	Bounded   bool // the time budget is what bounds Max
}

// Estimate says how long measuring the cells takes. No round begins that would end
// after the budget, but for the first.
func Estimate(cells []record.Cell, set record.Settings) Forecast {
	f := Forecast{Cells: len(cells), Visits: len(group(cells)), MinRounds: set.MinRounds, MaxRounds: set.MaxRounds}
	round := float64(f.Cells)*(set.Warmup+set.Duration+TrialOverhead.Seconds()) + float64(f.Visits)*VisitOverhead.Seconds()
	if set.Budget > 0 && round > 0 {
		begun := max(1, math.Floor(set.Budget/round))
		if begun < float64(f.MaxRounds) {
			f.MaxRounds, f.Bounded = int(begun), true
		}
		f.MinRounds = min(f.MinRounds, f.MaxRounds)
	}
	f.Round = seconds(round)
	f.Min = seconds(round * float64(f.MinRounds))
	f.Max = seconds(round * float64(f.MaxRounds))
	return f
}

// Assumes says what the estimate takes for granted.
func (Forecast) Assumes() string {
	return fmt.Sprintf("assuming %s beside warm-up and window for each trial, and %s for building a network", TrialOverhead, VisitOverhead)
}

// seconds is a duration; what is too long for one is the longest.
func seconds(s float64) time.Duration {
	ns := math.Round(s * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
