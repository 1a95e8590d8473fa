package analysis

import (
	"math"
	"testing"

	"nettoll/record"
)

// A baseline's rates and costs, and the mean of its latencies, are those of the slices nearest to the cell's, one for each; all other
// figures are those of all its slices. Of as many slices nothing is changed.
func TestInAsManySlices(t *testing.T) {
	slice := func(at float64, bytes, transactions uint64) record.Slice {
		return record.Slice{At: at, Window: 0.5, Bytes: bytes, Transactions: transactions}
	}
	base := &record.Trial{
		Cell: record.Cell{Workload: record.TCPRR}, Order: 2,
		Slices: []record.Slice{slice(0, 100, 1), slice(1, 200, 2), slice(2, 400, 4), slice(3, 800, 8)},
		Metrics: map[string]record.Metric{
			record.Throughput: record.Measured(record.Throughput, 6000), record.TransactionRate: record.Measured(record.TransactionRate, 7.5),
			record.ThroughputPerClient: record.Measured(record.ThroughputPerClient, 3000), record.PacketRate: record.Measured(record.PacketRate, 6),
			record.LatencyP50: record.Measured(record.LatencyP50, 1e-3), record.LatencyMean: record.Measured(record.LatencyMean, 2e-3),
		},
	}
	for _, c := range []struct {
		cell             []record.Slice
		window           float64
		order            int // the baseline's is 2
		throughput, rate float64
	}{
		{[]record.Slice{slice(1.1, 1, 1)}, 0.5, 3, 3200, 4},
		{[]record.Slice{slice(2.9, 1, 1), slice(3.1, 1, 1)}, 1, 3, 9600, 12}, // the second takes what is left
		{[]record.Slice{slice(-1, 1, 1), slice(9, 1, 1)}, 1, 1, 7200, 9},
		{base.Slices, 2, 3, 6000, 7.5},
		{nil, 0.3, 3, 12800, 16}, // a whole trial as long as one slice, which followed the turns
		{nil, 0.8, 4, 9600, 12},
		{nil, 0.8, 1, 2400, 3}, // one before them
		{nil, 5, 3, 6000, 7.5},
		{nil, 0, 3, 6000, 7.5}, // of unknown length
	} {
		got := inAsMany(base, &record.Trial{Slices: c.cell, Window: c.window, Order: c.order}).Metrics
		near := func(name string, want float64) {
			if v := got[name].Value; math.Abs(v/want-1) > 1e-9 {
				t.Errorf("beside %v for %v s: %s is %v, want %v", c.cell, c.window, name, v, want)
			}
		}
		near(record.Throughput, c.throughput)
		near(record.ThroughputPerClient, c.throughput/2)
		near(record.PacketRate, c.throughput/1000)
		near(record.TransactionRate, c.rate)
		near(record.LatencyP50, 1e-3)
		near(record.LatencyMean, 2e-3*7.5/c.rate)
	}
	paced := *base
	paced.Cell.Workload = record.PacedRR
	if v := inAsMany(&paced, &record.Trial{Slices: base.Slices[:1]}).Metrics[record.LatencyMean].Value; v != 2e-3 {
		t.Errorf("the mean of transactions that begin when they are due is %v", v)
	}
	stalled := *base
	stalled.Slices = append([]record.Slice{slice(0, 0, 0)}, base.Slices[1:]...)
	got := inAsMany(&stalled, &record.Trial{Slices: []record.Slice{slice(0.1, 1, 1)}, Window: 0.5, Order: 3}).Metrics
	if got[record.Throughput].Value != 0 || got[record.TransactionRate].Value != 0 || got[record.LatencyMean].Value != 2e-3 {
		t.Errorf("beside a slice in which the baseline moved nothing: %v", got)
	}
	if v := base.Metrics[record.Throughput].Value; v != 6000 {
		t.Errorf("the baseline itself has %v now", v)
	}
}

