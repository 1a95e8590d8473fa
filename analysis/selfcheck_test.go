package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nettoll/record"
)

// twinFile returns a self-check with the given number of rounds; the second
// twin is slower by the factor ratio, and CPU per GB only repeats throughput.
func twinFile(seed uint64, rounds int, ratio float64) *record.File {
	r := rand.New(rand.NewPCG(seed, 1))
	var trials []record.Trial
	for i := 1; i <= rounds; i++ {
		for twin := 1; twin <= 2; twin++ {
			c := streamCell("bridge")
			c.Twin = twin
			v := math.Exp(0.05 * r.NormFloat64())
			if twin == 2 {
				v *= ratio
			}
			t := throughputTrial(c, i, 10e9*v)
			t.Metrics[record.CPUPerGB] = record.Metric{Value: 0.5 / v, Unit: "cpu-s/GB"}
			t.Metrics[record.Retransmits] = record.Metric{Value: 0, Unit: "segments"}
			trials = append(trials, t)
		}
	}
	f := fileOf(trials...)
	f.Run.Settings.SelfCheck = true
	return f
}

func TestSelfCheck(t *testing.T) {
	for _, tt := range []struct {
		name          string
		f             *record.File
		block         int
		blocks        int
		want          Outcome
		least, most   int
		warns         []string
		metricsTested int
	}{
		{"equal", twinFile(1, 1600, 1), 0, 200, Same, 0, 12, nil, 2},
		{"unequal", twinFile(1, 400, 0.8), 0, 50, Different, 50, 50, nil, 2},
		{"blocks of ten, rest left out", twinFile(2, 208, 1), 10, 20, NotKnown, 0, 6, nil, 2},
		{"too short", twinFile(3, 7, 1), 0, 0, Untested, 0, 0, []string{WarnTooFewRounds}, 0},
		{"blocks too small", twinFile(3, 20, 0.5), 5, 4, Untested, 0, 0, []string{WarnTooFewRounds}, 2},
		{"not a self-check", fileOf(pairedTrials(4, 20, 1, 0.01)...), 0, 0, Untested, 0, 0, []string{WarnTooFewRounds}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := SelfCheck(tt.f, tt.block)
			if got.Comparisons != tt.blocks || len(got.Metrics) != tt.metricsTested {
				t.Errorf("%d comparisons, and %d metrics, want %d and %d", got.Comparisons, len(got.Metrics), tt.blocks, tt.metricsTested)
			}
			for _, m := range got.Metrics {
				if m.Comparisons != tt.blocks || m.Alarms != got.Alarms { // the metrics repeat one another, and count as one
					t.Errorf("%s: %+v of %+v", m.Kind.Name, m, got)
				}
			}
			if got.Outcome != tt.want || got.Alarms < tt.least || got.Alarms > tt.most {
				t.Errorf("got %+v", got)
			}
			if !slices.Equal(codes(got.Warnings), tt.warns) {
				t.Errorf("warnings %q, want %q", codes(got.Warnings), tt.warns)
			}
			if got.Comparisons > 0 && (got.Low > got.Observed || got.High < got.Observed) {
				t.Errorf("rate %v is outside of %v to %v", got.Observed, got.Low, got.High)
			}
		})
	}
}

// Self-checks of equal networks must be called different at most as
// often as the level promises, although their metrics are correlated.
func TestSelfCheckIsRarelyWrong(t *testing.T) {
	rare(t, "self-checks are called different", func(seed uint64) bool {
		return SelfCheck(twinFile(100+seed, 80, 1), 0).Outcome == Different
	})
}

// rare fails the test if such is true of more of 200 runs than the level of 5 % allows.
func rare(t *testing.T, what string, such func(seed uint64) bool) {
	t.Helper()
	const runs = 200
	n := 0
	for seed := range uint64(runs) {
		if such(seed) {
			n++
		}
	}
	if most := 0.05*runs + 4*math.Sqrt(0.05*0.95*runs); float64(n) > most {
		t.Errorf("%d of %d %s, at most %.0f may", n, runs, what, most)
	}
}

