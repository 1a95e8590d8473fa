package analysis

import (
	"compress/gzip"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// noises draw the factor by which a trial deviates.
var noises = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"normal", func(r *rand.Rand) float64 { return math.Exp(0.03 * r.NormFloat64()) }},
	{"contaminated", func(r *rand.Rand) float64 {
		sd := 0.03
		if r.Float64() < 0.1 {
			sd *= 5
		}
		return math.Exp(sd * r.NormFloat64())
	}},
	{"skewed", func(r *rand.Rand) float64 { return 1 / (1 + 0.1*r.ExpFloat64()) }},
}

// simulate draws n pairs. Drift and jumps of the machine are common to both of a pair.
func simulate(r *rand.Rand, n int, ratio, drift float64, draw func(*rand.Rand) float64) []pair {
	out := make([]pair, n)
	for i := range out {
		machine := 10e9 * (1 - drift*float64(i)/float64(n)) * math.Exp(drift*r.NormFloat64()/2)
		out[i] = pair{i + 1, machine * ratio * draw(r), machine * draw(r)}
	}
	return out
}

// stopped compares as many pairs as a run with the given number of comparisons measures.
func stopped(pairs []pair, s record.Settings, compared int) (c *Comparison, known bool) {
	for n := s.MinRounds; n <= s.MaxRounds && !known; n++ {
		if lookedAt(n, s.MinRounds) || n == s.MaxRounds {
			c = compare(pairs[:n], record.HigherIsBetter, at95)
			known = reached(c.N, c.Low, c.Value, c.High, c.Level, s, compared).Known
		}
	}
	return c, known
}

// shareOf returns the share of the simulated series for which such is true.
func shareOf(such func() bool) float64 {
	n := 0
	for range simulated {
		if such() {
			n++
		}
	}
	return float64(n) / simulated
}

// at95 is how runs are judged by default.
var at95 = judging{level: 0.95, margin: record.DefaultEqualWithin}

// simulated is the number of series behind each rate.
const simulated = 2000

// near fails the test if a rate from simulated series is further than four standard errors from its expected value.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	t.Logf("%s %.4f (exact %.4f)", what, got, want)
	if margin := 4 * math.Sqrt(want*(1-want)/simulated); math.Abs(got-want) > margin {
		t.Errorf("%s is %.4f, want %.4f ± %.4f", what, got, want, margin)
	}
}

// Equal networks are called different as often as the exact test predicts, never more often than promised.
func TestFalseAlarms(t *testing.T) {
	for _, noise := range noises {
		r := rand.New(rand.NewPCG(11, uint64(len(noise.name))))
		for _, drift := range []float64{0, 0.5} {
			for _, n := range []int{6, 8, 12, 20} {
				alarms := shareOf(func() bool {
					return compare(simulate(r, n, 1, drift, noise.draw), record.HigherIsBetter, at95).alarms(0.95)
				})
				expected := Attained(n, 0.95)
				if expected > 0.05 {
					t.Errorf("n=%d attains %v, which is above the level", n, expected)
				}
				t.Logf("%s drift=%v n=%d", noise.name, drift, n)
				near(t, "rate of false alarms", alarms, expected)
			}
		}
	}
}

// Equal networks are called different no more often, and as often better as worse, if the baseline has more slices, some of which are
// much slower than the others.
func TestMoreSlicesOfTheBaseline(t *testing.T) {
	const n, turns, more = 12, 2, 8
	r := rand.New(rand.NewPCG(17, 0))
	throughput, _ := record.KindOf(record.Throughput)
	trial := func(round, slices int) record.Trial {
		t := record.Trial{Round: round, Status: record.OK}
		for i := range slices {
			rate := 36e9 / 8 * (1 + 0.05*r.NormFloat64())
			if r.Float64() < 0.05 {
				rate /= 3
			}
			t.Slices = append(t.Slices, record.Slice{At: float64(i) / float64(slices), Window: 0.1, Bytes: uint64(0.1 * rate)})
		}
		sum := record.Sum(t.Slices, func(s record.Slice) uint64 { return s.Bytes })
		t.Metrics = map[string]record.Metric{record.Throughput: record.Measured(record.Throughput, 8*float64(sum)/(0.1*float64(slices)))}
		return t
	}
	native, cell := record.Cell{Network: "native"}, record.Cell{Network: "bridge"}
	better := 0
	alarms := shareOf(func() bool {
		var trials []record.Trial
		for round := range n {
			of, with := trial(round+1, turns), trial(round+1, more)
			of.Cell, with.Cell = cell, native
			trials = append(trials, of, with)
		}
		of := collect([]record.Cell{native, cell}, trials)[1]
		c := compare(pairUp(of.points(throughput), of.base.points(throughput)), record.HigherIsBetter, at95)
		if c.alarms(0.95) && c.Value > 1 {
			better++
		}
		return c.alarms(0.95)
	})
	near(t, "rate of false alarms", alarms, Attained(n, 0.95))
	if share := float64(better) / (alarms * simulated); share < 0.3 || share > 0.7 {
		t.Errorf("%.2f of the false alarms find the network better", share)
	}
}

