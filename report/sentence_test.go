package report

import (
	"fmt"
	unescaping "html"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/reference"
)

// If a value is 0 there is no ratio, and the verdict is on the difference: sentences agree with it.
func TestSentencesOfDifferences(t *testing.T) {
	half := func(round int) float64 {
		if round == 3 {
			return 0
		}
		return 0.5 + 0.01*float64(round%3)
	}
	for _, tt := range []struct {
		name   string
		share  func(round int) float64 // of native's throughput, and of its latency
		rounds int
		others int // comparisons in addition to the two
		says   []string
	}{
		{"less", half, 8, 0, []string{"n has a throughput 4.8–7.5 Gbit/s lower than native's; a transaction takes 9.6–14.9 µs less time."}},
		{"may be less", half, 8, 30, []string{"n may have a throughput 4.8–7.5 Gbit/s lower than native's (not certain given 32 comparisons); a transaction may take 9.6–14.9 µs less time (not certain given 32 comparisons)."}},
		{"not known", func(round int) float64 { return float64(round % 3) }, 8, 0,
			[]string{"n: not known whether it moves more or less than native (−5.00…+10.0 Gbit/s); not known whether a transaction takes longer or shorter (−10.0…+20.0 µs)."}},
		{"the same", func(round int) float64 {
			if round == 3 {
				return 0
			}
			return 1
		}, 13, 0, []string{"n moves as much as native within 5% (0 bit/s); a transaction takes the same time within 5% (0 s)."}},
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

// ranOver returns a result of a run over networks, the first of which is the baseline.
func ranOver(names ...string) analysis.Result {
	res := analysis.Result{Run: record.Run{Started: time.Date(2026, 3, 14, 21, 7, 0, 0, time.UTC)}}
	var s analysis.Scenario
	for i, name := range names {
		s.Rows = append(s.Rows, analysis.Row{Cell: record.Cell{Network: name, Hosts: 1}, Native: i == 0, Status: record.OK})
	}
	res.Scenarios = []analysis.Scenario{s, s}
	res.Multiplicity.Primary = 2 * (len(names) - 1)
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
	alone := ranOver("host", "bridge", "ovs")
	for i := range alone.Scenarios {
		alone.Scenarios[i].Rows[0].Status = record.Failed
	}
	alone.Multiplicity.Primary = 0
	for _, tt := range []struct {
		res  analysis.Result
		want string
	}{
		{alone, "Measurements of bridge and ovs"},
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

// TestTitleTellsRunsApart: everything that differs between runs is in the title of their pages.
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

// TestContents: everything with its own heading is in the table of contents, and every link
// leads to a place on the page.
func TestContents(t *testing.T) {
	_, o := specimenResult()
	for name, res := range awkward() {
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
		{"the baseline failed", analysis.Multiplicity{Missing: 1}, []analysis.Row{
			{Cell: record.Cell{Network: "host"}, Native: true, Status: record.Failed, Counts: map[record.Status]int{record.Failed: 3}, Lost: []analysis.Lost{{Status: record.Failed, Trials: 3, Reason: "no"}}},
			{Cell: record.Cell{Network: "bridge"}, Status: record.OK, Warnings: []analysis.Warning{short}},
		}, "Nothing was compared: host: failed: no."},
		{"all networks failed", analysis.Multiplicity{Missing: 1}, []analysis.Row{{Cell: record.Cell{Network: "bridge"}, Status: record.Failed}},
			"Nothing was compared: no network has a trial with figures."},
		{"no round has both", analysis.Multiplicity{Missing: 1}, []analysis.Row{{Cell: record.Cell{Network: "bridge"}, Status: record.OK}},
			"Nothing was compared: no round has figures of a network and of what it is compared with."},
		{"one failed", analysis.Multiplicity{Primary: 1, Different: 1, Missing: 2}, []analysis.Row{row(0.956, 1.01)},
			"The one primary comparison is decided. 2 more were not made. Changes are known to within ±4.4%."},
		{"too few rounds for a verdict", analysis.Multiplicity{Primary: 2, NotKnown: 2}, []analysis.Row{row(0.9, 1.1), row(0.9, 1.1, analysis.Warning{Code: analysis.WarnShort, Advice: "allow more rounds (--max-rounds 9)"})},
			"Neither of the two primary comparisons is decided. Changes are known to within ±10%. Allow more rounds (--max-rounds 9)."},
		{"all", analysis.Multiplicity{Primary: 3, Different: 2, Same: 1}, []analysis.Row{row(0.98, 1.01), row(0.9, 1.05), row(0.96, 1.03)},
			"All 3 primary comparisons are decided. Changes are known to within ±4% (half of them) and ±10% (all)."},
		{"two", analysis.Multiplicity{Primary: 2, Different: 1, Same: 1}, []analysis.Row{row(0.956, 1.01)}, "Both primary comparisons are decided. Changes are known to within ±4.4%."},
		{"one", analysis.Multiplicity{Primary: 1, Different: 1}, []analysis.Row{row(0.956, 1.01)}, "The one primary comparison is decided. Changes are known to within ±4.4%."},
		{"some, with too little time and noise", analysis.Multiplicity{Primary: 2, Different: 1, NotKnown: 1},
			[]analysis.Row{row(0.8, 1.2, short, analysis.Warning{Code: "foreign-cpu"}), row(0.8, 1.2, short, analysis.Warning{Code: "not-silent"})},
			"1 of 2 primary comparisons is decided. Changes are known to within ±20%. Disturbed by other work on the machine and by networks that did not fall silent. Allow more time (--time-budget 3m)."},
		{"a busy machine", analysis.Multiplicity{Primary: 2, NotKnown: 2},
			[]analysis.Row{row(0.8, 1.2, analysis.Warning{Code: "foreign-cpu"}), row(0.8, 1.2, analysis.Warning{Code: analysis.WarnBusy})},
			"Neither of the two primary comparisons is decided. Changes are known to within ±20%. Disturbed by other work all the time. On a busy machine, networks may differ less than on a quiet one."},
		{"too few rounds of one", analysis.Multiplicity{Primary: 3, Different: 2, Untested: 1}, []analysis.Row{row(0.98, 1.01), row(0.9, 1.05), {}},
			"2 of 3 primary comparisons are decided. Where there are enough rounds, changes are known to within ±2% (half of them) and ±10% (all)."},
		{"nothing known", analysis.Multiplicity{Primary: 2, Untested: 2}, []analysis.Row{{}}, "Neither of the two primary comparisons is decided."},
		{"too few rounds", analysis.Multiplicity{Primary: 2, Untested: 2}, []analysis.Row{{}, {Warnings: []analysis.Warning{{Code: analysis.WarnTooFewRounds, Text: "too few rounds: 2, and 95% confidence needs 6", Advice: "allow more rounds (--max-rounds 7)"}}}},
			"Neither of the two primary comparisons is decided. Allow more rounds (--max-rounds 7)."},
	} {
		res := analysis.Result{Multiplicity: c.m, Aim: analysis.Aim{Asked: c.m.Primary, Narrow: c.m.Primary - c.m.NotKnown}, Scenarios: []analysis.Scenario{{Rows: c.rows}}}
		if got := grade(res); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestNetworksThatTookLongToFallSilent: long waits are reported in every format that has room for them.
func TestNetworksThatTookLongToFallSilent(t *testing.T) {
	calm := analysis.Settling{Cell: record.Cell{Network: "veth", Hosts: 1, Servers: 1, Clients: 1}, Built: 6, Silent: 6}
	slow := analysis.Settling{
		Cell: record.Cell{Network: "docker:bridge", Hosts: 1, Servers: 1, Clients: 1, Setup: record.Setup{Neighbours: 1000}}, Built: 6, Silent: 6,
		Wait: analysis.Spread{Median: 3.21, Max: 4.5}, CPU: &analysis.Spread{Median: 2.5, Max: 3}, Packets: analysis.Spread{Median: 1_234_567, Max: 2_000_000},
	}
	elsewhere := slow
	elsewhere.CPU = nil
	never := slow
	never.Cell.Neighbours, never.Silent, never.Wait = 0, 5, analysis.Spread{Median: 0.1, Max: 30}
	busy, idle := calm, calm
	busy.Rested, busy.Resting = 12, analysis.Spread{Median: 0.0123, Max: 0.05}
	idle.Rested, idle.Resting = 12, analysis.Spread{Median: 0.0001, Max: 0.05}
	res, o := specimenResult()
	for _, c := range []struct {
		settlings []analysis.Settling
		says      []string
	}{
		{[]analysis.Settling{calm}, nil},
		{[]analysis.Settling{calm, slow}, []string{
			"docker:bridge, 1,000 idle neighbours was watched for 3.21 s until it fell silent (median of 6); until then the machine used 2.5 s of CPU time more than when idle, and 1,234,567 packets crossed the network's devices (medians).",
		}},
		{[]analysis.Settling{elsewhere}, []string{
			"docker:bridge, 1,000 idle neighbours was watched for 3.21 s until it fell silent (median of 6); until then 1,234,567 packets crossed the network's devices (medians).",
		}},
		{[]analysis.Settling{never}, []string{"docker:bridge was built six times; after one of these it did not fall silent in up to 30 s of waiting; until then"}},
		{[]analysis.Settling{idle}, nil},
		{[]analysis.Settling{busy}, []string{"veth has daemons that used 1.23% of a CPU while it had no traffic (median of 12)."}},
	} {
		res.Settlings = c.settlings
		text := strings.Join(strings.Fields(write(t, "text", res, o)), " ")
		if strings.Contains(text, "What networks do without traffic") != (c.says != nil) {
			t.Errorf("%+v: %v", c.settlings, c.says)
		}
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("text does not say %q", want)
			}
			html := unescaping.UnescapeString(strings.Join(strings.Fields(write(t, "html", res, o)), " "))
			if subject, rest, _ := strings.Cut(want, " "); !strings.Contains(html, subject) || !strings.Contains(html, rest[len(rest)-40:]) {
				t.Errorf("the page does not say %q", want)
			}
		}
		var got struct {
			Settlings []struct {
				Network string
				analysis.Settling
			}
		}
		readJSON(t, res, o, &got)
		if len(got.Settlings) != len(c.settlings) || got.Settlings[0].Network != c.settlings[0].Cell.Network || got.Settlings[0].Wait.Max != c.settlings[0].Wait.Max {
			t.Errorf("%+v", got.Settlings)
		}
	}
	busy.Packets = slow.Packets
	res.Settlings = []analysis.Settling{busy}
	cells := record.Each(settlingSections(res)[0].Tables[0].Lines[0].Cells, cell.text)
	if want := []string{"0 up to 0", "–", "1,234,567 up to 2,000,000", "1.23 up to 5"}; !slices.Equal(cells, want) {
		t.Errorf("the table has %q, want %q", cells, want)
	}
}

// TestSettlingsAsJSON checks that the JSON has every dimension in which the networks of two settlings, or of two times until
// something is in force, can differ.
func TestSettlingsAsJSON(t *testing.T) {
	alike := []string{"family", "offload", "normalize"} // in all settlings
	var c record.Cell
	dimensions := record.Dimensions(record.Path, record.Link, record.Condition)
	for _, d := range dimensions {
		switch v := d.Field(&c).(type) {
		case *int:
			*v = 7
		case *string:
			*v = "7"
		case *bool:
			*v = true
		}
	}
	res, o := specimenResult()
	res.Settlings, res.InForce = []analysis.Settling{{Cell: c}}, []analysis.InForce{{Cell: c}}
	var got struct {
		Settlings []map[string]any
		InForce   []map[string]any `json:"in_force"`
	}
	readJSON(t, res, o, &got)
	for _, d := range dimensions {
		for _, one := range []map[string]any{got.Settlings[0], got.InForce[0]} {
			if said, want := fmt.Sprint(one[d.Identifier()]), fmt.Sprint(d.Value(c)); said != want && !slices.Contains(alike, d.Name) {
				t.Errorf("%s is %s, and JSON says %s: %v", d.Name, want, said, one)
			}
		}
	}
}

// TestConclusions checks the words against the figures.
func TestConclusions(t *testing.T) {
	for _, tt := range []struct {
		outcome    analysis.Judgement
		text, want string
	}{
		{analysis.Holds, "in 5 of 6 cells", "Holds here: “ovs is fastest”: in 5 of 6 cells."},
		{analysis.DoesNotHold, "in 1 of 6 cells.", "Does not hold here: “ovs is fastest”: in 1 of 6 cells."},
		{analysis.CannotTell, "", "Not known here: “ovs is fastest”."},
		{analysis.NotMeasurable, "this is advice", "Not measurable: “ovs is fastest”: this is advice."},
	} {
		c := analysis.CheckedConclusion{Conclusion: reference.Conclusion{Text: "ovs is fastest."}, Measured: tt.outcome, Details: tt.text}
		if got := conclusionSaying(c).String(); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

func TestPublishedCell(t *testing.T) {
	for _, tt := range []struct {
		table reference.Table
		cell  analysis.ReplicatedCell
		want  string
	}{
		{reference.Table{}, analysis.ReplicatedCell{Published: reference.Published{Value: 11.6}, PublishedRatio: 1.16}, "11.6 (116%)"},
		{reference.Table{}, analysis.ReplicatedCell{Published: reference.Published{Value: 2.23}, PublishedRatio: 0.091}, "2.23 (9.1%)"},
		{reference.Table{Relative: true}, analysis.ReplicatedCell{Published: reference.Published{Value: -16}, PublishedRatio: 0.84}, "−16% (84%)"},
		{reference.Table{Relative: true}, analysis.ReplicatedCell{Published: reference.Published{Value: 258}, PublishedRatio: 3.58}, "+258% (358%)"},
		{reference.Table{}, analysis.ReplicatedCell{Published: reference.Published{Missing: "as printed"}}, "not given"},
	} {
		if got := publishedCell(tt.table, tt.cell).text(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestShareOfPublished checks that a measured share is not outside of its interval as it is shown.
func TestShareOfPublished(t *testing.T) {
	for want, c := range map[string]analysis.Comparison{
		"67%, 65–70%":          {Value: 0.67, Interval: analysis.Interval{Low: 0.65, High: 0.7, Level: 0.95}},
		"9.1%, 8.8–9.4%":       {Value: 0.091, Interval: analysis.Interval{Low: 0.088, High: 0.094, Level: 0.95}},
		"81.7%, 81.6–81.9%":    {Value: 0.8171, Interval: analysis.Interval{Low: 0.816, High: 0.819, Level: 0.95}},
		"81.70%, 81.68–81.74%": {Value: 0.817, Interval: analysis.Interval{Low: 0.8168, High: 0.8174, Level: 0.95}},
		"67% ±?":               {Value: 0.67},
	} {
		if got := shareText(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFewPairsSayNothing ensures that a correlation of one pair is not called exact.
func TestFewPairsSayNothing(t *testing.T) {
	table := analysis.ReplicatedTable{Table: reference.Table{Name: "throughput"}, Order: analysis.Correlation{Tau: 1, N: 1, Groups: 1, Known: true}}
	if got := correlationText(table); len(got) > 0 {
		t.Errorf("one pair: %q", got)
	}
	table.Order = analysis.Correlation{Tau: -0.8, N: 10, Groups: 2, Known: true}
	if got := strings.Join(correlationText(table), ""); !strings.Contains(got, "opposite") || !strings.Contains(got, "−0.80") {
		t.Errorf("a negative correlation: %q", got)
	}
}

// TestNoteGroups: every doubt is in exactly one group, numbers continue from group to group, and no group is empty.
func TestNoteGroups(t *testing.T) {
	for name, res := range awkward() {
		n := newNotes(res)
		want, got, next := map[string]int{}, map[string]int{}, 1
		for _, w := range slices.Concat(n.list, res.Warnings) {
			want[sentenceOf(w)]++
		}
		for _, g := range n.groups(res) {
			if len(g.Notes)+len(g.OfRun) == 0 {
				t.Errorf("%s: nothing stands below %s", name, g.Title)
			}
			for _, note := range g.Notes {
				if got[note.Text]++; note.Number != next {
					t.Errorf("%s: note %d comes after %d", name, note.Number, next-1)
				}
				if id := n.groupOf(note.Number); id != g.ID {
					t.Errorf("%s: note %d is looked for below %s and stands below %s", name, note.Number, id, g.ID)
				}
				next++
			}
			for _, text := range g.OfRun {
				got[text]++
			}
		}
		if !maps.Equal(want, got) {
			t.Errorf("%s: doubts are %v, listed are %v", name, want, got)
		}
	}
}

// TestNotesInEveryFormat: reports for people have all doubts, each below the heading of its
// group, and refer to no others.
func TestNotesInEveryFormat(t *testing.T) {
	for _, name := range []string{"ordinary", "many"} {
		res := awkward()[name]
		groups := newNotes(res).groups(res)
		count := len(newNotes(res).list)
		if count == 0 {
			t.Fatalf("%s: nothing is to doubt", name)
		}
		for _, format := range []string{"text", "md", "html"} {
			page := write(t, format, res, Options{})
			at := 0
			find := func(text string) {
				found := strings.Index(page[at:], text)
				if found < 0 {
					t.Fatalf("%s.%s: %q is missing, or not in its place", name, format, text)
				}
				at += found
			}
			for _, g := range groups {
				find(map[string]string{"text": g.Title + ":", "md": "### " + g.Title, "html": `<h3 id="` + g.ID + `">` + g.Title}[format])
				for _, note := range g.Notes {
					find(map[string]string{"text": superscript([]int{note.Number}) + " " + Printable(note.Text), "md": markdown(note.Text), "html": string(flags(note.Text))}[format])
				}
			}
		}
	}
}

func TestCountsAreMerged(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		want  string
	}{
		{[]string{"busy (in 5 of 8 trials)", "busy (in 1 of 8 trials)", "busy (in 3 of 8 trials)"}, "busy (in 1 to 5 of 8 trials)"},
		{[]string{"busy (in 9 of 9 trials)", "busy (in 10 of 10 trials)"}, "busy (in all of 9 to 10 trials)"},
		{[]string{"busy (in 9 of 9 trials)", "busy (in 10 of 10 trials)", "busy (in 2 of 10 trials)"}, "busy (in 2 to 10 of 9 to 10 trials)"},
		{[]string{"outliers of latency: 1 of 16 values", "outliers of latency: 2 of 16 values"}, "outliers of latency: 1 to 2 of 16 values"},
		{[]string{"1 of 2 flows were cold (in 1 of 8 trials)", "2 of 2 flows were cold (in 3 of 8 trials)"}, "1 to 2 of 2 flows were cold (in 1 to 3 of 8 trials)"},
		{[]string{"something used 0.4 CPU seconds a second of the machine (in 1 of 8 trials)", "something used 12 CPU seconds a second of the machine (in 2 of 8 trials)",
			"something used 0.31 CPU seconds a second of the machine (in 1 of 8 trials)"}, "something used 0.31 to 12 CPU seconds a second of the machine (in 1 to 2 of 8 trials)"},
		{[]string{"something else used 0.4 CPU seconds per second during the trial (in 1 of 8 trials)", "something else used 12 CPU seconds per second during the trial (in 2 of 8 trials)"},
			"something else used 0.4 to 12 CPU seconds per second during the trial (in 1 to 2 of 8 trials)"},
		{[]string{"lost (in 1 of 1 trial)", "lost (in 1 of 8 trials)"}, "lost (in 1 of 1 to 8 trials)"},
		{[]string{"the same (in 1 of 8 trials)", "the same (in 1 of 8 trials)"}, "the same (in 1 of 8 trials)"},
	} {
		var n notes
		for range 2 { // numbers are looked up repeatedly
			for _, text := range tt.texts {
				if got := n.number(analysis.Warning{Code: "code", Text: text}); got != 1 {
					t.Errorf("%q has the number %d", text, got)
				}
			}
		}
		if n.list[0].Text != tt.want {
			t.Errorf("%q, want %q", n.list[0].Text, tt.want)
		}
	}
	var n notes
	for i, w := range []analysis.Warning{{Code: "a", Text: "MTU 1500 (in 1 of 8 trials)"}, {Code: "a", Text: "MTU 1450 (in 1 of 8 trials)"},
		{Code: "b", Text: "MTU 1500 (in 1 of 8 trials)"}, {Code: "a", Text: "MTU 1500 (in 1 of 8 trials)", Advice: "wait"}, {Code: "a", Text: "MTU 1500 (in 1 of 8 rounds)"}} {
		if got := n.number(w); got != i+1 {
			t.Errorf("%+v has the number %d, want %d", w, got, i+1)
		}
	}
}

func TestNamesKeepTheirLetters(t *testing.T) {
	for text, want := range map[string]string{
		"h1's lo has an MTU of 65536":    "h1's lo has an MTU of 65536.",
		"node-a's eth0 is down":          "node-a's eth0 is down.",
		"h1/veth0 lost 3 packets":        "h1/veth0 lost 3 packets.",
		"flanneld: exit status 1":        "flanneld: exit status 1.",
		"latency p50 changed slowly":     "Latency p50 changed slowly.",
		"not set up as native: MTU 1500": "Not set up as native: MTU 1500.",
		"":                               ".",
	} {
		if got := sentenceOf(analysis.Warning{Text: text}); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// Doubts about cells with their own tables are not repeated for the sweep that contains them.
func TestSweepsRepeatNoDoubts(t *testing.T) {
	f := loadsFile()
	for i := range f.Trials {
		f.Trials[i].Warnings = append(f.Trials[i].Warnings, steal)
	}
	keep(f, func(c *record.Cell) bool { return c.Options.Rate <= 5000 })
	res := analysis.Analyze(f)
	if len(apart(res)) != 2 || len(res.Sweeps) != 1 {
		t.Fatalf("%d tables, %d sweeps", len(apart(res)), len(res.Sweeps))
	}
	if text := write(t, "text", res, Options{}); strings.Count(text, steal.Text[4:]) != 1 {
		t.Errorf("told more than once:\n%s", text)
	}
}

// A cell of a sweep that has figures did not fail, even if some of its trials did.
func TestSweepsTellLostTrialsFromLostCells(t *testing.T) {
	f := loadsFile()
	for i := range f.Trials {
		tr := &f.Trials[i]
		switch rate := tr.Cell.Options.Rate; {
		case tr.Cell.Network == "published" && rate == 20_000:
			tr.Status, tr.Reason = record.Failed, "broke"
		case tr.Cell.Network == "bridge" && rate == 1000 && tr.Round == 3:
			tr.Status, tr.Reason = record.Failed, "broke"
		case tr.Cell.Network == "bridge" && rate < 10_000 && tr.Round == 7:
			tr.Status, tr.Reason = record.Invalid, "another path"
		}
	}
	res := analysis.Analyze(f)
	if len(res.Sweeps) != 1 {
		t.Fatalf("%d sweeps", len(res.Sweeps))
	}
	got := record.Each(sweepAbsences(res.Sweeps[0]), func(a absence) string { return a.Network + " " + a.text() })
	want := []string{
		"bridge had failed trials in 1 of 4 cells: broke.",
		"bridge had invalid trials in 2 of 4 cells: another path.",
		"published failed in 1 of 4 cells: broke.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A size that was not set is the tool's own choice, and not 0.
func TestSizesThatWereNotSet(t *testing.T) {
	for want, o := range map[string]record.Options{
		"":                        {},
		"64 B there":              {RequestSize: 64},
		"16 KiB back":             {ResponseSize: 16 << 10},
		"64 B there, 16 KiB back": {RequestSize: 64, ResponseSize: 16 << 10},
	} {
		if got := optionsText(o); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}

func TestFlagsStayWhole(t *testing.T) {
	const want = `measure with <span class="flag">--offload</span> off &lt;b&gt; or <span class="flag">--max-rounds</span> 9`
	if got := string(flags("measure with --offload off <b> or --max-rounds 9")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestQuantity(t *testing.T) {
	for _, tt := range []struct {
		metric string
		value  float64
		want   string
	}{
		{record.Throughput, 11.84e9, "11.8 Gbit/s"},
		{record.Throughput, 999.6e6, "1.00 Gbit/s"},
		{record.Throughput, 940e3, "940 kbit/s"},
		{record.Throughput, 0, "0 bit/s"},
		{record.LatencyP50, 21.34e-6, "21.3 µs"},
		{record.LatencyP50, 0.0042, "4.20 ms"},
		{record.LatencyAdded, -5e-6, "−5.00 µs"},
		{record.CPUPerGB, 0.5213, "0.521 s/GB"},
		{record.CPUPerTransaction, 12.06e-6, "12.1 µs"},
		{record.TransactionRate, 46912, "46.9 k/s"},
		{record.Retransmits, 12, "12 segments"},
		{record.PacketRate, 812_400, "812 kpps"},
		{record.PacketRate, 1_234_000, "1.23 Mpps"},
		{record.Loss, 0, "0%"},
		{record.Loss, 0.0314, "3.1%"},
		{record.Loss, 0.000314, "0.031%"},
		{record.Loss, 0.5, "50%"},
		{record.Fairness, 0.9987, "1.00"},
		{record.Fairness, 0.5, "0.50"},
		{record.Jitter, 12.5e-6, "12.5 µs"},
	} {
		kind, ok := record.KindOf(tt.metric)
		if !ok {
			t.Fatalf("no metric %s", tt.metric)
		}
		if got := strings.ReplaceAll(quantity(kind, tt.value), "\u00a0", " "); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.metric, tt.value, got, tt.want)
		}
	}
}

func TestChange(t *testing.T) {
	for _, tt := range []struct {
		c                   analysis.Comparison
		change, ends, share string
	}{
		{analysis.Comparison{Interval: analysis.Interval{Low: 0.85, High: 0.88, Level: 0.95}, Value: 0.87, Outcome: analysis.Different}, "−13%", "−15…−12%", "87% (85–88%)"},
		{analysis.Comparison{Interval: analysis.Interval{Low: 1.38, High: 1.44, Level: 0.95}, Value: 1.41, Outcome: analysis.Different}, "+41%", "+38…+44%", "141% (138–144%)"},
		{analysis.Comparison{Interval: analysis.Interval{Low: 0.67, High: 0.99, Level: 0.95}, Value: 0.93, Outcome: analysis.Different}, "−7%", "−33…−1%", "93% (67–99%)"},
		{analysis.Comparison{Interval: analysis.Interval{Low: 0.97, High: 1.02, Level: 0.95}, Value: 0.998, Outcome: analysis.Same}, "=", "−3…+2%", ""},
		{analysis.Comparison{Interval: analysis.Interval{Low: 0.97, High: 1.45, Level: 0.95}, Value: 1.02, Outcome: analysis.NotKnown}, "?", "−3…+45%", ""},
		{analysis.Comparison{Interval: analysis.Interval{Low: 1.002, High: 1.01, Level: 0.95}, Value: 1.006, Outcome: analysis.Different}, "+0.6%", "+0.2…+1.0%", ""},
		{analysis.Comparison{Interval: analysis.Interval{Low: 0.0138, High: 0.0158, Level: 0.95}, Value: 0.0148, Outcome: analysis.Different}, "−98.5%", "−98.6…−98.4%", "1.5% (1.4–1.6%)"},
		{analysis.Comparison{Interval: analysis.Interval{Low: 0.0028, High: 0.11, Level: 0.95}, Value: 0.02, Outcome: analysis.Different}, "−98.0%", "−99.7…−89.0%", "2.0% (0.3–11.0%)"},
		{analysis.Comparison{Interval: analysis.Interval{Low: 0.9641, High: 0.9647, Level: 0.95}, Value: 0.9644, Outcome: analysis.Different}, "−3.6%", "−3.6…−3.5%", "96.4% (96.4–96.5%)"},
		{analysis.Comparison{Interval: analysis.Interval{Low: 25.2, High: 29.4, Level: 0.95}, Value: 27.3, Outcome: analysis.Different}, "27×", "25…29×", ""},
		{analysis.Comparison{N: 2, Value: 2.82, Interval: analysis.Interval{Low: 2.82, High: 2.82}}, "untested", "", ""},
	} {
		if got := change(tt.c); got != tt.change {
			t.Errorf("change of %v: %q, want %q", tt.c.Value, got, tt.change)
		}
		if got := bounds(tt.c); got != tt.ends {
			t.Errorf("interval of %v: %q, want %q", tt.c.Value, got, tt.ends)
		}
		if got := share(tt.c); tt.share != "" && got != tt.share {
			t.Errorf("share of %v: %q, want %q", tt.c.Value, got, tt.share)
		}
	}
}

func TestSpread(t *testing.T) {
	gbits := scale{factor: 1e9, unit: "Gbit/s"}
	for _, tt := range []struct {
		s    analysis.Summary
		want string
	}{
		{analysis.Summary{Estimate: 10e9, Interval: analysis.Interval{Low: 9e9, High: 12e9, Level: 0.95}}, "±20%"},
		{analysis.Summary{Estimate: 10e9, Interval: analysis.Interval{Low: 9e9, High: 12e9}}, "±?"},
		{analysis.Summary{Estimate: 10e9, Interval: analysis.Interval{Low: 2e9, High: 71e9, Level: 0.95}}, "2.00…71.0"},
		{analysis.Summary{Estimate: 0, Interval: analysis.Interval{Low: 0, High: 3e9, Level: 0.95}}, "0…3.00"},
		{analysis.Summary{Estimate: 1e9, Interval: analysis.Interval{Low: -1e9, High: 3e9, Level: 0.95}}, "−1.00…3.00"},
	} {
		if got := spread(gbits, tt.s); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.s, got, tt.want)
		}
	}
}

// A figure whose ratio is meaningless is shown by its difference.
func TestDifferenceIsShown(t *testing.T) {
	loss, _ := record.KindOf(record.Loss)
	sc := scaleFor(loss, 0)
	for _, tt := range []struct {
		f           analysis.Figure
		shows, ends string
	}{
		{analysis.Figure{Kind: loss, Difference: &analysis.Comparison{Minus: true, Interval: analysis.Interval{Low: 0.01, High: 0.014, Level: 0.95}, Value: 0.012, Outcome: analysis.Different}}, "+1.2\u00a0pp", "+1.0…+1.4"},
		{analysis.Figure{Kind: loss, Difference: &analysis.Comparison{Minus: true, Interval: analysis.Interval{Level: 0.95}, Outcome: analysis.Same}}, "=", "0\u00a0pp"},
		{analysis.Figure{Kind: loss, Difference: &analysis.Comparison{Minus: true, Interval: analysis.Interval{Low: -0.01, High: 0.02, Level: 0.95}, Outcome: analysis.NotKnown},
			Ratio: &analysis.Comparison{Interval: analysis.Interval{Low: 1.5, High: 3, Level: 0.95}, Value: 2, Outcome: analysis.Different}}, "?", "−1.0…+2.0\u00a0pp"},
	} {
		if shows, ends, _ := compared(sc, tt.f); shows != tt.shows || ends != tt.ends {
			t.Errorf("%+v: %q %q, want %q %q", tt.f.Difference, shows, ends, tt.shows, tt.ends)
		}
	}
}

// TestNativesTransactionsAreThoseThatAreCompared has a tool that knows the mean and the rate: networks are ranked by the rate.
func TestNativesTransactionsAreThoseThatAreCompared(t *testing.T) {
	g := group{scenarios: []analysis.Scenario{{Cell: record.Cell{Workload: record.TCPRR}}}}
	f, found := g.transaction(func(metric string) (analysis.Figure, bool) {
		return analysis.Figure{Kind: record.Kind{Name: metric}}, metric != record.LatencyP50
	})
	if !found || f.Kind.Name != record.TransactionRate {
		t.Errorf("%q, %v", f.Kind.Name, found)
	}
}

// TestSentence checks the claims of sentences against verdicts, and sizes against intervals.
func TestSentence(t *testing.T) {
	ratio := func(low, v, high float64, o, verdict analysis.Outcome) *analysis.Comparison {
		c := &analysis.Comparison{Interval: analysis.Interval{Low: low, High: high, Level: 0.95}, N: 10, Value: v, Outcome: o, Primary: true, Judged: true, Verdict: verdict}
		if o == analysis.Untested {
			c.Level = 0
		}
		return c
	}
	const different, same, unknown, untested = analysis.Different, analysis.Same, analysis.NotKnown, analysis.Untested
	kind := func(name string) record.Kind {
		k, _ := record.KindOf(name)
		return k
	}
	figure := func(name string, estimate float64, c *analysis.Comparison) analysis.Figure {
		return analysis.Figure{Kind: kind(name), Summary: analysis.Summary{N: 10, Estimate: estimate, Interval: analysis.Interval{Low: estimate, High: estimate, Level: 0.95}}, Ratio: c}
	}
	scenario := func(workload string, native, other []analysis.Figure, inUse *analysis.Comparison) analysis.Scenario {
		c := record.Cell{Hosts: 1, Family: 4, Servers: 1, Clients: 1, Workload: workload}
		n, o := c, c
		n.Network, o.Network = "host", "bridge"
		row := analysis.Row{Cell: o, Status: record.OK, Figures: other}
		if inUse != nil {
			row.InUse = &analysis.Figure{Ratio: inUse}
		}
		return analysis.Scenario{Cell: c, Rows: []analysis.Row{{Cell: n, Native: true, Status: record.OK, Figures: native}, row}}
	}
	stream := func(throughput, cpu, inUse *analysis.Comparison) analysis.Scenario {
		return scenario(record.TCPStream, []analysis.Figure{figure(record.Throughput, 20e9, nil)},
			[]analysis.Figure{figure(record.Throughput, 17e9, throughput), figure(record.CPUPerGB, 0.5, cpu)}, inUse)
	}
	rr := func(c *analysis.Comparison, low, value, high float64) analysis.Scenario {
		f := figure(record.LatencyP50, 26.1e-6, c)
		if value != 0 {
			f.Difference = &analysis.Comparison{Minus: true, Interval: analysis.Interval{Low: low, High: high, Level: 0.95}, N: 10, Value: value}
		}
		return scenario(record.TCPRR, []analysis.Figure{figure(record.LatencyP50, 20e-6, nil)}, []analysis.Figure{f}, nil)
	}
	crr := func(c *analysis.Comparison) analysis.Scenario {
		return scenario(record.TCPCRR, []analysis.Figure{figure(record.TransactionRate, 2e4, nil)}, []analysis.Figure{figure(record.TransactionRate, 2e4, c)}, nil)
	}
	counted := func(c *analysis.Comparison) analysis.Scenario { // by a tool that knows no percentiles
		s := crr(c)
		s.Cell.Workload = record.TCPRR
		for i := range s.Rows {
			s.Rows[i].Cell.Workload = record.TCPRR
		}
		return s
	}
	less := ratio(0.85, 0.87, 0.89, different, different)
	for _, tt := range []struct {
		name      string
		scenarios []analysis.Scenario
		want      string
	}{
		{"a finding each", []analysis.Scenario{stream(less, ratio(1.2, 1.4, 1.5, different, different), ratio(1.1, 1.2, 1.3, different, different)),
			rr(ratio(1.2, 1.3, 1.4, different, different), 5e-6, 8e-6, 12e-6)},
			"bridge keeps 87% (85–89%) of native throughput for 1.2–1.5× the CPU per GB; a transaction takes 5.0–12.0 µs longer."},
		{"CPU cost is throughput once more", []analysis.Scenario{stream(less, ratio(1.13, 1.15, 1.17, different, different), ratio(0.98, 1, 1.02, same, same))},
			"bridge keeps 87% (85–89%) of native throughput."},
		{"the size is not known", []analysis.Scenario{stream(ratio(0.59, 0.75, 0.97, different, different), nil, nil)}, "bridge moves 3–41% less than native."},
		{"not among so many", []analysis.Scenario{stream(ratio(0.59, 0.75, 0.97, different, unknown), nil, nil)},
			"bridge may move 3–41% less than native (not certain given 14 comparisons)."},
		{"a multiple", []analysis.Scenario{stream(ratio(2.2, 4, 7, different, different), nil, nil), rr(ratio(2.1, 2.5, 3, different, different), 0, 0, 0)},
			"bridge moves 2.2–7.0× as much as native; a transaction takes 2.1–3.0× as long."},
		{"a multiple, not among so many", []analysis.Scenario{stream(ratio(2.2, 2.3, 2.4, different, unknown), nil, nil)},
			"bridge may move 2.2–2.4× as much as native (not certain given 14 comparisons)."},
		{"the cost is a multiple", []analysis.Scenario{stream(less, ratio(1.06, 12, 90, different, different), ratio(1.1, 1.2, 1.3, different, different))},
			"bridge keeps 87% (85–89%) of native throughput for 1.1–90.0× the CPU per GB."},
		{"the same, and surely a little less", []analysis.Scenario{stream(ratio(0.97, 0.98, 0.99, same, same), nil, nil)},
			"bridge moves as much as native within 5% (−3…−1%)."},
		{"nothing is known", []analysis.Scenario{stream(ratio(0.54, 0.9, 1.11, unknown, unknown), nil, nil), rr(ratio(0.97, 1.2, 1.45, unknown, unknown), -1e-6, 5e-6, 9e-6)},
			"bridge: not known whether it moves more or less than native (−46…+11%); not known whether a transaction takes longer or shorter (−3…+45%)."},
		{"as many", []analysis.Scenario{crr(ratio(0.97, 0.98, 0.99, same, same))},
			"bridge makes as many transactions as native within 5% (−3…−1%)."},
		{"nothing is known of what is counted", []analysis.Scenario{crr(ratio(0.54, 0.9, 1.11, unknown, unknown))},
			"bridge: not known whether it makes more or fewer transactions than native (−46…+11%)."},
		{"more, for less", []analysis.Scenario{stream(ratio(1.02, 1.04, 1.06, different, different), ratio(0.91, 0.93, 0.95, different, different), ratio(0.93, 0.96, 0.98, different, different))},
			"bridge reaches 104% (102–106%) of native throughput for 5–9% less CPU per GB."},
		{"only time", []analysis.Scenario{rr(ratio(0.88, 0.9, 0.92, different, different), -2.5e-6, -2e-6, -1.5e-6)}, "bridge: a transaction takes 1.5–2.5 µs less time."},
		// The difference is not known by itself, or contradicts the ratio.
		{"no time that is known", []analysis.Scenario{rr(ratio(1.1, 1.2, 1.3, different, different), -1e-6, 5e-6, 9e-6)}, "bridge: a transaction takes 10–30% longer."},
		{"other times", []analysis.Scenario{rr(ratio(1.1, 1.2, 1.3, different, different), -3e-6, -2e-6, -1e-6)}, "bridge: a transaction takes 10–30% longer."},
		{"as long", []analysis.Scenario{rr(ratio(0.98, 1, 1.02, same, same), 0, 0, 0)}, "bridge: a transaction takes the same time within 5% (−2…+2%)."},
		{"two rounds", []analysis.Scenario{stream(ratio(2.82, 2.82, 2.82, untested, untested), nil, nil)}, "bridge has too few rounds to be compared with native."},
		{"two rounds of one of them", []analysis.Scenario{stream(less, nil, nil), rr(ratio(1.2, 1.2, 1.2, untested, untested), 0, 0, 0)},
			"bridge keeps 87% (85–89%) of native throughput; too few rounds to compare its latency."},
		{"the rate of what has no percentiles", []analysis.Scenario{stream(less, nil, nil), counted(ratio(0.79, 0.8, 0.81, different, different))},
			"bridge keeps 87% (85–89%) of native throughput; keeps 80% (79–81%) of native transaction rate."},
		{"nothing is known of that rate", []analysis.Scenario{counted(ratio(0.54, 0.9, 1.11, unknown, unknown))},
			"bridge: not known whether it makes more or fewer transactions than native (−46…+11%)."},
		{"two rounds of that rate", []analysis.Scenario{stream(less, nil, nil), counted(ratio(1.2, 1.2, 1.2, untested, untested))},
			"bridge keeps 87% (85–89%) of native throughput; too few rounds to compare its transaction rate."},
		{"no native", []analysis.Scenario{rr(nil, 0, 0, 0)}, ""},
	} {
		res := analysis.Result{Scenarios: tt.scenarios, Margin: 0.05, Level: 0.95, Multiplicity: analysis.Multiplicity{Primary: 14}}
		g := groups(res)[0]
		s, _ := g.sentence(g.lines[1])
		if got := strings.ReplaceAll(s.String(), "\u00a0", " "); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
	// A digest, too, claims neither a difference nor an order without a verdict.
	for _, tt := range []struct {
		verdict analysis.Outcome
		want    string
	}{
		{different, "Throughput: of one network, one moves less than native (bridge). The lowest is bridge (59–97% of native), behind veth."},
		{unknown, "Throughput: of one network, one is neither known to differ nor known to be the same (bridge)."},
	} {
		s := stream(ratio(0.59, 0.75, 0.97, different, tt.verdict), nil, nil)
		s.Rows[1].Figures[0].Ratio.Effect = analysis.Worse
		s.Extremes = []analysis.Extreme{{
			Kind: kind(record.Throughput), Network: s.Rows[1].Cell, Next: record.Cell{Network: "veth"}, Figure: s.Rows[1].Figures[0],
			Ratio: ratio(0.8, 0.9, 0.95, different, tt.verdict),
		}}
		digest := groups(analysis.Result{Scenarios: []analysis.Scenario{s}, Margin: 0.05, Level: 0.95})[0].digest()
		if got := record.Each(digest, statement.String); len(got) != 1 || got[0] != tt.want {
			t.Errorf("the digest is %q, want %q", got, tt.want)
		}
	}
}

// TestSweepsCount checks the words for what is counted rather than measured, at one place of a sweep.
func TestSweepsCount(t *testing.T) {
	at := analysis.Comparison{Value: 0.995, Interval: analysis.Interval{Low: 0.97, High: 1.02, Level: 0.95}}
	for want, outcome := range map[string]analysis.Outcome{
		"has as many transactions as native within 5% (−3…+2%)":                analysis.Same,
		"is not known to have more or fewer transactions than native (−3…+2%)": analysis.NotKnown,
	} {
		c := at
		c.Outcome, c.Verdict = outcome, outcome
		kind, _ := record.KindOf(record.TransactionRate)
		if got, _ := toldShare(analysis.Figure{Kind: kind, Ratio: &c}, analysis.Sweep{Cell: record.Cell{Hosts: 1}}, analysis.Result{Margin: 0.05}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSweepsTellWhereNothingArrives has a network move nothing at one place, where there is no ratio.
func TestSweepsTellWhereNothingArrives(t *testing.T) {
	kind, _ := record.KindOf(record.Throughput)
	c := analysis.Comparison{
		Minus: true, Value: -9e9, Interval: analysis.Interval{Low: -9.5e9, High: -8.5e9, Level: 0.95}, Outcome: analysis.Different,
		Verdict: analysis.Different, Effect: analysis.Worse,
	}
	const want = "has a throughput that is 8.5–9.5 Gbit/s lower than native's"
	got, certain := toldShare(analysis.Figure{Kind: kind, Difference: &c}, analysis.Sweep{Cell: record.Cell{Hosts: 1}}, analysis.Result{Margin: 0.05})
	if strings.ReplaceAll(got, "\u00a0", " ") != want || !certain {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSweepsTellEachValueThatIsNoNumber sweeps over three values: of numbers the first and the last are told, of others all. What is
// not certain is said once, after the last of several.
func TestSweepsTellEachValueThatIsNoNumber(t *testing.T) {
	kind, _ := record.KindOf(record.Throughput)
	of := func(value float64, verdict analysis.Outcome) analysis.Row {
		c := analysis.Comparison{
			Value: value, Interval: analysis.Interval{Low: value - 0.01, High: value + 0.01, Level: 0.95}, Primary: true,
			Outcome: analysis.Different, Verdict: verdict,
		}
		if verdict == analysis.Untested {
			c.Level, c.Outcome = 0, verdict
		}
		return analysis.Row{Status: record.OK, Figures: []analysis.Figure{{Kind: kind, Summary: analysis.Summary{Estimate: 1}, Ratio: &c}}}
	}
	sweep := func(numeric bool, verdicts ...analysis.Outcome) analysis.Sweep {
		s := analysis.Sweep{Cell: record.Cell{Hosts: 1, Workload: record.TCPStream}, X: analysis.Axis{Name: "x", Numeric: numeric}}
		l := analysis.Line{Network: "bridge"}
		for i, v := range verdicts {
			s.X.Ticks = append(s.X.Ticks, analysis.Tick{Label: string(rune('a' + i))})
			l.Points = append(l.Points, analysis.SweepPoint{X: i, Row: of(0.5+float64(i)/10, v)})
		}
		s.Lines = []analysis.Line{l}
		return s
	}
	res := analysis.Result{Level: 0.95, Multiplicity: analysis.Multiplicity{Primary: 14}}
	const yes, no = analysis.Different, analysis.NotKnown
	for _, tt := range []struct {
		s    analysis.Sweep
		want string
	}{
		{sweep(true, yes, yes, yes), "bridge has 49–51% of native's throughput at a, and has 69–71% of native's throughput at c."},
		{sweep(false, yes, yes, yes), "bridge has 49–51% of native's throughput at a, has 59–61% of native's throughput at b, and has 69–71% of native's throughput at c."},
		{sweep(true, yes, yes, analysis.Untested), "bridge has 49–51% of native's throughput at a, and has 59–61% of native's throughput at b."},
		{sweep(true, no, yes, no), "bridge may have 49–51% of native's throughput at a (not certain given 14 comparisons), has 59–61% of native's throughput at b, and may have 69–71% of native's throughput at c (not certain given 14 comparisons)."},
		{sweep(false, yes, yes), "bridge has 49–51% of native's throughput at a, and has 59–61% of native's throughput at b."},
		{sweep(false, no, no, yes), "bridge may have 49–51% of native's throughput at a, may have 59–61% of native's throughput at b (not certain given 14 comparisons), and has 69–71% of native's throughput at c."},
		{sweep(false, no, yes, no), "bridge may have 49–51% of native's throughput at a (not certain given 14 comparisons), has 59–61% of native's throughput at b, and may have 69–71% of native's throughput at c (not certain given 14 comparisons)."},
	} {
		if got := record.Each(sweepSummary(tt.s, res), statement.String); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if got := sweepSummary(sweep(false, yes), res); got != nil {
		t.Errorf("one value: %q", got)
	}
}

// TestCostOfSmallDatagrams checks that large costs have no exponent.
func TestCostOfSmallDatagrams(t *testing.T) {
	c := record.Cell{Hosts: 1, Family: 4, Servers: 1, Clients: 1, Workload: record.UDPStream}
	row := analysis.Row{Cell: c, Native: true, Status: record.OK}
	row.Cell.Network = "host"
	for metric, v := range map[string]float64{record.PacketRate: 3e5, record.CPUPerGB: 416} {
		kind, _ := record.KindOf(metric)
		row.Figures = append(row.Figures, analysis.Figure{Kind: kind, Summary: analysis.Summary{N: 1, Estimate: v}})
	}
	g := groups(analysis.Result{Scenarios: []analysis.Scenario{{Cell: c, Rows: []analysis.Row{row}}}})[0]
	const want = "Native (host) moves 300 kpps for 416 CPU seconds per GB."
	if s, _ := g.base(g.lines[0]); strings.ReplaceAll(s.String(), "\u00a0", " ") != want {
		t.Errorf("%q, want %q", s.String(), want)
	}
}

// TestSmallMachine describes a machine with one CPU and little memory.
func TestSmallMachine(t *testing.T) {
	power := &record.Power{FrequencyDriver: "acpi-cpufreq", Governors: []string{"ondemand"}, Boost: new(false), IdleDriver: "acpi_idle", IdleGovernor: "menu"}
	if got := machine(record.Machine{OS: "Debian", Power: power}); got != "Debian, cpufreq acpi-cpufreq ondemand, boost off, cpuidle acpi_idle menu, not root" {
		t.Error(got)
	}
	if got := machine(record.Machine{CPUs: make([]record.CPU, 1), CPUModel: "Atom", MemoryB: 480 << 20}); got != "1 CPU Atom, 480 MiB" {
		t.Error(got)
	}
}

// TestLevelIsNotRounded checks that intervals of a high level are not called certain.
func TestLevelIsNotRounded(t *testing.T) {
	for level, want := range map[float64]string{0.95: "95%", 0.999: "99.9%", 0.99999: "99.999%"} {
		if got := legend(analysis.Result{Level: level, Margin: 0.05, Scenarios: make([]analysis.Scenario, 1)}, false); !strings.Contains(got, " "+want+" intervals") {
			t.Errorf("%v: %s", level, got)
		}
	}
}

// TestWhereSoftirqLimits checks that the CPU of a limit is named with its machine if there are several.
func TestWhereSoftirqLimits(t *testing.T) {
	for end, want := range map[string]string{
		"":                     "the kernel's work on packets (softirq) on CPU 3",
		analysis.LimitReceiver: "the kernel's work on packets (softirq) on CPU 3 of the receiver's machine",
	} {
		if got := limitWords(analysis.Limit{By: analysis.LimitSoftirq, CPU: 3, End: end}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := limitWords(analysis.Limit{By: analysis.LimitSender, Softirq: 0.003}); got != "the sender's CPU (1% of it softirq)" {
		t.Errorf("of little softirq: %q", got)
	}
}

// The difference that counts as none is written exactly as requested, wherever it appears.
func TestMarginAsItIs(t *testing.T) {
	within := regexp.MustCompile(`within (\d\S*%)`)
	for margin, want := range map[float64]string{0.025: "2.5%", 0.005: "0.5%", 0.07: "7%"} {
		for _, file := range []*record.File{specimenFile(), manyFile()} {
			file.Run.Settings.EqualWithin = margin
			res := analysis.Analyze(file)
			for _, format := range []string{"text", "md", "html", "json"} {
				got := write(t, format, res, Options{Trials: file.Trials})
				all := within.FindAllStringSubmatch(got, -1)
				if len(all) == 0 && format != "json" {
					t.Errorf("%s does not say the margin", format)
				}
				for _, m := range all {
					if m[1] != want {
						t.Errorf("%s says %s of a margin of %v", format, m[1], margin)
					}
				}
			}
		}
	}
}

// TestPlaceOf names the machine of an end that may be on another one than nettoll.
func TestPlaceOf(t *testing.T) {
	far := &record.Machine{OS: "Debian GNU/Linux 13", Kernel: "6.12.0", Arch: "arm64", CPUs: make([]record.CPU, 4), CPUModel: "Neoverse-N1", Root: true}
	for want, e := range map[string]record.Endpoint{
		"":            {Host: "h1"},
		"Docker 29.1": {Platform: "Docker 29.1"},
		"ssh a: Debian GNU/Linux 13, kernel 6.12.0 arm64, 4 CPUs Neoverse-N1, network card eth0 (ena, 25 Gbit/s, four receive queues)": {
			Platform: "ssh a", Machine: far, NIC: &record.NIC{Device: "eth0", Driver: "ena", Speed: 25000, Receive: 4},
		},
		"machine 2: Debian GNU/Linux 13, kernel 6.12.0 arm64, 4 CPUs Neoverse-N1": {Host: "machine 2", Machine: far},
		"ssh a: Debian GNU/Linux 13, kernel 6.12.0 arm64, 4 CPUs Neoverse-N1, network card eth0": {
			Platform: "ssh a", Machine: far, NIC: &record.NIC{Device: "eth0"},
		},
		"node a: Debian GNU/Linux 13, kernel 6.12.0 arm64, 4 CPUs Neoverse-N1, its pod has requests and limits cpu 4 and memory 1Gi, and CPUs of its own": {
			Platform: "node a", Machine: far, Resources: &record.Resources{
				Requests: map[string]string{"cpu": "4", "memory": "1Gi"}, Limits: map[string]string{"cpu": "4", "memory": "1Gi"},
			},
		},
		"node b: Debian GNU/Linux 13, kernel 6.12.0 arm64, 4 CPUs Neoverse-N1, its pod has requests cpu 2, limits cpu 4": {
			Platform: "node b", Machine: far, Resources: &record.Resources{Requests: map[string]string{"cpu": "2"}, Limits: map[string]string{"cpu": "4"}},
		},
		"node c: Debian GNU/Linux 13, kernel 6.12.0 arm64, 4 CPUs Neoverse-N1, its pod has requests cpu 500m, no limits": {
			Platform: "node c", Machine: far, Resources: &record.Resources{Requests: map[string]string{"cpu": "500m"}},
		},
	} {
		if got := placeOf(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRounds checks that a report says how many networks could stand at once, but only of runs in turns.
func TestRounds(t *testing.T) {
	res := analysis.Result{Rounds: 7}
	res.Limits = record.Settings{Duration: 0.24, Turns: true}
	for together, want := range map[int]string{
		0: "7 complete rounds, at least 0.24 s per trial, in turns where traffic can pause between them.",
		1: "7 complete rounds, at least 0.24 s per trial, in turns where traffic can pause between them, at most one network at once beside the baseline.",
		3: "7 complete rounds, at least 0.24 s per trial, in turns where traffic can pause between them, at most three networks at once beside the baseline.",
	} {
		if res.Limits.Together = together; rounds(res) != want {
			t.Errorf("%d together: %q", together, rounds(res))
		}
	}
	res.Limits.Duration = 1234
	if got := rounds(res); !strings.Contains(got, ", at least 1234 s per trial") {
		t.Errorf("of long trials: %q", got)
	}
	if res.Limits.Turns = false; strings.Contains(rounds(res), "at once") {
		t.Errorf("without turns: %q", rounds(res))
	}
}

// TestValuesLieWithinTheirIntervals: as they are shown, values are not outside of their own intervals.
func TestValuesLieWithinTheirIntervals(t *testing.T) {
	number := regexp.MustCompile(`[+−]?\d+(?:\.\d+)?`)
	check := func(value, ends string) {
		t.Helper()
		var all []float64
		for _, text := range append(number.FindAllString(value, -1), number.FindAllString(ends, -1)...) {
			v, err := strconv.ParseFloat(strings.NewReplacer("−", "-", "+", "").Replace(text), 64)
			iferr.Fatal(t, err)
			all = append(all, v)
		}
		if v, low, high := all[0], all[1], all[len(all)-1]; v < low || v > high {
			t.Errorf("%s is outside of %s", value, ends)
		}
	}
	for _, value := range []float64{0.004, 0.0996, 0.34, 0.9644, 0.9655, 1.0351, 1.35, 1.96, 2.04, 2.66, 9.96, 10.4, 13.6} {
		for _, width := range []float64{0.00001, 0.0001, 0.0004, 0.001, 0.004, 0.01, 0.03, 0.2} {
			c := analysis.Comparison{Value: value, Interval: analysis.Interval{Low: value * (1 - width), High: value * (1 + width), Level: 0.95}, Outcome: analysis.Different}
			check(change(c), bounds(c))
			beside := shareCell(c)
			check(beside.Value, beside.Spread)
		}
	}
}

// A unit that suits a baseline that moved nothing does not suit the others.
func TestUnitBesideZero(t *testing.T) {
	g := group{lines: []line{}}
	k, _ := record.KindOf(record.Throughput)
	for _, v := range []float64{0, 4e10} {
		g.lines = append(g.lines, line{rows: []*analysis.Row{{Figures: []analysis.Figure{{Kind: k, Summary: analysis.Summary{Estimate: v}}}}}})
	}
	if got := g.reference(column{kind: k}); got != 4e10 {
		t.Errorf("%v", got)
	}
}

// What limits one network is not said of all.
func TestCommonLimit(t *testing.T) {
	k, _ := record.KindOf(record.Throughput)
	ran := analysis.Row{Status: record.OK, Limit: analysis.Limit{By: analysis.LimitSender}, Figures: []analysis.Figure{{Kind: k}}}
	received := ran
	received.Limit.By = analysis.LimitReceiver
	for _, tt := range []struct {
		other analysis.Row
		want  string
	}{{ran, "the sender's CPU"}, {received, ""}, {analysis.Row{Status: record.Failed}, ""}} {
		g := group{scenarios: []analysis.Scenario{{Cell: record.Cell{Workload: record.TCPStream}}}, lines: []line{{rows: []*analysis.Row{&ran}}, {rows: []*analysis.Row{&tt.other}}}}
		if got := g.commonLimit(); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.other.Status, tt.other.Limit.By, got, tt.want)
		}
	}
}

// A cell that was planned and not tried says so where its figures would be.
func TestNotTried(t *testing.T) {
	if got := absentText(&analysis.Row{}); got != "not tried" {
		t.Errorf("%q", got)
	}
}

// TestIntervalsKeepTheirSide: what excludes no difference, or an edge of what counts as the same, is not written as if it held it.
func TestIntervalsKeepTheirSide(t *testing.T) {
	of := func(value, low, high float64) analysis.Comparison {
		return analysis.Comparison{Value: value, Interval: analysis.Interval{Low: low, High: high, Level: 0.95}, Outcome: analysis.Different}
	}
	for _, c := range []struct{ got, want string }{
		{shareRange(of(0.94, 0.882, 0.995)), "88.2–99.5%"},
		{shareRange(of(0.94, 0.882, 0.9997)), "88.20–99.97%"},
		{shareRange(of(0.99, 0.98, 1.004)), "98–100%"},
		{share(of(1.03, 1.002, 1.06)), "103.0% (100.2–106.0%)"},
		{shareCell(of(1.026, 1.004, 1.048), 0.95, 1.05).Spread, "100.4–104.8%"},
		{shareCell(of(1.03, 0.99, 1.052), 0.95, 1.05).Spread, "99.0–105.2%"},
		{between(0.0004, 3.2, 5), "0.0004–3.2"},
		{change(of(0.0004, 0.0003, 0.0005)), "−99.96%"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
