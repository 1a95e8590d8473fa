package report

import (
	"encoding/json"
	unescaping "html"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/reference"
)

// TestNetworksThatTookLongToFallSilent: it is told where it matters, in every format that has
// room for it.
func TestNetworksThatTookLongToFallSilent(t *testing.T) {
	calm := analysis.Settling{Cell: record.Cell{Network: "veth", Hosts: 1, Servers: 1, Clients: 1}, Built: 6, Silent: 6}
	slow := analysis.Settling{
		Cell: record.Cell{Network: "docker:bridge", Hosts: 1, Servers: 1, Clients: 1, Neighbours: 1000}, Built: 6, Silent: 6,
		Wait: analysis.Spread{Median: 3.21, Max: 4.5}, CPU: analysis.Spread{Median: 2.5, Max: 3}, Packets: analysis.Spread{Median: 1_234_567, Max: 2_000_000},
	}
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
			"docker:bridge, 1,000 idle neighbours fell silent 3.21 s after it had been built (median of 6); until then the machine used 2.5 CPU seconds beyond its idle ones, and 1,234,567 packets crossed the network's devices (medians).",
		}},
		{[]analysis.Settling{never}, []string{"docker:bridge was built six times and did not fall silent one time, for up to 30 s; until then"}},
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
		var got struct{ Settlings []jsonSettling }
		if err := json.Unmarshal([]byte(write(t, "json", res, o)), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Settlings) != len(c.settlings) || got.Settlings[0].Network != c.settlings[0].Cell.Network || got.Settlings[0].Wait.Max != c.settlings[0].Wait.Max {
			t.Errorf("%+v", got.Settlings)
		}
	}
}

// TestConclusions holds the words to what the figures say.
func TestConclusions(t *testing.T) {
	for _, tt := range []struct {
		outcome, published analysis.Judgement
		text, want         string
	}{
		{analysis.Holds, analysis.Holds, "holds here: in 5 of 6 cells", "Holds here: “ovs is fastest”: in 5 of 6 cells."},
		{analysis.DoesNotHold, analysis.Holds, "does not hold here: in 1 of 6 cells.", "Does not hold here: “ovs is fastest”: in 1 of 6 cells."},
		{analysis.CannotTell, analysis.DoesNotHold, "", "Cannot be told here: “ovs is fastest”. The figures of the source itself do not show it."},
		{analysis.NotMeasurable, analysis.NotMeasurable, "this is advice", "No measurement can tell: “ovs is fastest”: this is advice."},
	} {
		c := analysis.CheckedConclusion{Conclusion: reference.Conclusion{Text: "ovs is fastest."}, Published: tt.published, Measured: tt.outcome, Text: tt.text}
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

// TestFewPairsSayNothing keeps a correlation of one pair from being called exact.
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
