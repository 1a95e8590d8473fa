package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"nettoll/record"
)

// TestTheBaselinesErrorIsInTheInterval has a cost of 12 ms of CPU time a window, known to
// 1 ms, on a machine that uses something by itself, of which a watch tells 2 ms too much or
// too little. Each round has a watch of its own, and then the interval of the median holds
// the truth as often as it says. With one watch for all rounds it would not.
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
