package analysis

import (
	"math"
	"slices"

	"nettoll/record"
)

// circumstances are what a row is judged in: the run's limits and end, and the other cells.
type circumstances struct {
	judging
	machine record.Machine
	limits  record.Settings
	bound
	reached map[record.Cell]Reached
	aim     Aim
}

// Aim is the precision that a run asks for, and how far it came.
type Aim struct {
	Wanted float64 `json:"wanted"`           // half width of the interval of each primary figure, relative; 0 is none
	Asked  int     `json:"asked"`            // primary figures that it is asked of: those that are compared, and others that stand alone
	Narrow int     `json:"reached"`          // of these, those that reached it
	Rounds int     `json:"rounds,omitempty"` // about how many rounds the widest takes; 0 where all reached it, or it cannot be told
	// Seconds is about how long so many rounds take, from the first on; 0 where Rounds is.
	Seconds float64 `json:"seconds,omitempty"`
}

func newCircumstances(res Result, all []series, byCell map[record.Cell]series) circumstances {
	in := circumstances{judging: judgingOf(res.Limits), machine: res.Run.Machine, limits: res.Limits, bound: bound{end: res.End, maxRounds: res.Limits.MaxRounds},
		reached: map[record.Cell]Reached{}, aim: Aim{Wanted: res.Limits.Precision}}
	compared, rounds := comparedCells(all), 0
	for _, c := range all {
		in.reached[c.cell] = precision(c, byCell[c.cell.Against()], res.Limits, compared)
		rounds = max(rounds, c.last())
	}
	needed := neededBaselines(all)
	for _, c := range all {
		r := in.reached[c.cell]
		if len(c.ok()) == 0 || c.cell.IsNative() && needed[c.cell] {
			continue
		}
		in.aim.Asked++
		if r.Narrow {
			in.aim.Narrow++
		}
		in.aim.Rounds = max(in.aim.Rounds, r.Rounds)
	}
	if took := res.Elapsed / float64(max(1, rounds)); took > 0 && took < math.MaxFloat64/mostForecast {
		in.round, in.aim.Seconds = took, took*float64(in.aim.Rounds)
	}
	return in
}

// comparedCells is how many cells have figures, and a baseline that has.
func comparedCells(all []series) int {
	var measured []record.Cell
	for _, c := range all {
		if len(c.ok()) > 0 {
			measured = append(measured, c.cell)
		}
	}
	return record.Comparisons(measured)
}

// givenUp reports whether a cell with these trials is tried no more: it cannot run, or it failed too often in a row.
func givenUp(trials []*record.Trial) bool {
	failed := 0
	for _, t := range slices.Backward(trials) {
		switch t.Status {
		case record.Skipped:
			return true
		case record.OK:
			return false
		}
		if failed++; failed == record.GiveUp {
			return true
		}
	}
	return false
}

// completeRounds counts the rounds in which every cell that was still to be measured has a
// trial. One that cannot run is never to be measured, one that is known well enough or
// was given up on no more, and a baseline as long as any cell that is compared with it.
func completeRounds(all []series, byCell map[record.Cell]series, s record.Settings) int {
	rounds, done := map[int]bool{}, map[record.Cell]map[int]bool{}
	compared := comparedCells(all)
	until := map[record.Cell]int{} // the last round that a cell was to be measured in
	ends := func(c series) int {
		last := c.trials[len(c.trials)-1] // there is one, in the order of rounds
		if givenUp(c.trials) || precision(c, byCell[c.cell.Against()], s, compared).Known {
			return last.Round
		}
		return math.MaxInt
	}
	for _, c := range all {
		done[c.cell] = map[int]bool{}
		for _, t := range c.trials {
			done[c.cell][t.Round], rounds[t.Round] = true, true
		}
		switch {
		case c.skipped():
		case len(c.trials) == 0:
			until[c.cell] = math.MaxInt
		default:
			until[c.cell] = ends(c)
		}
	}
	for _, c := range all {
		if !c.cell.IsNative() || c.skipped() {
			continue
		}
		last, alone := 0, true
		for _, o := range all {
			if o.cell != c.cell && o.cell.Against() == c.cell && !o.skipped() {
				last, alone = max(last, until[o.cell]), false
			}
		}
		if !alone {
			until[c.cell] = last
		}
	}
	n := 0
	for round := range rounds {
		whole := true
		for _, c := range all {
			whole = whole && (round > until[c.cell] || done[c.cell][round])
		}
		if whole {
			n++
		}
	}
	return n
}
