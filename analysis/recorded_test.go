package analysis

import (
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nettoll/record"
)

// recordedNoise is by how much logarithms of ratios of recorded rounds were off the middle of their
// cell, in cells' own units of spread: of whatever a machine does, and no made-up distribution.
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
	for _, of := range logs {
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
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	file, err := record.Read(z)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return file
}

// TestCoverageOfRecordedRounds draws runs from what rounds were in truth off by, in turns and by whole
// trials, and stops each as runs stop. Intervals cover about as they say, and networks that are equal
// are called different about as often as the level says.
func TestCoverageOfRecordedRounds(t *testing.T) {
	for _, way := range []string{"turns", "whole"} {
		noise := recordedNoise(t, "../docs/measured/equivalence/equivalence-*-"+way+"-*.ndjson.gz")
		if len(noise) < 100 {
			t.Fatalf("%s: %d rounds are too few to draw from", way, len(noise))
		}
		r := rand.New(rand.NewPCG(16, uint64(len(noise))))
		for _, sd := range []float64{0.02, 0.06} { // middle of what they are off by, of their ratio
			s := record.Settings{Precision: 0.05, Confidence: 0.95, MinRounds: 6, MaxRounds: 40}
			covered, rounds := 0, 0
			for range simulated {
				pairs := simulate(r, s.MaxRounds, 1, 0, func(*rand.Rand) float64 { return 1 })
				for i := range pairs {
					pairs[i].cell *= math.Exp(sd * noise[r.IntN(len(noise))])
				}
				var c *Comparison
				for n := s.MinRounds; n <= s.MaxRounds; n++ {
					if !looks(n, s.MinRounds) && n < s.MaxRounds {
						continue
					}
					c = compare(pairs[:n], record.HigherIsBetter, at95)
					if reached(c.N, c.Low, c.Value, c.High, c.Level, s, 1).Known {
						break
					}
				}
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