func TestCoverage(t *testing.T) {
	const ratio = 0.8
	for _, noise := range noises {
		r := rand.New(rand.NewPCG(12, uint64(len(noise.name))))
		for _, n := range []int{6, 7, 8, 10, 12, 20} {
			level := 0.0
			covered := shareOf(func() bool {
				c := compare(simulate(r, n, ratio, 0.3, noise.draw), record.HigherIsBetter, at95)
				level = c.Level
				return c.Low <= ratio && ratio <= c.High // an interval widened to 1 covers more, not less
			})
			t.Logf("%s n=%d", noise.name, n)
			near(t, "coverage of the ratio", covered, level)
		}
	}
}

// The interval of a figure covers its location at the level, and almost so for skewed values.
func TestEstimateCoverage(t *testing.T) {
	for _, noise := range noises {
		r := rand.New(rand.NewPCG(13, uint64(len(noise.name))))
		truth := 1.0
		if noise.name == "skewed" {
			var logs []float64
			for range 4000 {
				logs = append(logs, math.Log(noise.draw(r)))
			}
			truth = math.Exp(pseudomedian(logs))
		}
		for _, n := range []int{6, 7, 9, 20} {
			level := 0.0
			covered := shareOf(func() bool {
				x := make([]float64, n)
				for i := range x {
					x[i] = noise.draw(r)
				}
				s := summarize(x, 0.95)
				level = s.Level
				return s.Low <= truth && truth <= s.High
			})
			t.Logf("%s n=%d", noise.name, n)
			if noise.name == "skewed" { // the promise holds for symmetric noise; see how far it holds here
				if covered < level-0.03 {
					t.Errorf("skewed noise, n=%d: coverage %.4f, far below %.4f", n, covered, level)
				}
				continue
			}
			near(t, "coverage of the estimate", covered, level)
		}
	}
}

// TestStopping measures each cell until its interval is as narrow as requested when it is
// looked at, as runs do, and checks the consequences: equal networks are called different
// about as often as without stopping, and intervals cover about as often as promised.
func TestStopping(t *testing.T) {
	const runs = 1500
	normal := func(sd float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return math.Exp(sd * r.NormFloat64()) }
	}
	twoWays := func(r *rand.Rand) float64 { // one of two speeds
		v := 1 + 0.02*r.NormFloat64()
		if r.Float64() < 0.3 {
			v *= 0.85
		}
		return v
	}
	for _, tt := range []struct {
		name      string
		draw      func(*rand.Rand) float64
		ratio     float64
		precision float64
		compared  int
	}{
		{"5 % noise", normal(0.05), 1, 0.05, 1},
		{"8 % noise", normal(0.08), 1, 0.05, 1},
		{"8 % noise, of 14 comparisons", normal(0.08), 1, 0.05, 14},
		{"8 % noise, a fifth less", normal(0.08), 0.8, 0.05, 14},
		{"12 % noise", normal(0.12), 1, 0.05, 1},
		{"two speeds", twoWays, 1, 0.10, 4},
	} {
		r := rand.New(rand.NewPCG(15, uint64(len(tt.name))))
		s := record.Settings{Precision: tt.precision, Confidence: 0.95, MinRounds: 6, MaxRounds: 40}
		alarms, covered, early, rounds := 0, 0, 0, 0
		for range runs {
			c, known := stopped(simulate(r, s.MaxRounds, tt.ratio, 0.3, tt.draw), s, tt.compared)
			if known {
				early++
			}
			rounds += c.N
			if c.Low > 1 || c.High < 1 {
				alarms++
			}
			if c.Low <= tt.ratio && tt.ratio <= c.High {
				covered++
			}
		}
		rate, coverage := float64(alarms)/runs, float64(covered)/runs
		t.Logf("%s: %.1f rounds, %d of %d stopped early, false alarms %.3f, coverage %.3f", tt.name, float64(rounds)/runs, early, runs, rate, coverage)
		// 4 standard errors of a rate of 0.06 over the number of runs.
		if most := 0.06 + 4*math.Sqrt(0.06*0.94/runs); tt.ratio == 1 && rate > most {
			t.Errorf("%s: false alarms in %.3f of the runs, at most %.3f is about the level", tt.name, rate, most)
		}
		if least := 0.94 - 4*math.Sqrt(0.06*0.94/runs); coverage < least {
			t.Errorf("%s: intervals cover in %.3f of the runs, want at least %.3f", tt.name, coverage, least)
		}
	}
}

