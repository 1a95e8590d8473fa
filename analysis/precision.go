package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"nettoll/plan"
	"nettoll/record"
)

// circumstances holds what the judgement of a row depends on: the run's limits and end, and the other cells.
type circumstances struct {
	judging
	machine record.Machine
	limits  record.Settings
	bound
	reached map[record.Cell]Reached
	needed  map[record.Cell]bool // baselines of cells with figures: precision is requested of the ratios to them
	verdict int                  // rounds that a verdict takes among the comparisons of the run
	aim     Aim
}

// Aim is the precision requested of a run, and how far the run came.
type Aim struct {
	Wanted float64 `json:"wanted"`           // half width of the interval of each primary figure, relative; 0 means none requested
	Asked  int     `json:"asked"`            // primary figures that it applies to: compared ones, and those that stand alone
	Narrow int     `json:"reached"`          // how many of these reached it
	Rounds int     `json:"rounds,omitempty"` // about how many rounds the widest needs; 0 if all reached it, or this is unknown
	// Unforeseen is how many of those that did not reach it Rounds leaves out: they are not measured any more, or have no interval yet.
	Unforeseen int `json:"unforeseen,omitempty"`
	// Seconds is about how long Rounds rounds take, counted from the first; 0 where Rounds is.
	Seconds float64 `json:"seconds,omitempty"`
}

func newCircumstances(f *record.File, all []series) circumstances {
	limits := f.Limits()
	in := circumstances{judging: judgingOf(limits), machine: f.Run.Machine, limits: limits, bound: boundOf(f),
		reached: map[record.Cell]Reached{}, aim: Aim{Wanted: limits.Precision}}
	compared := comparedCells(all)
	in.verdict = record.LeastRounds(max(compared, 1), in.level)
	for _, c := range all {
		in.reached[c.cell] = precision(c, limits, compared)
		in.last = max(in.last, c.last())
	}
	in.needed = neededBaselines(all)
	for _, c := range all {
		r := in.reached[c.cell]
		if len(c.ok()) == 0 || in.needed[c.cell] {
			continue
		}
		in.aim.Asked++
		switch {
		case r.Narrow:
			in.aim.Narrow++
		case r.Rounds > 0: // it needs more by those that it has lost
			in.aim.Rounds = max(in.aim.Rounds, min(r.Rounds+c.last()-r.N, mostForecast))
		case in.aim.Wanted > 0:
			in.aim.Unforeseen++
		}
	}
	if took := f.Spent / float64(max(1, in.last)); took > 0 && took < math.MaxFloat64/mostForecast {
		in.round, in.aim.Seconds = took, took*float64(in.aim.Rounds)
	}
	return in
}

// comparedCells returns how many cells have figures and a baseline with figures.
func comparedCells(all []series) int {
	measured := record.Those(all, func(c series) bool { return len(c.ok()) > 0 })
	return record.Comparisons(record.Each(measured, func(c series) record.Cell { return c.cell }))
}

// givenUp reports whether a cell with these trials is not tried any
// more: it cannot run, or failed in too many rounds in a row.
func givenUp(trials []*record.Trial) bool {
	has := func(trials []*record.Trial, status record.Status) bool {
		return slices.ContainsFunc(trials, func(t *record.Trial) bool { return t.Status == status })
	}
	failed := 0
	for _, parts := range slices.Backward(record.Gather(trials, func(t *record.Trial) int { return t.Round })) {
		switch {
		case has(parts, record.Skipped):
			return true
		case has(parts, record.OK):
			return false
		}
		if failed++; failed == record.GiveUp {
			return true
		}
	}
	return false
}

// ended reports whether nothing more can be known of a cell: it, or the measured baseline that it is compared with, is not
// tried any more.
func (s series) ended() bool {
	return givenUp(s.trials) || len(s.base.ok()) > 0 && givenUp(s.base.trials)
}

