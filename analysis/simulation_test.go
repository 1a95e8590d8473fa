package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"nettoll/record"
)

// noises draw the factor by which a trial is off.
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

// simulate draws pairs of so many rounds. Drift and jumps of the machine are
// common to both of a pair.
func simulate(r *rand.Rand, n int, ratio, drift float64, draw func(*rand.Rand) float64) []pair {
	out := make([]pair, n)
	for i := range out {
		machine := 10e9 * (1 - drift*float64(i)/float64(n)) * math.Exp(drift*r.NormFloat64()/2)
		out[i] = pair{i + 1, machine * ratio * draw(r), machine * draw(r)}
	}
	return out
}

// at95 is how runs are judged unless they say otherwise.
var at95 = judging{level: 0.95, margin: record.DefaultEqualWithin}

// simulated is how many series one rate is counted in.
const simulated = 2000

// near fails where a rate that was counted in simulated series is further than
// four standard errors from what it must be.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	t.Logf("%s %.4f (exact %.4f)", what, got, want)
	if margin := 4 * math.Sqrt(want*(1-want)/simulated); math.Abs(got-want) > margin {
		t.Errorf("%s is %.4f, want %.4f ± %.4f", what, got, want, margin)
	}
}

// Equal networks are called different as often as the exact test says, never
// more often than promised.
func TestFalseAlarms(t *testing.T) {
	for _, noise := range noises {
		r := rand.New(rand.NewPCG(11, uint64(len(noise.name))))
		for _, drift := range []float64{0, 0.5} {
			for _, n := range []int{6, 8, 12, 20} {
				alarms := 0
				for range simulated {
					c := compare(simulate(r, n, 1, drift, noise.draw), record.HigherIsBetter, at95)
					if c.alarms(0.95) {
						alarms++
					}
				}
				expected := Attained(n, 0.95)
				if expected > 0.05 {
					t.Errorf("n=%d attains %v, which is above the level", n, expected)
				}
				t.Logf("%s drift=%v n=%d", noise.name, drift, n)
				near(t, "rate of false alarms", float64(alarms)/simulated, expected)
			}
		}
	}
}

func TestCoverage(t *testing.T) {
	const ratio = 0.8
	for _, noise := range noises {
		r := rand.New(rand.NewPCG(12, uint64(len(noise.name))))
		for _, n := range []int{6, 7, 8, 10, 12, 20} {
			covered, level := 0, 0.0
			for range simulated {
				c := compare(simulate(r, n, ratio, 0.3, noise.draw), record.HigherIsBetter, at95)
				// An interval widened to 1 covers more, not less.
				if c.Low <= ratio && ratio <= c.High {
					covered++
				}
				level = c.Level
			}
			t.Logf("%s n=%d", noise.name, n)
			near(t, "coverage of the ratio", float64(covered)/simulated, level)
		}
	}
}

// The interval of a figure covers where its values lie, and almost so where they are skewed.
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
			covered, level := 0, 0.0
			for range simulated {
				x := make([]float64, n)
				for i := range x {
					x[i] = noise.draw(r)
				}
				s := summarize(x, 0.95)
				if s.Low <= truth && truth <= s.High {
					covered++
				}
				level = s.Level
			}
			t.Logf("%s n=%d", noise.name, n)
			if noise.name == "skewed" { // the promise is for noise that is alike on both sides; see how far it holds
				if rate := float64(covered) / simulated; rate < level-0.03 {
					t.Errorf("skewed noise, n=%d: coverage %.4f, far below %.4f", n, rate, level)
				}
				continue
			}
			near(t, "coverage of the estimate", float64(covered)/simulated, level)
		}
	}
}

// TestStopping measures each cell until its interval is as narrow as was asked when it was
// looked at, as runs do, and holds what comes of it: equal networks are called different about as
// often as without stopping, and intervals cover about as they say.
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
			pairs := simulate(r, s.MaxRounds, tt.ratio, 0.3, tt.draw)
			var c *Comparison
			for n := s.MinRounds; n <= s.MaxRounds; n++ {
				if !looks(n, s.MinRounds) && n < s.MaxRounds {
					continue
				}
				c = compare(pairs[:n], record.HigherIsBetter, at95)
				if reached(c.N, c.Low, c.Value, c.High, c.Level, s, tt.compared).Known {
					early++
					break
				}
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
		// 4 standard errors of a rate of 0.06 over so many runs.
		if most := 0.06 + 4*math.Sqrt(0.06*0.94/runs); tt.ratio == 1 && rate > most {
			t.Errorf("%s: false alarms in %.3f of the runs, at most %.3f is about the level", tt.name, rate, most)
		}
		if least := 0.94 - 4*math.Sqrt(0.06*0.94/runs); coverage < least {
			t.Errorf("%s: intervals cover in %.3f of the runs, want at least %.3f", tt.name, coverage, least)
		}
	}
}

// TestVerdictsOfEquals holds the verdicts of whole runs of equal networks, of which all have one
// baseline: at least one of them is called different in no more runs than the level says,
// where single outcomes are in many.
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

// A fifth less at 3 % noise must not escape eight rounds, drift or not.
func TestPower(t *testing.T) {
	for _, noise := range noises[:2] {
		for _, drift := range []float64{0, 0.5} {
			r := rand.New(rand.NewPCG(14, 0))
			found := 0
			for range simulated {
				c := compare(simulate(r, 8, 0.8, drift, noise.draw), record.HigherIsBetter, at95)
				if c.Effect == Better {
					t.Fatalf("a slower network is called better: %+v", c)
				}
				if c.Effect == Worse {
					found++
				}
			}
			t.Logf("%s drift=%v: found in %.4f of the series", noise.name, drift, float64(found)/simulated)
			if float64(found) < 0.98*simulated {
				t.Errorf("%s drift=%v: a difference of 20 %% was found in %d of %d series only", noise.name, drift, found, simulated)
			}
		}
	}
}