// TestVerdictsOfEquals checks the verdicts of whole runs of equal networks, all with one baseline: at least one of
// them is called different in no more runs than the level allows, although single outcomes are different in many.
func TestVerdictsOfEquals(t *testing.T) {
	const runs, networks, rounds = 1000, 10, 10
	r := rand.New(rand.NewPCG(16, 0))
	marked, wrong := 0, 0
	for range runs {
		native := make([]float64, rounds)
		for i := range native {
			native[i] = math.Exp(0.15 * r.NormFloat64())
		}
		var all []*Comparison
		for range networks {
			pairs := make([]pair, rounds)
			for i := range pairs {
				pairs[i] = pair{i + 1, math.Exp(0.15 * r.NormFloat64()), native[i]}
			}
			all = append(all, compare(pairs, record.HigherIsBetter, at95))
		}
		adjust(all)
		one, verdict := false, false
		for _, c := range all {
			one, verdict = one || c.Outcome == Different, verdict || c.Outcome == Different && c.Adjusted < 0.05
		}
		if one {
			marked++
		}
		if verdict {
			wrong++
		}
	}
	t.Logf("of %d runs of %d equal networks %d mark one or more, %d give a wrong verdict", runs, networks, marked, wrong)
	if most := 0.05*runs + 4*math.Sqrt(0.05*0.95*runs); float64(wrong) > most {
		t.Errorf("%d of %d runs give a wrong verdict, at most %.0f may", wrong, runs, most)
	}
	if marked < 3*wrong || marked < runs/10 {
		t.Errorf("%d of %d runs mark one: the test shows nothing", marked, runs)
	}
}

// A loss of a fifth at 3 % noise must be found in eight rounds, with or without drift.
func TestPower(t *testing.T) {
	for _, noise := range noises[:2] {
		for _, drift := range []float64{0, 0.5} {
			r := rand.New(rand.NewPCG(14, 0))
			found := shareOf(func() bool {
				c := compare(simulate(r, 8, 0.8, drift, noise.draw), record.HigherIsBetter, at95)
				if c.Effect == Better {
					t.Fatalf("a slower network is called better: %+v", c)
				}
				return c.Effect == Worse
			})
			t.Logf("%s drift=%v: found in %.4f of the series", noise.name, drift, found)
			if found < 0.98 {
				t.Errorf("%s drift=%v: a difference of 20 %% was found in %.4f of the series only", noise.name, drift, found)
			}
		}
	}
}

