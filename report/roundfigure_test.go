package report

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
)

// TestRoundsHaveEveryNetwork: each network of a scenario that was measured is in its chart over rounds, with as many
// rounds as it has.
func TestRoundsHaveEveryNetwork(t *testing.T) {
	results := awkward()
	drawn := 0
	for _, name := range slices.Sorted(maps.Keys(results)) {
		res := results[name]
		for _, g := range apart(res) {
			for i := range g.scenarios {
				f := g.roundFigure(i)
				if !f.chart.Drawn() {
					continue
				}
				kind, _ := g.ranking(i)
				for _, l := range g.lines {
					points := shares(l.rows[i], kind)
					if len(points) == 0 {
						continue
					}
					drawn++
					want := l.name + " " + endsOf(points) + " in " + countOf(len(points), "round")
					if !strings.Contains(f.chart.Label(), want) {
						t.Errorf("%s: %q is not in %q", name, want, f.chart.Label())
					}
				}
			}
		}
	}
	if drawn < 40 {
		t.Errorf("only %d networks were drawn", drawn)
	}
}

// TestTwoRoundsAreNoCourse: from two rounds nothing is seen.
func TestTwoRoundsAreNoCourse(t *testing.T) {
	for name, want := range map[string]bool{"short": false, "many": true} {
		page := write(t, "html", analysis.Analyze(goldenRuns()[name]), Options{})
		if got := strings.Contains(page, "round by round"); got != want {
			t.Errorf("%s: rounds are drawn: %v, want %v", name, got, want)
		}
	}
}
