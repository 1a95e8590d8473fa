package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nettoll/record"
)

// window are the parts of a stationary window of noisy, bursty traffic: what disturbs it
// lasts for longer than the window, and bytes come in few large lumps.
func window(random *rand.Rand, sd float64) (parts []uint64) {
	noise := sd * random.NormFloat64()
	const keeps = 0.95 // from a part of 20 ms to the next, where noise lasts for 0.4 s
	for range 10 {
		noise = keeps*noise + math.Sqrt(1-keeps*keeps)*sd*random.NormFloat64()
		lumps := 0
		for at := random.ExpFloat64(); at < 6*math.Exp(noise); at += random.ExpFloat64() {
			lumps++
		}
		parts = append(parts, uint64(lumps)*65_483)
	}
	return parts
}

func courses(rounds int, parts func() []uint64) (trials []record.Trial) {
	for i := range rounds {
		t := throughputTrial(streamCell("host"), i+1, 1e9)
		t.Course = &record.Course{Bytes: parts()}
		trials = append(trials, t)
	}
	return trials
}

// TestStationaryWindowsAreNotDoubted holds the level of the test.
func TestStationaryWindowsAreNotDoubted(t *testing.T) {
	k, _ := record.KindOf(record.Throughput)
	random := rand.New(rand.NewPCG(5, 6))
	const runs = 4000
	for _, c := range []struct {
		rounds int
		sd     float64
	}{{6, 0.3}, {7, 0.1}, {7, 0.5}, {10, 0.5}, {20, 0.5}, {40, 1}} {
		doubted := 0
		for range runs {
			if len(unstationary(k, each(courses(c.rounds, func() []uint64 { return window(random, c.sd) })))) > 0 {
				doubted++
			}
		}
		if share := float64(doubted) / runs; share > courseLevel+3*math.Sqrt(courseLevel/runs) {
			t.Errorf("%d rounds with noise of %v: %v doubted, at most %v were promised", c.rounds, c.sd, share, courseLevel)
		}
	}
}

// TestWindowsThatRiseAreDoubted has the beginning of a connection in the window.
func TestWindowsThatRiseAreDoubted(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	rising := func() []uint64 {
		parts := window(random, 0.05)
		for i := range parts {
			parts[i] = uint64(float64(parts[i]) * min(1, 0.1*math.Pow(1.5, float64(i))))
		}
		return parts
	}
	trials := courses(8, rising)
	for i := range trials {
		trials[i].Warnings = []record.Warning{{Code: warnCold, Text: "1 of 1 flows had received nothing when the window opened"}}
	}
	all := rowOf(t, Analyze(fileOf(trials...)), "host").Warnings
	w := warningOf(t, all, WarnUnstationary)
	if !strings.Contains(w.Text, "more than the first (8 rounds") || !strings.Contains(w.Advice, "--warmup") {
		t.Errorf("warning is %+v", w)
	}
	if slices.Contains(codes(all), warnCold) {
		t.Error("the same is doubted twice")
	}
	falling := courses(8, func() []uint64 { p := rising(); slices.Reverse(p); return p })
	w = warningOf(t, rowOf(t, Analyze(fileOf(falling...)), "host").Warnings, WarnUnstationary)
	if !strings.Contains(w.Text, "less than the first") {
		t.Errorf("warning is %+v", w)
	}
	// Too few rounds, and too little to matter.
	k, _ := record.KindOf(record.Throughput)
	slight := func() []uint64 { return []uint64{100, 100, 100, 100, 100, 104, 104, 104, 104, 104} }
	if all := append(unstationary(k, each(courses(5, rising))), unstationary(k, each(courses(30, slight)))...); len(all) > 0 {
		t.Errorf("warnings %v", all)
	}
}

func TestCourseOfWhatIsMeasured(t *testing.T) {
	trial := record.Trial{Course: &record.Course{Bytes: []uint64{1, 2}, Transactions: []float64{3.5, 4.5}}}
	for name, want := range map[string][]float64{
		record.Throughput: {1, 2}, record.PacketRate: {1, 2}, record.LatencyP50: {3.5, 4.5}, record.TransactionRate: {3.5, 4.5},
	} {
		k, _ := record.KindOf(name)
		if got := courseOf(k, &trial); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	k, _ := record.KindOf(record.Throughput)
	if courseOf(k, &record.Trial{}) != nil || len(unstationary(k, []*record.Trial{{Course: &record.Course{Bytes: make([]uint64, 10)}}, {}})) > 0 {
		t.Error("nothing is not stationary")
	}
}