// recordedNoise returns how far logarithms of ratios of recorded rounds were from the middle of their
// cell, in units of the cell's own spread: the noise of real machines instead of an assumed distribution.
func recordedNoise(t *testing.T, pattern string) (all []float64) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no run files %s: %v", pattern, err)
	}
	logs := map[string][]float64{}
	for _, name := range files {
		for _, s := range Analyze(unzipped(t, name)).Scenarios {
			for _, row := range s.Rows {
				of, ok := row.Primary()
				if !ok || row.Native {
					continue
				}
				base, _ := s.Rows[0].Figure(of.Kind.Name)
				for _, p := range pairUp(of.Points, base.Points) {
					logs[row.Cell.Key()] = append(logs[row.Cell.Key()], math.Log(p.cell/p.native))
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(logs)) { // the same each time, as everything that is drawn
		of := logs[key]
		middle := pseudomedian(of)
		var off []float64
		for i := range of {
			of[i] -= middle
			off = append(off, math.Abs(of[i]))
		}
		spread := median(slices.Sorted(slices.Values(off)))
		for _, v := range of {
			all = append(all, v/spread)
		}
	}
	middle := pseudomedian(all)
	for i := range all {
		all[i] -= middle
	}
	return all
}

func unzipped(t *testing.T, name string) *record.File {
	t.Helper()
	f, err := os.Open(name)
	iferr.Fatal(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	iferr.Fatal(t, err)
	file, err := record.Read(z)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return file
}

// TestCoverageOfRecordedRounds draws runs from recorded deviations of rounds, measured in
// turns and as whole trials, and stops each as runs stop. Intervals cover about as often
// as promised, and equal networks are called different about as often as the level allows.
func TestCoverageOfRecordedRounds(t *testing.T) {
	for _, way := range []string{"turns", "whole"} {
		noise := recordedNoise(t, "../docs/measured/equivalence/equivalence-*-"+way+"-*.ndjson.gz")
		if len(noise) < 100 {
			t.Fatalf("%s: %d rounds are too few to draw from", way, len(noise))
		}
		r := rand.New(rand.NewPCG(16, uint64(len(noise))))
		for _, sd := range []float64{0.02, 0.06} { // typical deviations of recorded ratios
			s := record.Settings{Precision: 0.05, Confidence: 0.95, MinRounds: 6, MaxRounds: 40}
			covered, rounds := 0, 0
			for range simulated {
				pairs := simulate(r, s.MaxRounds, 1, 0, func(*rand.Rand) float64 { return 1 })
				for i := range pairs {
					pairs[i].cell *= math.Exp(sd * noise[r.IntN(len(noise))])
				}
				c, _ := stopped(pairs, s, 1)
				rounds += c.N
				if c.Low <= 1 && 1 <= c.High {
					covered++
				}
			}
			coverage := float64(covered) / simulated
			t.Logf("%s, off by %.0f %%: %d recorded rounds, %.1f of a run, coverage %.3f", way, 100*sd, len(noise), float64(rounds)/simulated, coverage)
			if least := 0.94 - 4*math.Sqrt(0.06*0.94/simulated); coverage < least {
				t.Errorf("%s, off by %.0f %%: intervals cover in %.3f of the runs, want at least %.3f", way, 100*sd, coverage, least)
			}
		}
	}
}

// TestTheBaselinesErrorIsInTheInterval has a cost of 12 ms of CPU time per window, known to 1 ms, on a machine
// whose own CPU use is measured with an error of 2 ms, while it is idle. Each round has its own idle measurement,
// and so the interval of the median contains the truth as often as promised. With one for all rounds it would not.
func TestTheBaselinesErrorIsInTheInterval(t *testing.T) {
	k, _ := record.KindOf(record.CPUPerTransaction)
	random := rand.New(rand.NewPCG(9, 10))
	const runs, rounds, truth = 4000, 9, 12.0
	held := map[bool]int{}
	for range runs {
		one := 2 * random.NormFloat64()
		for _, own := range []bool{true, false} {
			var trials []*record.Trial
			for i := range rounds {
				idle := one
				if own {
					idle = 2 * random.NormFloat64()
				}
				trial := throughputTrial(rrCell("host"), i+1, 0)
				trial.Metrics = map[string]record.Metric{k.Name: {Value: truth + random.NormFloat64() - idle, Unit: k.Unit}}
				trials = append(trials, &trial)
			}
			s := summarize(values(series{trials: trials}.points(k)), 0.95)
			if s.Low <= truth && truth <= s.High {
				held[own]++
			}
		}
	}
	if share := float64(held[true]) / runs; math.Abs(share-0.961) > 0.015 {
		t.Errorf("with a watch each round %v of the intervals hold the truth, want 0.961", share)
	}
	if share := float64(held[false]) / runs; share > 0.7 {
		t.Errorf("with one watch %v of the intervals hold the truth: this test shows nothing", share)
	}
}