// completeRounds counts the rounds in which every cell still to be measured has a trial. A
// cell that cannot run never needs one, a cell that is known well enough or was given up
// needs no more, and a baseline needs them as long as any cell that is compared with it, in
// each part of a round that has one.
func completeRounds(all []series, s record.Settings) int {
	rounds := map[int]bool{}
	compared := comparedCells(all)
	until := map[record.Cell]int{} // the last round in which each cell was to be measured
	for _, c := range all {
		for _, t := range c.trials {
			rounds[t.Round] = true
		}
		switch {
		case c.skipped():
		case len(c.trials) > 0 && (givenUp(c.trials) || precision(c, s, compared).Known):
			until[c.cell] = c.last()
		default:
			until[c.cell] = math.MaxInt
		}
	}
	for _, c := range all {
		if !c.cell.IsNative() || c.skipped() {
			continue
		}
		others := record.Those(all, func(o series) bool { return o.cell != c.cell && o.cell.Against() == c.cell && !o.skipped() })
		if len(others) > 0 {
			until[c.cell] = slices.Max(record.Each(others, func(o series) int { return until[o.cell] }))
		}
	}
	n := 0
	for round := range rounds {
		missing := func(c series) bool {
			i, has := c.in(round)
			if has && c.trials[i].Part > 0 {
				_, beside := c.base.in(round)
				return !beside && round <= until[c.cell.Against()]
			}
			return !has && round <= until[c.cell]
		}
		if !slices.ContainsFunc(all, missing) {
			n++
		}
	}
	return n
}

// in finds the first trial in a round.
func (s series) in(round int) (at int, has bool) {
	return slices.BinarySearchFunc(s.trials, round, func(t *record.Trial, round int) int { return t.Round - round })
}

// Reached is how well the primary metric of a cell is known so far.
type Reached struct {
	N         int     `json:"n"`                    // rounds that count: pairs with the baseline, or for a baseline those with an OK trial
	Wanted    float64 `json:"-"`                    // half width requested by the run, relative (0.05 is 5 %); 0 means none
	HalfWidth float64 `json:"half_width,omitempty"` // greater half of the interval over its estimate; 0 if there is no interval yet
	Narrow    bool    `json:"reached"`              // there is an interval, and HalfWidth is at most Wanted
	Known     bool    `json:"-"`                    // no further rounds are needed: Narrow when it was looked at, after enough rounds for a verdict
	Rounds    int     `json:"rounds,omitempty"`     // about how many rounds the wanted half width takes; 0 if that is reached, the cell is given up, or this is unknown
}

// IsZero reports whether no round counts.
func (r Reached) IsZero() bool { return r.N == 0 }

// Precision returns for every cell with trials, by its key, whether its primary metric is known as well
// as the settings require: the interval of its ratio to the baseline if it has one, and otherwise, as
// for baselines themselves, that of its own figure. The runner measures a baseline as long as any cell
// that is compared with it. A cell without an OK trial is never known; the runner decides whether to
// try again. With Precision 0 in the settings, enough rounds and an interval suffice.
//
// Enough rounds are at least MinRounds, and at least as many as any comparison
// needs to be called different among all others (record.LeastRounds).
//
// Looking after every round and stopping at the first narrow interval favours rounds that
// agree by chance, so the intervals are looked at only a few times, see lookedAt. Since the
// width does not depend on the ratio, the remaining bias is small; TestStopping bounds it.
func Precision(trials []record.Trial, s record.Settings) map[string]Reached {
	all := collect(nil, trials)
	compared, needed := comparedCells(all), neededBaselines(all)
	out := map[string]Reached{}
	for _, c := range all {
		r := precision(c, s, compared)
		if needed[c.cell] {
			r.Rounds = 0 // the precision is requested of ratios
		}
		out[c.cell.Key()] = r
	}
	return out
}

// Enough reports which cells, by their keys, are known as well as requested.
func Enough(precision map[string]Reached) map[string]bool {
	enough := map[string]bool{}
	for key, reached := range precision {
		enough[key] = reached.Known
	}
	return enough
}

// neededBaselines returns the baselines of cells that have figures.
func neededBaselines(all []series) map[record.Cell]bool {
	needed := map[record.Cell]bool{}
	for _, c := range all {
		if !c.cell.IsNative() && len(c.ok()) > 0 {
			needed[c.cell.Against()] = true
		}
	}
	return needed
}

