package report

import (
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// loadTitles are the titles of charts of latency against load in a report.
func loadTitles(t *testing.T, f *record.File) (titles []string) {
	t.Helper()
	charts := Charts(analysis.Analyze(f))
	for _, c := range charts {
		if strings.Contains(c.Title, "against load") {
			titles = append(titles, c.Title)
		}
	}
	return titles
}

func TestLatencyAgainstLoad(t *testing.T) {
	if got := loadTitles(t, loadsFile()); len(got) != 2 || !strings.Contains(got[0], "Latency p50") || !strings.Contains(got[1], "Latency p99") {
		t.Errorf("charts %q", got)
	}
	page := write(t, "html", analysis.Analyze(loadsFile()), Options{})
	// What was asked for, 20,000, is more than it could do.
	for _, want := range []string{"at 8.55 (", "Transactions achieved, k/s", "host (baseline)", "against load, each point stands over what was achieved"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// There is no load to draw over where there is one only, or where networks differ in something else.
func TestNoLatencyAgainstLoad(t *testing.T) {
	for name, change := range map[string]func(*record.Cell) (keep bool){
		"one load": func(c *record.Cell) bool { return c.Options.Rate == 1000 },
		"no loads": func(c *record.Cell) bool { c.Options.RequestSize, c.Options.Rate = c.Options.Rate, 1000; return true },
		"one for each": func(c *record.Cell) bool {
			return (c.Network == "host") == (c.Options.Rate == 1000) && c.Options.Rate <= 5000
		},
		"other measures": func(c *record.Cell) bool { c.Workload = record.UDPStream; return false },
	} {
		f := loadsFile()
		var cells []record.Cell
		for _, c := range f.Run.Cells {
			if change(&c) {
				cells = append(cells, c)
			}
		}
		var trials []record.Trial
		for _, tr := range f.Trials {
			if change(&tr.Cell) {
				trials = append(trials, tr)
			}
		}
		f.Run.Cells, f.Trials = cells, trials
		if got := loadTitles(t, f); len(got) > 0 {
			t.Errorf("%s: charts %q", name, got)
		}
	}
}

// A page of sweeps alone begins with what is known, as any other; a factor is not of something.
func TestSweepsAlone(t *testing.T) {
	res := analysis.Analyze(loadsFile())
	if page := write(t, "html", res, Options{}); !strings.Contains(page, `<p class="grade">All 8 primary comparisons are decided`) || strings.Contains(page, "Nothing was measured") {
		t.Error("the page does not begin with its grade")
	}
	if text := write(t, "text", res, Options{}); !strings.Contains(text, "at 1 k/s, and has 19.8–20.2× native's latency p50 at 20 k/s") {
		t.Errorf("text says:\n%s", text)
	}
}

func TestAxisPlaces(t *testing.T) {
	for _, tt := range []struct {
		values, want []float64
		log          bool
	}{
		{[]float64{1, 2, 4, 8, 16, 20}, []float64{1, 2, 4, 8, 16, 20}, true},
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, false},
		{[]float64{1, 20}, []float64{1, 20}, false},
		{[]float64{0, 10, 100, 1000}, []float64{0, 1, 2, 3}, false},
		{[]float64{0, 1, 2, 3}, []float64{0, 1, 2, 3}, false},
		{nil, nil, false},
	} {
		var ticks []analysis.Tick
		for _, v := range tt.values {
			ticks = append(ticks, analysis.Tick{Value: v})
		}
		got, log := axisPlaces(ticks)
		if !slices.Equal(got, tt.want) || log != tt.log {
			t.Errorf("%v: %v, %v; want %v, %v", tt.values, got, log, tt.want, tt.log)
		}
	}
}

// Bars in groups have the colours of their networks; what is not different is told by its sign.
func TestRatioBarsSayWhatIsNotKnown(t *testing.T) {
	for outcome, want := range map[analysis.Outcome]string{
		analysis.Different: "55%", analysis.NotKnown: "55% ?", analysis.Same: "55% =", analysis.Untested: "55% untested",
	} {
		if b := ratioBar(analysis.Comparison{Value: 0.55, Outcome: outcome}); b.Text != want {
			t.Errorf("%v: %q, want %q", outcome, b.Text, want)
		}
	}
}
