package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/report/plot"
)

func TestCharts(t *testing.T) {
	res, _ := matrixResult(t, "icc-2014", matrixCells())
	all := Charts(res)
	seen := map[string]bool{}
	for _, c := range all {
		if seen[c.Name] {
			t.Errorf("two charts are called %s", c.Name)
		}
		seen[c.Name] = true
		var b bytes.Buffer
		err := c.SVG(&b)
		d := xml.NewDecoder(&b)
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	for _, want := range []string{
		"tcp-stream-by-clients-engine-throughput-per-client-gbit-s",
		"tcp-stream-by-clients-and-clients-in-each-container-link-throughput-per-client-gbit-s",
	} {
		if !seen[want] {
			t.Errorf("no chart %s among %v", want, seen)
		}
	}
	var b bytes.Buffer
	if err := all[0].PNG(&b); err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(&b); err != nil || img.Bounds().Dx() < 1000 {
		t.Errorf("png: %v, %v", img.Bounds(), err)
	}
	specimen, _ := specimenResult()
	all = Charts(specimen)
	if len(all) != 22 {
		t.Errorf("%d charts of the specimen", len(all))
	}
	for _, c := range all {
		seen[c.Name] = true
	}
	// What is compared says with what, and CPU time is told for what was moved.
	for _, want := range []string{
		"one-host-ipv4-client-and-server-on-different-cpus-latency-p50-against-host",
		"one-host-ipv4-client-and-server-on-different-cpus-where-the-cpu-time-of-tcp-stream-goes-s-for-1-gb",
		"one-host-ipv4-client-and-server-on-different-cpus-where-the-cpu-time-of-tcp-rr-goes-us-for-a-transac",
	} {
		if !seen[want] {
			t.Errorf("no chart %s among %v", want, seen)
		}
	}
}

// TestColorsAgree holds charts that stand alone to the colours of the page.
func TestColorsAgree(t *testing.T) {
	page := palettes(t)[0]
	for name, color := range plot.Light() {
		if page[name] != color {
			t.Errorf("%s is %s alone and %s on the page", name, color, page[name])
		}
	}
}

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
