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
					c := compare(simulate(r, n, 1, drift, noise.draw), record.HigherIsBetter, 0.95)
					if c.Verdict != Indistinguishable {
						alarms++
					}
				}
				expected := attained(n, 0.95)
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
				c := compare(simulate(r, n, ratio, 0.3, noise.draw), record.HigherIsBetter, 0.95)
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

func TestMedianCoverage(t *testing.T) {
	for _, noise := range noises[:2] {
		r := rand.New(rand.NewPCG(13, uint64(len(noise.name))))
		for _, n := range []int{6, 9, 20} {
			covered, level := 0, 0.0
			for range simulated {
				x := make([]float64, n)
				for i := range x {
					x[i] = noise.draw(r)
				}
				s := summarize(x, 0.95)
				if s.Low <= 1 && 1 <= s.High {
					covered++
				}
				level = s.Level
			}
			t.Logf("%s n=%d", noise.name, n)
			near(t, "coverage of the median", float64(covered)/simulated, level)
		}
	}
}

// A fifth less at 3 % noise must not escape eight rounds, drift or not.
func TestPower(t *testing.T) {
	for _, noise := range noises[:2] {
		for _, drift := range []float64{0, 0.5} {
			r := rand.New(rand.NewPCG(14, 0))
			found := 0
			for range simulated {
				c := compare(simulate(r, 8, 0.8, drift, noise.draw), record.HigherIsBetter, 0.95)
				if c.Verdict == Better {
					t.Fatalf("a slower network is called better: %+v", c)
				}
				if c.Verdict == Worse {
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
