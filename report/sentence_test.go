package report

import (
	"math"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// Where a value is 0 there is no ratio, and the verdict is on the difference: sentences say what it says.
func TestSentencesOfDifferences(t *testing.T) {
	for _, tt := range []struct {
		name   string
		share  func(round int) float64 // of native's throughput, and of its latency
		rounds int
		others int // comparisons beside the two
		says   []string
	}{
		{"less", func(round int) float64 {
			if round == 3 {
				return 0
			}
			return 0.5 + 0.01*float64(round%3)
		}, 8, 0, []string{"n has a throughput 4.8–7.5 Gbit/s lower than native's; a transaction takes 9.6–14.9 µs shorter."}},
		{"may be less", func(round int) float64 {
			if round == 3 {
				return 0
			}
			return 0.5 + 0.01*float64(round%3)
		}, 8, 30, []string{"n may have a throughput 4.8–7.5 Gbit/s lower than native's (not certain among 32 comparisons); a transaction may take 9.6–14.9 µs shorter (not certain among 32 comparisons)."}},
		{"not known", func(round int) float64 { return float64(round % 3) }, 8, 0,
			[]string{"n: not known whether it moves more or less than native (−5.00…+10.0 Gbit/s); not known whether a transaction takes longer or shorter (−10.0…+20.0 µs)."}},
		{"the same", func(round int) float64 {
			if round == 3 {
				return 0
			}
			return 1
		}, 13, 0, []string{"n moves as much as native within 5% (0 bit/s); a transaction takes as long within 5% (0 s)."}},
	} {
		f := &record.File{Run: record.Run{Settings: record.Settings{Confidence: 0.95}}}
		for round := 1; round <= tt.rounds; round++ {
			for i := range 2 + tt.others/2 {
				c := record.Cell{Network: "n", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPStream, Placement: "distinct"}
				share := tt.share(round)
				if i == 0 {
					c.Network, share = "host", 1
				}
				if i > 1 {
					c.Network, share = strings.Repeat("m", i), 0.7
				}
				trial := record.Trial{Cell: c, Round: round, Status: record.OK, Window: 1,
					Metrics: map[string]record.Metric{record.Throughput: record.Measured(record.Throughput, math.Round(1e10*share))}}
				f.Trials = append(f.Trials, trial)
				trial.Cell.Workload = record.TCPRR
				trial.Metrics = map[string]record.Metric{record.LatencyP50: record.Measured(record.LatencyP50, 2e-5*share)}
				f.Trials = append(f.Trials, trial)
			}
		}
		res := analysis.Analyze(f)
		var got []string
		for _, g := range groups(res) {
			for _, s := range g.sentences() {
				if s.Subject == "n" || s.Subject == "n:" {
					got = append(got, strings.ReplaceAll(s.String(), "\u00a0", " "))
				}
			}
		}
		if strings.Join(got, " ") != strings.Join(tt.says, " ") {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.says)
		}
	}
}
