package plot

import "math"

// nearest and farthest are the least and the largest number that is drawn as it is. Numbers beyond
// them would look like 0, or like the largest, beside anything else. Sums and ratios of numbers within
// these limits are finite.
const (
	nearest  = 1 / farthest
	farthest = 1e30
)

// drawn is the place of a value on an axis that begins at zero; NaN is placed at zero. A place far
// outside of a chart would take very long to paint.
func drawn(v float64) float64 {
	if !(v >= nearest) { // nor is NaN
		return 0
	}
	return min(v, farthest)
}

func (b Bar) drawn() Bar {
	b.Value, b.Low, b.High = drawn(b.Value), drawn(b.Low), drawn(b.High)
	b.Parts = each(b.Parts, func(p Part) Part { return Part{drawn(p.Value), p.Look} })
	return b
}

// scale is where the values of an axis stand, from 0 at the least to 1 at the greatest.
type scale struct {
	least, greatest float64
	factors         bool // equal factors are equally far apart, not equal steps
}

// scale is that of the axis's ticks. Where they have no least and greatest apart, all stands in
// the middle.
func (x Axis) scale() scale {
	s := scale{least: math.Inf(1)}
	for _, t := range x.Ticks {
		s.least, s.greatest = min(s.least, drawn(t.At)), max(s.greatest, drawn(t.At))
	}
	s.factors = x.Log && s.least > 0
	return s
}

func (s scale) place(v float64) float64 {
	v = min(max(drawn(v), s.least), s.greatest)
	share := (v - s.least) / (s.greatest - s.least)
	if s.factors {
		share = math.Log(v/s.least) / math.Log(s.greatest/s.least)
	}
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return 0.5
	}
	return share
}

// series gives a line the places of its points.
func (s scale) series(l Series) Series {
	l.Points = each(l.Points, func(p Point) Point {
		return Point{s.place(p.X), drawn(p.Y), drawn(p.Low), drawn(p.High)}
	})
	return l
}

// each gives every item as f makes it.
func each[T any](all []T, f func(T) T) []T {
	out := make([]T, len(all))
	for i, one := range all {
		out[i] = f(one)
	}
	return out
}