// precision returns how well a cell is known in a run with the given number of primary comparisons.
func precision(c series, s record.Settings, compared int) Reached {
	r := precisionOf(c, s, compared)
	if c.ended() {
		r.Rounds = 0
	}
	return r
}

func precisionOf(c series, s record.Settings, compared int) Reached {
	k := c.primary()
	points, basePoints := c.points(k), c.base.points(k)
	if len(points) == 0 {
		return Reached{Wanted: s.Precision}
	}
	if c.cell.IsNative() || len(basePoints) == 0 {
		m := summarize(values(points), level(s))
		return reached(m.N, m.Low, m.Estimate, m.High, m.Level, s, compared)
	}
	pairs := pairUp(points, basePoints)
	ratio := compare(pairs, k.Better, judgingOf(s))
	if ratio == nil {
		return Reached{Wanted: s.Precision, N: len(pairs)}
	}
	return reached(ratio.N, ratio.Low, ratio.Value, ratio.High, ratio.Level, s, compared)
}

// reached judges an interval of n rounds in a run with the given number of primary comparisons.
func reached(n int, low, estimate, high, at float64, s record.Settings, compared int) Reached {
	r := Reached{N: n, Wanted: s.Precision}
	half, has := halfWidth(low, estimate, high)
	if at == 0 || !has {
		return r
	}
	r.HalfWidth = half
	r.Narrow = s.Precision <= 0 || half <= s.Precision
	least := max(s.MinRounds, record.LeastRounds(compared, level(s)))
	r.Known = r.Narrow && lookedAt(n, least)
	if !r.Narrow {
		r.Rounds = max(forecast(n, half, s.Precision, level(s)), preferred(least))
	}
	return r
}

// lookedAt reports whether the interval is looked at after n rounds, to decide whether to measure
// more: after the least number, and then after each number of the series R10 of preferred numbers (ISO
// 3), each a quarter more than the one before: 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80, 100 …
func lookedAt(n, least int) bool {
	if n <= least {
		return n == least
	}
	return n == preferred(n)
}

// preferred returns the least number of the series R10 that is at least n, rounded to whole numbers.
func preferred(n int) int {
	for decade := 1.0; ; decade *= 10 {
		for _, r10 := range []float64{1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8} {
			if v := int(math.Round(r10 * decade)); v >= n {
				return v
			}
		}
	}
}

// MostRounds is the largest forecast of rounds that reports give: runs
// do not have more. mostForecast stands for everything beyond.
const (
	MostRounds   = plan.MostRounds
	mostForecast = 100_000
)

// forecast returns about how many rounds a half width takes that n rounds have not reached, at a level.
func forecast(n int, halfWidth, wanted, level float64) int {
	enough := usualWidth(n, level) * wanted / halfWidth
	for more := preferred(n + 1); more < mostForecast; more = preferred(more + 1) {
		if usualWidth(more, level) <= enough {
			return more
		}
	}
	return mostForecast
}

// usualWidth returns the half width of the interval of the pseudo-median of n values from a normal distribution, in standard deviations:
// that of the normal scores (Blom, Statistical Estimates and Transformed Beta-Variables, 1958). With few values it is wider than the
// square root of their number would have it: 1.28 with 6 at 95 %, and 0.66 with 12.
func usualWidth(n int, level float64) float64 {
	const exact = 40 // from then on it narrows with the square root
	k := min(n, exact)
	scores := make([]float64, k)
	for i := range scores {
		scores[i] = distuv.UnitNormal.Quantile((float64(i+1) - 0.375) / (float64(k) + 0.25))
	}
	low, high, _ := pseudomedianInterval(scores, plainNull(k), level)
	return (high - low) / 2 * math.Sqrt(float64(k)/float64(n))
}

// primary returns the metric that a cell is ranked by: the first of its workload's that an OK trial
// has.
func (s series) primary() record.Kind {
	names := record.Ranked(s.cell.Workload)
	for _, name := range names {
		if k, known := record.KindOf(name); known && len(s.points(k)) > 0 {
			return k
		}
	}
	k, _ := record.KindOf(names[0])
	return k
}
