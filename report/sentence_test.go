package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

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

// ranOver is a result of a run over networks, the first of which is the baseline.
func ranOver(names ...string) analysis.Result {
	res := analysis.Result{Run: record.Run{Started: time.Date(2026, 3, 14, 21, 7, 0, 0, time.UTC)}}
	var s analysis.Scenario
	for i, name := range names {
		s.Rows = append(s.Rows, analysis.Row{Cell: record.Cell{Network: name, Hosts: 1}, Native: i == 0, Status: record.OK})
	}
	res.Scenarios = []analysis.Scenario{s, s}
	return res
}

func TestHeading(t *testing.T) {
	many := []string{"host"}
	for i := range 53 {
		many = append(many, fmt.Sprint("network", i))
	}
	check := ranOver("host", "veth")
	check.Run.Settings.SelfCheck = true
	skipped := ranOver("host", "bridge", "ovs")
	for i := range skipped.Scenarios {
		skipped.Scenarios[i].Rows[2].Status = record.Skipped
	}
	for _, tt := range []struct {
		res  analysis.Result
		want string
	}{
		{ranOver("host", "bridge"), "What bridge costs"},
		{ranOver("host", "bridge", "vxlan"), "What bridge and vxlan cost"},
		{ranOver("host", "a", "b", "c", "d", "e"), "What a, b, c, d and e cost"},
		{ranOver(many...), "What 53 container networks cost"},
		{ranOver("host"), "Measurements of host"},
		{skipped, "What bridge costs"},
		{check, "Self-check of host and veth"},
		{analysis.Result{}, "A run without figures"},
	} {
		if got := heading(tt.res); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestTitleTellsRunsApart: what differs between runs is in the title of their pages.
func TestTitleTellsRunsApart(t *testing.T) {
	res, later, other := ranOver("host", "bridge"), ranOver("host", "bridge"), ranOver("host", "vxlan")
	later.Run.Started = later.Run.Started.Add(time.Minute)
	noted := ranOver("host", "bridge")
	noted.Run.Note = "after the upgrade"
	titles := []string{pageTitle(res, "a.ndjson"), pageTitle(res, "b.ndjson"), pageTitle(later, "a.ndjson"), pageTitle(other, "a.ndjson"), pageTitle(noted, "a.ndjson")}
	for i, title := range titles {
		if slices.Contains(titles[:i], title) {
			t.Errorf("two runs have the title %q", title)
		}
	}
	if want := "bridge · 2026-03-14 21:07 UTC · a.ndjson · nettoll"; titles[0] != want {
		t.Errorf("%q, want %q", titles[0], want)
	}
}

// TestContents: all that has a heading of its own is in the table of contents, and every link on a page leads
// somewhere on it.
func TestContents(t *testing.T) {
	results := awkward()
	_, o := specimenResult()
	for name, res := range results {
		page := write(t, "html", res, o)
		ids, links, headings := map[string]int{}, map[string]bool{}, []string{}
		for z := html.NewTokenizer(strings.NewReader(page)); z.Next() != html.ErrorToken; {
			token := z.Token()
			for _, a := range token.Attr {
				switch {
				case token.Type == html.EndTagToken:
				case a.Key == "id":
					ids[a.Val]++
					if token.Data == "h2" {
						headings = append(headings, a.Val)
					}
				case a.Key == "href":
					links[strings.TrimPrefix(a.Val, "#")] = true
				}
			}
		}
		for link := range links {
			if ids[link] != 1 {
				t.Errorf("%s: %d elements are called %s, which is linked to", name, ids[link], link)
			}
		}
		for _, id := range headings {
			if !links[id] && id != "contents" && id != "short" {
				t.Errorf("%s: %s is not in the table of contents", name, id)
			}
		}
	}
}

func TestGrade(t *testing.T) {
	row := func(low, high float64, warnings ...analysis.Warning) analysis.Row {
		return analysis.Row{Warnings: warnings, Figures: []analysis.Figure{{Ratio: &analysis.Comparison{Value: 1, Interval: analysis.Interval{Low: low, High: high, Level: 0.95}, Primary: true}}}}
	}
	short := analysis.Warning{Code: analysis.WarnNotPrecise, Text: "not ±5%", Advice: "allow more time (--time-budget 3m)"}
	for _, c := range []struct {
		name string
		m    analysis.Multiplicity
		rows []analysis.Row
		want string
	}{
		{"nothing was compared", analysis.Multiplicity{}, nil, ""},
		{"all", analysis.Multiplicity{Primary: 3, Different: 2, Same: 1}, []analysis.Row{row(0.98, 1.01), row(0.9, 1.05), row(0.96, 1.03)},
			"All 3 primary comparisons are decided. Changes are known to within ±4% (half of them) and ±10% (all)."},
		{"one", analysis.Multiplicity{Primary: 1, Different: 1}, []analysis.Row{row(0.956, 1.01)}, "The one primary comparison is decided. Changes are known to within ±4.4%."},
		{"some, with too little time and noise", analysis.Multiplicity{Primary: 2, Different: 1, NotKnown: 1},
			[]analysis.Row{row(0.8, 1.2, short, analysis.Warning{Code: "foreign-cpu"}), row(0.8, 1.2, short, analysis.Warning{Code: "not-silent"})},
			"1 of 2 primary comparisons are decided. Changes are known to within ±20%. Disturbed by other work on the machine and networks that did not fall silent. Allow more time (--time-budget 3m)."},
		{"too few rounds", analysis.Multiplicity{Primary: 2, Untested: 2}, []analysis.Row{{}}, "None of 2 primary comparisons is decided."},
	} {
		res := analysis.Result{Multiplicity: c.m, Aim: analysis.Aim{Asked: c.m.Primary, Narrow: c.m.Primary - c.m.NotKnown}, Scenarios: []analysis.Scenario{{Rows: c.rows}}}
		if got := grade(res); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.name, got, c.want)
		}
	}
}
