package analysis

import (
	"math"
	"testing"

	"nettoll/record"
)

// A baseline's rates are those of the slices nearest to the cell's, one for each; all other figures are those of all its slices. Of as many
// slices nothing is changed.
func TestInAsManySlices(t *testing.T) {
	slice := func(at float64, bytes, transactions uint64) record.Slice {
		return record.Slice{At: at, Window: 0.5, Bytes: bytes, Transactions: transactions}
	}
	base := &record.Trial{
		Slices: []record.Slice{slice(0, 100, 1), slice(1, 200, 2), slice(2, 400, 4), slice(3, 800, 8)},
		Metrics: map[string]record.Metric{
			record.Throughput: record.Measured(record.Throughput, 6000), record.TransactionRate: record.Measured(record.TransactionRate, 7.5),
			record.LatencyP50: record.Measured(record.LatencyP50, 1e-3),
		},
	}
	for _, c := range []struct {
		cell             []record.Slice
		throughput, rate float64
	}{
		{[]record.Slice{slice(1.1, 1, 1)}, 3200, 4},
		{[]record.Slice{slice(2.9, 1, 1), slice(3.1, 1, 1)}, 9600, 12}, // the second takes what is left
		{[]record.Slice{slice(-1, 1, 1), slice(9, 1, 1)}, 7200, 9},
		{base.Slices, 6000, 7.5},
		{nil, 6000, 7.5}, // a whole trial
	} {
		got := inAsMany(base, &record.Trial{Slices: c.cell}).Metrics
		near := func(name string, want float64) {
			if v := got[name].Value; math.Abs(v/want-1) > 1e-9 {
				t.Errorf("beside %v: %s is %v, want %v", c.cell, name, v, want)
			}
		}
		near(record.Throughput, c.throughput)
		near(record.TransactionRate, c.rate)
		near(record.LatencyP50, 1e-3)
	}
	if v := base.Metrics[record.Throughput].Value; v != 6000 {
		t.Errorf("the baseline itself has %v now", v)
	}
}
