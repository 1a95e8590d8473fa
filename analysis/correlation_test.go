package analysis

import (
	"math"
	"testing"

	"nettoll/reference"
)

// cellsOf are one group of published and measured values.
func cellsOf(group string, published, measured []float64) []ReplicatedCell {
	var out []ReplicatedCell
	for i, p := range published {
		c := ReplicatedCell{Published: reference.Published{Network: string(rune('a' + i)), Place: reference.Place{Label: group}, Value: p},
			Measured: &Figure{Summary: Summary{Estimate: measured[i]}}}
		c.Cell.Network, c.Cell.Underlay = c.Published.Network, group
		out = append(out, c)
	}
	return out
}

// Values of tau-b are worked out by hand: (C − D) / √((n − ties)(n − ties)).
func TestCorrelate(t *testing.T) {
	label := func(c ReplicatedCell) string { return c.Published.Label }
	for _, tt := range []struct {
		name                string
		published, measured []float64
		want                float64
		n                   int
		known               bool
	}{
		{"alike", []float64{1, 2, 3, 4}, []float64{10, 20, 30, 35}, 1, 6, true},
		{"reversed", []float64{1, 2, 3}, []float64{3, 2, 1}, -1, 3, true},
		{"one pair swapped", []float64{1, 2, 3, 4}, []float64{1, 2, 4, 3}, 4.0 / 6, 6, true},
		{"a tie in one", []float64{1, 2, 2}, []float64{1, 2, 3}, 2 / math.Sqrt(2*3), 3, true},
		{"a tie in both", []float64{1, 2, 2}, []float64{1, 3, 3}, 1, 3, true},
		{"nothing but ties", []float64{2, 2, 2}, []float64{1, 2, 3}, 0, 3, false},
		{"one value", []float64{2}, []float64{1}, 0, 0, false},
	} {
		c := correlate(cellsOf("x", tt.published, tt.measured), false, label)
		if math.Abs(c.Tau-tt.want) > 1e-12 || c.N != tt.n || c.Known != tt.known {
			t.Errorf("%s: %+v, want tau %v of %d", tt.name, c, tt.want, tt.n)
		}
	}
}

// Pairs across groups would find an order where there is none.
func TestCorrelateWithinGroups(t *testing.T) {
	label := func(c ReplicatedCell) string { return c.Published.Label }
	cells := append(cellsOf("few", []float64{10, 11}, []float64{101, 100}), cellsOf("many", []float64{1, 2}, []float64{12, 11})...)
	if c := correlate(cells, false, label); c.Tau != -1 || c.N != 2 || c.Groups != 2 {
		t.Errorf("order is %+v, want −1 of 2 pairs in 2 groups", c)
	}
	if c := correlate(cells, false, func(c ReplicatedCell) string { return c.Published.Network }); c.Tau != 1 || c.N != 2 {
		t.Errorf("shape is %+v, want 1 of 2 pairs", c)
	}
	cells[0].Measured = nil
	cells[2].Published.Missing = "printed as text"
	if c := correlate(cells, false, label); c.N != 0 || c.Known {
		t.Errorf("pairs without figures give %+v", c)
	}
	same := cellsOf("x", []float64{1, 2}, []float64{5, 5})
	same[1].Cell = same[0].Cell
	if c := correlate(same, false, label); c.N != 0 {
		t.Errorf("one network taken for two gives %+v", c)
	}
	if c := correlate(cellsOf("x", []float64{1, 2}, []float64{5, 6}), true, label); c.N != 0 {
		t.Errorf("relative figures without a baseline give %+v", c)
	}
}
