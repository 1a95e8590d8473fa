package analysis

import (
	"math"

	"nettoll/record"
)

// Reached says how well the primary metric of a cell is known so far.
type Reached struct {
	N         int     // rounds that count: pairs with native, for native itself its OK trials
	HalfWidth float64 // of the interval, relative (0.05 is 5 %); 0 where there is no interval yet
	Known     bool    // MinRounds are done, and HalfWidth is at most what was asked for
}

// Precision says of every cell with trials, by its key, whether its primary
// metric is known as well as the settings ask for. A native cell is asked for
// the interval of its median, any other for that of its ratio to native; where
// native of its scenario was never measured, for that of its median. A cell
// that has no OK trial is never known: whether to go on trying is the runner's
// to decide. With Precision 0 in the settings, MinRounds and an interval are
// enough.
//
// Looking after every round and stopping at the first narrow interval favours
// rounds that agree by chance. The width does not know where 1 is, so the price
// is small: over 2,000 simulated runs of equal networks each, with six to thirty
// rounds, 2.9 to 6.2 % were called different at 95 %. More MinRounds lower it.
func Precision(trials []record.Trial, s record.Settings) map[string]Reached {
	all := collect(nil, trials)
	byCell := map[record.Cell]series{}
	for _, c := range all {
		byCell[c.cell] = c
	}
	out := map[string]Reached{}
	for _, c := range all {
		out[c.cell.Key()] = precision(c, byCell[native(c.cell)], s)
	}
	return out
}

func precision(c, native series, s record.Settings) Reached {
	k := c.primary()
	points, base := c.points(k), native.points(k)
	if len(points) == 0 {
		return Reached{}
	}
	var r Reached
	var has bool
	if !c.cell.IsNative() && len(base) > 0 {
		pairs := pairUp(points, base)
		r.N = len(pairs)
		if ratio := compare(pairs, k.Better, level(s)); ratio != nil && ratio.Level > 0 {
			r.HalfWidth, has = halfWidth(ratio.Low, ratio.Ratio, ratio.High)
		}
	} else {
		m := summarize(values(points), level(s))
		r.N = m.N
		if m.Level > 0 {
			r.HalfWidth, has = halfWidth(m.Low, m.Median, m.High)
		}
	}
	r.Known = has && r.N >= s.MinRounds && (s.Precision <= 0 || r.HalfWidth <= s.Precision)
	return r
}

// halfWidth is half of an interval over its estimate. There is none where the
// estimate is 0.
func halfWidth(low, estimate, high float64) (h float64, ok bool) {
	h = (high/estimate - low/estimate) / 2
	if math.IsNaN(h) || math.IsInf(h, 0) {
		return 0, false
	}
	return h, true
}

// primary is the metric that a cell is ranked by: the first of its workload's
// that an OK trial has. Tools differ in what they measure: qperf tells the mean
// of latencies and no percentile.
func (s series) primary() record.Kind {
	names := record.Primary(s.cell.Workload)
	for _, name := range append(names, record.LatencyMean) {
		if k, known := record.KindOf(name); known && len(s.points(k)) > 0 {
			return k
		}
	}
	k, _ := record.KindOf(names[0])
	return k
}