// One metric with slightly too many alarms is excused by the number of metrics, one with far too many is not.
func TestSelfCheckCorrectsForMetrics(t *testing.T) {
	for _, tt := range []struct {
		ps    []float64
		p     float64
		other bool
	}{{[]float64{0.04}, 0.04, true}, {[]float64{0.04, 0.9}, 0.08, false}, {[]float64{0.9, 0.01, 0.5}, 0.03, true}, {[]float64{0.9, 0.8}, 1, false}} {
		a := FalseAlarms{Block: 8, Comparisons: 10, Level: 0.05, P: 1}
		for _, p := range tt.ps {
			a.Metrics = append(a.Metrics, MetricAlarms{P: p})
		}
		a.judge(0.95, 80)
		if math.Abs(a.P-tt.p) > 1e-12 || (a.Outcome == Different) != tt.other {
			t.Errorf("p-values %v give %v, %v; want %v, different %v", tt.ps, a.P, a.Outcome, tt.p, tt.other)
		}
	}
}

// Tables of the signed-rank test have these probabilities. The last is the normal approximation, which takes no time either.
func TestAttained(t *testing.T) {
	for n, want := range map[int]float64{5: 0, 6: 2.0 / 64, 8: 10.0 / 256, 10_000: 0.05} {
		if got := Attained(n, 0.95); math.Abs(got-want) > 1e-5 {
			t.Errorf("%d pairs: %v, want %v", n, got, want)
		}
	}
}

// The interval of the rate contains the true one as often as promised, although each alarm occurs in every metric.
func TestSelfCheckIntervalCovers(t *testing.T) {
	rate := Attained(BlockRounds, 0.95)
	rare(t, "intervals miss the rate", func(seed uint64) bool {
		got := SelfCheck(twinFile(300+seed, 400, 1), 0)
		return got.Low > rate || got.High < rate
	})
}

// A level that the default number of rounds cannot reach gets longer blocks.
func TestSelfCheckBlocksAreLongEnough(t *testing.T) {
	f := twinFile(5, 60, 1)
	f.Run.Settings.Confidence = 0.999
	if got, least := SelfCheck(f, 0), record.LeastRounds(1, 0.999); got.Block != least || got.Outcome == Untested {
		t.Errorf("blocks of %d rounds, want %d; %v", got.Block, least, got.Outcome)
	}
}

// Without alarms in a few comparisons the rate may still be anything:
// this does not count as meeting the promised level.
func TestSelfCheckOfFew(t *testing.T) {
	for _, tt := range []struct {
		comparisons, alarms int
		want                Outcome
	}{{5, 0, NotKnown}, {35, 0, NotKnown}, {40, 0, Same}, {100, 4, Same}, {100, 6, NotKnown}} {
		a := FalseAlarms{Block: 8, Comparisons: tt.comparisons, Alarms: tt.alarms, Level: 0.05, P: 1,
			Metrics: []MetricAlarms{{Comparisons: tt.comparisons, Alarms: tt.alarms, P: binomialAtLeast(tt.alarms, tt.comparisons, 0.05)}}}
		a.judge(0.95, 80)
		if a.Outcome != tt.want {
			t.Errorf("%d alarms of %d (%.3f to %.3f): %v, want %v", tt.alarms, tt.comparisons, a.Low, a.High, a.Outcome, tt.want)
		}
	}
}

func TestBinomialAtLeast(t *testing.T) {
	for _, tt := range []struct {
		k, n int
		p    float64
		want float64
	}{{0, 10, 0.05, 1}, {1, 10, 0.05, 1 - math.Pow(0.95, 10)}, {10, 10, 0.5, 1.0 / 1024}, {11, 10, 0.5, 0}, {9, 10, 0.5, 11.0 / 1024}} {
		if got := binomialAtLeast(tt.k, tt.n, tt.p); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("P(B(%d, %v) ≥ %d) is %v, want %v", tt.n, tt.p, tt.k, got, tt.want)
		}
	}
}

func TestBinomialInterval(t *testing.T) {
	for _, tt := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 20, 0, 1 - math.Pow(0.025, 1.0/20)},
		{20, 20, math.Pow(0.025, 1.0/20), 1},
		{1, 20, 0.001265, 0.248733},
		{5, 10, 0.187086, 0.812914},
	} {
		low, high := BinomialInterval(tt.k, tt.n, 0.95)
		if math.Abs(low-tt.low) > 1e-6 || math.Abs(high-tt.high) > 1e-6 {
			t.Errorf("%d of %d: %v to %v, want %v to %v", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
}
