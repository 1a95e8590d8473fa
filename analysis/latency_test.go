package analysis

import (
	"encoding/base64"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

func histogramOf(t testing.TB, highest int64, digits int, values ...int64) *record.Histogram {
	t.Helper()
	h := hdrhistogram.New(1, highest, digits)
	for _, v := range values {
		iferr.Fatal(t, h.RecordValue(v))
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	iferr.Fatal(t, err)
	return &record.Histogram{Encoded: string(b), Count: h.TotalCount()}
}

func latencyTrials(hs ...*record.Histogram) []record.Trial {
	var out []record.Trial
	for i, h := range hs {
		t := throughputTrial(streamCell("host"), i+1, 1)
		t.Latency = h
		out = append(out, t)
	}
	return out
}

func TestMergeLatency(t *testing.T) {
	miscounted := histogramOf(t, 1e9, 3, 1000)
	miscounted.Count = 2
	damaged := histogramOf(t, 1e9, 3, 1000, 2000)
	damaged.Encoded = damaged.Encoded[:len(damaged.Encoded)-8]
	for _, tt := range []struct {
		name  string
		in    []*record.Histogram
		count int64
		max   int64 // to within a thousandth
		bad   int
	}{
		{"none", []*record.Histogram{nil, nil}, -1, 0, 0},
		{"two", []*record.Histogram{histogramOf(t, 1e9, 3, 1000, 2000), histogramOf(t, 1e9, 3, 3000)}, 3, 3000, 0},
		{"the later is wider", []*record.Histogram{histogramOf(t, 1e4, 3, 1000), histogramOf(t, 1e10, 3, 9e9)}, 2, 9e9, 0},
		{"the later is narrower", []*record.Histogram{histogramOf(t, 1e10, 3, 9e9), histogramOf(t, 1e4, 3, 1000)}, 2, 9e9, 0},
		{"coarser", []*record.Histogram{histogramOf(t, 1e6, 1, 1000), histogramOf(t, 1e6, 3, 1234)}, 2, 1234, 0},
		{"not base64", []*record.Histogram{{Encoded: "?"}, histogramOf(t, 1e9, 3, 5)}, 1, 5, 1},
		{"not a histogram", []*record.Histogram{{Encoded: base64.StdEncoding.EncodeToString(make([]byte, 64))}}, -1, 0, 1},
		{"empty", []*record.Histogram{{}}, -1, 0, 1},
		{"cut off", []*record.Histogram{damaged}, -1, 0, 1},
		{"other count", []*record.Histogram{miscounted}, -1, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, bad, why := mergeLatency(each(latencyTrials(tt.in...)))
			if bad != tt.bad || (why != nil) != (bad > 0) {
				t.Errorf("%d are bad (%v), want %d", bad, why, tt.bad)
			}
			if (got == nil) != (tt.count < 0) {
				t.Fatalf("got %v", got)
			}
			if got == nil {
				return
			}
			if got.TotalCount() != tt.count || math.Abs(float64(got.Max()-tt.max)) > float64(tt.max)/1000 {
				t.Errorf("%d values up to %d, want %d up to %d", got.TotalCount(), got.Max(), tt.count, tt.max)
			}
		})
	}
}

// TestBars compares bars read from a packed histogram with those of the dense histogram.
func TestBars(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for digits := 1; digits <= 5; digits++ {
		for _, lowest := range []int64{1, 2, 1000, 4095, 1 << 20} {
			dense := hdrhistogram.New(lowest, int64(time.Hour), digits)
			for range 300 {
				iferr.Fatal(t, dense.RecordValues(int64(math.Exp(28*r.Float64())), 1+r.Int64N(5)))
			}
			var want []hdrhistogram.Bar
			for _, b := range dense.Distribution() {
				if b.Count > 0 {
					want = append(want, b)
				}
			}
			text, err := dense.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
			iferr.Fatal(t, err)
			got, err := decodeLatency(&record.Histogram{Encoded: string(text), Count: dense.TotalCount()})
			iferr.Fatal(t, err)
			if bars := barsOf(got); !slices.Equal(bars, want) {
				t.Errorf("%d digits, from %d ns on: %v, want %v", digits, lowest, bars, want)
			}
		}
	}
}

// latencyOf returns the record of latencies in ns with their counts.
func latencyOf(t testing.TB, counts map[int64]int64) *record.Histogram {
	t.Helper()
	var values []int64
	for ns, n := range counts {
		values = append(values, slices.Repeat([]int64{ns}, int(n))...)
	}
	return histogramOf(t, 3_600_000_000_000, 3, values...)
}

// completed returns a trial after CompleteTrial.
func completed(t record.Trial) record.Trial {
	CompleteTrial(&t)
	return t
}

func rrCell(network string) record.Cell {
	c := streamCell(network)
	c.Workload = record.TCPRR
	return c
}

// TestPercentilesByTime has a closed loop that stalls once, in one of
// nine thousand transactions, for a tenth of the time.
func TestPercentilesByTime(t *testing.T) {
	trial := record.Trial{
		Cell: rrCell("bridge"), Round: 1, Status: record.OK, Window: 0.2,
		Metrics: map[string]record.Metric{record.LatencyP99: {Value: 20e-6, Unit: "s"}},
		Latency: latencyOf(t, map[int64]int64{20_000: 9000, 20_000_000: 1}),
		Flows:   []record.Flow{{Transactions: 9001}},
	}
	check := func(trial record.Trial, name string, want float64) {
		t.Helper()
		m, has := completed(trial).Metrics[name]
		if has != (want > 0) || math.Abs(m.Value-want) > 0.001*want {
			t.Errorf("%s %s is %v, want %v", trial.Cell.Workload, name, m.Value, want)
		}
	}
	check(trial, record.LatencyP99, 20e-6)
	check(trial, record.LatencyP99ByTime, 20e-3)
	check(trial, record.LatencyP999ByTime, 20e-3)
	if got := completed(trial).Covered; math.Abs(got-1) > 0.001 {
		t.Errorf("%v of the window covered, want 1", got)
	}
	if _, has := trial.Metrics[record.LatencyP99ByTime]; has {
		t.Error("the trial itself was changed")
	}
	trial.Latency = latencyOf(t, map[int64]int64{20_000: 9000})
	check(trial, record.LatencyP99ByTime, 20e-6)
	if got := completed(trial).Covered; math.Abs(got-0.9) > 0.001 {
		t.Errorf("%v of the window covered, want 0.9", got)
	}
	mixed, told := trial, trial
	mixed.Cell.Workload, mixed.Flows = record.LatencyUnderLoad, append(mixed.Flows, record.Flow{Bytes: 1e9})
	if got := completed(mixed).Covered; math.Abs(got-0.9) > 0.001 {
		t.Errorf("%v of the window covered beside a stream, want 0.9", got)
	}
	told.Covered = 0.42 // by who knows when each transaction began
	if got := completed(told).Covered; got != 0.42 {
		t.Errorf("%v of the window covered, where 0.42 is recorded", got)
	}
	two := trial
	two.Flows = []record.Flow{{Transactions: 4500}, {Transactions: 4500}}
	if got := completed(two).Covered; math.Abs(got-0.45) > 0.001 {
		t.Errorf("%v of the windows of two flows covered, want 0.45", got)
	}
	open := trial
	open.Cell.Workload = record.PacedRR
	check(open, record.LatencyP99ByTime, 0)
	broken := trial
	broken.Latency = &record.Histogram{Encoded: "?", Count: 1}
	check(broken, record.LatencyP99ByTime, 0)
}

// TestByTimeIsOfTheTime compares with a clock that is read often.
func TestByTimeIsOfTheTime(t *testing.T) {
	counts := map[int64]int64{10_000: 900, 50_000: 300, 400_000: 20, 3_000_000: 2}
	var moments []int64
	for ns, n := range counts {
		for range n * ns / 1000 {
			moments = append(moments, ns)
		}
	}
	h, err := decodeLatency(latencyOf(t, counts))
	iferr.Fatal(t, err)
	for _, q := range []float64{0.01, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99, 1} {
		short := 0
		limit := byTime(barsOf(h), q)
		for _, ns := range moments {
			if ns <= limit {
				short++
			}
		}
		least := 0.0
		for _, ns := range moments {
			if ns < limit*999/1000 {
				least++
			}
		}
		if all := float64(len(moments)); float64(short)/all < q-1e-3 || least/all >= q {
			t.Errorf("%v of the time is spent in transactions of up to %d ns, %v in shorter ones, want %v", float64(short)/all, limit, least/all, q)
		}
	}
	if byTime(barsOf(hdrhistogram.NewPacked(1, 1000, 3)), 0.5) != 0 {
		t.Error("an empty histogram has a percentile")
	}
	// A bar counts with its middle, and the first that reaches the share is it: 2·200 ns of 800 ns.
	if got := byTime([]hdrhistogram.Bar{{Count: 2, From: 100, To: 300}, {Count: 1, From: 400, To: 400}}, 0.5); got != 300 {
		t.Errorf("half of the time is spent in transactions of up to %d ns, want 300", got)
	}
}

// TestPercentilesOf has one transaction of each length from 1 to 1,000 ns, which have buckets of their own.
func TestPercentilesOf(t *testing.T) {
	h := hdrhistogram.NewPacked(1, 1e9, 3)
	for ns := range int64(1000) {
		iferr.Fatal(t, h.RecordValue(ns+1))
	}
	if got, want := *percentilesOf(h), (percentiles{1000, 1e-9, 500e-9, 900e-9, 990e-9, 999e-9, 1000e-9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestBeyond has 50,000 transactions of four flows in 2 s, 8 s in all, beside a stream.
func TestBeyond(t *testing.T) {
	trial := &record.Trial{Window: 2, Latency: &record.Histogram{Count: 50_000}, Metrics: map[string]record.Metric{
		record.LatencyP99ByTime:  record.Measured(record.LatencyP99ByTime, 1e-3),
		record.LatencyP999ByTime: record.Measured(record.LatencyP999ByTime, 2e-3),
	}, Flows: append(slices.Repeat([]record.Flow{{Transactions: 12_500}}, 4), record.Flow{Bytes: 1e9})}
	for name, want := range map[string]float64{
		record.LatencyP99: 500, record.LatencyP999: 50, record.LatencyP50: math.Inf(1),
		record.LatencyP99ByTime:  80, // 1 % of 8 s are 80 times 1 ms
		record.LatencyP999ByTime: 4,
	} {
		if got := beyond(kindNamed(name), trial); got != want && math.Abs(got-want) > 1e-9 {
			t.Errorf("%v transactions are beyond %s, want %v", got, name, want)
		}
	}
}

// TestOldFiguresOfMixedTraffic reads trials of versions that added up bytes and transactions.
func TestOldFiguresOfMixedTraffic(t *testing.T) {
	c := streamCell("bridge")
	c.Workload = record.LatencyUnderLoad
	got := completed(record.Trial{Cell: c, Status: record.OK, Window: 1,
		Metrics: map[string]record.Metric{
			record.Fairness: {Value: 0.5000003, Unit: "ratio"}, record.CPUPerTransaction: {Value: 333e-6, Unit: "cpu-s"},
			record.LatencyP50: {Value: 1e-3, Unit: "s"},
		},
		Flows: []record.Flow{{Transactions: 1000}, {Bytes: 1e9}, {Bytes: 1e9}},
	}).Metrics
	if _, has := got[record.CPUPerTransaction]; has || got[record.Fairness].Value != 1 || got[record.LatencyP50].Value != 1e-3 {
		t.Errorf("got %v", got)
	}
}

func TestUncovered(t *testing.T) {
	var trials []record.Trial
	for i, covered := range []float64{0.99, 0, 0.97, 1, 0.42} {
		trial := throughputTrial(rrCell("host"), i+1, 1)
		trial.Metrics, trial.Covered = map[string]record.Metric{record.LatencyP50: {Value: 1e-5, Unit: "s"}}, covered
		trials = append(trials, trial)
	}
	w := warningOf(t, rowOf(t, Analyze(fileOf(trials...)), "host").Warnings, WarnUncovered)
	if want := "in 2 of 4 trials the counted transactions cover less than 98% of the window, as little as 42%"; len(w.Text) < len(want) || w.Text[:len(want)] != want {
		t.Errorf("warning is %q", w.Text)
	}
	trials[2].Covered, trials[4].Covered = 0.97996, 1
	if all := uncovered(each(trials)); len(all) != 1 || !strings.Contains(all[0].Text, "less than 98% of the window, as little as 97.9%:") {
		t.Errorf("warnings %v", all)
	}
	if all := uncovered(each(trials[:2])); len(all) > 0 {
		t.Errorf("warnings %v", all)
	}
}