// A baseline's cost is that of as many slices as those of the cell whose CPU time is known, among its own such slices.
func TestCostInAsManySlices(t *testing.T) {
	slice := func(at, cpu float64) record.Slice {
		return record.Slice{At: at, Window: 0.5, Bytes: 2e9, Transactions: 1000, CPU: &cpu}
	}
	unknown := record.Slice{At: 2, Window: 0.5, Bytes: 1e9, Transactions: 500}
	base := &record.Trial{
		Slices: []record.Slice{slice(0, 1), slice(1, 3), unknown, slice(3, 8)},
		Metrics: map[string]record.Metric{
			record.CPUPerGB: record.Measured(record.CPUPerGB, 2.2), record.CPUPerTransaction: record.Measured(record.CPUPerTransaction, 4.4e-3),
		},
	}
	base.CPU = &record.CPUUse{Machine: record.MachineCPU{Clock: "timer_list"}}
	for _, c := range []struct {
		cell  []record.Slice
		share float64
	}{
		{[]record.Slice{slice(2.1, 5)}, 2},             // of those that are known, the one at 3 s is the nearest
		{[]record.Slice{slice(1.2, 5), unknown}, 0.75}, // as many as are known of the cell
		{[]record.Slice{slice(0, 5), slice(1, 5)}, 0.5},
		{base.Slices, 1},
		{[]record.Slice{unknown}, 1},
		{nil, 2}, // a whole trial, which followed
	} {
		got := inAsMany(base, &record.Trial{Slices: c.cell, Window: 0.5, Order: 1}).Metrics
		for name, all := range base.Metrics {
			if v := got[name].Value; math.Abs(v/(all.Value*c.share)-1) > 1e-9 {
				t.Errorf("beside %v: %s is %v, want %v", c.cell, name, v, all.Value*c.share)
			}
		}
	}
	// Where bytes and transactions do not go together, each cost is by its own: of 2 CPU seconds for 4,000 transactions, the nearest
	// slice has half for a quarter.
	uneven := *base
	uneven.Slices = []record.Slice{slice(0, 1), slice(1, 1)}
	uneven.Slices[1].Transactions = 3000
	got := inAsMany(&uneven, &record.Trial{Slices: []record.Slice{slice(0, 5)}}).Metrics
	if gb, tr := got[record.CPUPerGB].Value/2.2, got[record.CPUPerTransaction].Value/4.4e-3; math.Abs(gb-1) > 1e-9 || math.Abs(tr-2) > 1e-9 {
		t.Errorf("the cost per GB is changed by %v, that per transaction by %v; want 1 and 2", gb, tr)
	}
	// What is only noise changes nothing.
	share := func(clock string, scale float64, code string, beside ...float64) float64 {
		t := &record.Trial{CPU: &record.CPUUse{Machine: record.MachineCPU{Clock: clock}}, Metrics: base.Metrics}
		if code != "" {
			t.Warnings = []record.Warning{{Code: code}}
		}
		for _, cpu := range []float64{1, 3, 8} {
			t.Slices = append(t.Slices, slice(cpu, cpu*scale))
		}
		of := record.Each(beside, func(at float64) record.Slice { return slice(at, 1) })
		got := inAsMany(t, &record.Trial{Slices: of}).Metrics
		return got[record.CPUPerGB].Value / base.Metrics[record.CPUPerGB].Value
	}
	for _, c := range []struct {
		clock, code string
		scale, want float64
	}{
		{"cpuidle", "", 0.01, 0.75},
		{record.ClockStat, "", 1, 0.75},
		{"", "", 1, 0.75}, // as in older files
		{record.ClockStat, "", 0.01, 1},
		{"", "", 0.01, 1},
		{record.ClockStat, "", 0.024, 1},    // the nearest seems to have used 0.072 s, but on average 0.096 s were used
		{record.ClockStat, "", 0.026, 0.75}, // 0.078 s and 0.104 s
		{"timer_list", record.WarnForeignCPU, 1, 0.75},
		{"timer_list", record.WarnIdleBusy, 1, 1},
		{"timer_list", "", -1, 0.75},
	} {
		if got := share(c.clock, c.scale, c.code, 3); math.Abs(got/c.want-1) > 1e-9 {
			t.Errorf("slices of some %v CPU seconds by the clock %q, with the warning %q: the cost is changed by %v, want %v", c.scale, c.clock, c.code, got, c.want)
		}
	}
	// Errors of several slices add up with the root of their number: two need 0.14 s, and 0.16 s were used on average.
	if got := share(record.ClockStat, 0.02, "", 1, 3); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("beside two slices, the cost is changed by %v, want 0.5", got)
	}
}
