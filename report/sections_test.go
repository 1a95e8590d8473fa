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

// TestTailsOfClosedLoopsAreCalledSo holds that no format prints the p99 of transactions that
// follow each other without saying so, and that those of an open loop are not called closed.
func TestTailsOfClosedLoopsAreCalledSo(t *testing.T) {
	res, o := specimenResult()
	o.Width = 160
	for format, want := range map[string][]string{
		"text": {"closed p99 ", "p99 by time", loopRemark[:60]},
		"md":   {"latency p99, closed loop,", "latency p99 by time,", loopRemark},
		"html": {"latency p99, closed loop", "latency p99 by time", loopRemark[:60]},
	} {
		got := write(t, format, res, o)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s does not say %q", format, w)
			}
		}
		open, o := specimenResult()
		o.Width = 160
		for _, s := range open.Scenarios {
			for i := range s.Rows {
				s.Rows[i].Cell.Workload = paced(s.Rows[i].Cell.Workload)
			}
		}
		for i := range open.Scenarios {
			open.Scenarios[i].Cell.Workload = paced(open.Scenarios[i].Cell.Workload)
		}
		if got := write(t, format, open, o); strings.Contains(got, "closed") || !strings.Contains(got, "p99") {
			t.Errorf("%s calls an open loop closed", format)
		}
	}
}

func paced(workload string) string {
	if workload == record.TCPRR {
		return record.PacedRR
	}
	return workload
}

// TestPercentilesHaveOneName holds that what is merged over trials is called so, beside the
// percentiles of trials.
func TestPercentilesHaveOneName(t *testing.T) {
	res, o := specimenResult()
	var got struct {
		Scenarios []struct {
			Networks []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(write(t, "json", res, o)), &got); err != nil {
		t.Fatal(err)
	}
	merged := 0
	for _, s := range got.Scenarios {
		for _, n := range s.Networks {
			if n["latency"] != nil {
				t.Error("the merged distribution is called latency")
			}
			if n["merged_latency"] != nil {
				merged++
			}
			if names := string(n["metrics"]); strings.Count(names, `"latency_p99"`) > 1 {
				t.Errorf("two values of latency_p99: %s", names)
			}
		}
	}
	if merged == 0 {
		t.Error("no merged distribution")
	}
}

func TestCongestionControlInUseIsShown(t *testing.T) {
	g := groups(analysis.Result{Scenarios: []analysis.Scenario{{
		Cell: record.Cell{Hosts: 1, Workload: record.TCPStream, Tool: "engine"},
		Rows: []analysis.Row{
			{Flows: []record.Flow{{Bytes: 1, TCP: &record.TCPInfo{Congestion: "cubic"}}, {Bytes: 1}}},
			{Flows: []record.Flow{{Bytes: 1, TCP: &record.TCPInfo{Congestion: "bbr"}}, {Bytes: 1, TCP: &record.TCPInfo{Congestion: "cubic"}}}},
			{Flows: []record.Flow{{Transactions: 1, TCP: &record.TCPInfo{Congestion: "reno"}}}},
		},
	}}})[0]
	if got, want := g.measuredWith(), "tcp_stream by engine; congestion control in use: bbr, cubic"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEndsTellTheCongestionControlInUse holds that the machine's own is not taken for the one in use.
func TestEndsTellTheCongestionControlInUse(t *testing.T) {
	for _, tt := range []struct {
		used []string
		own  string
		want string
	}{
		{[]string{"cubic"}, "bbr", "congestion control in use: cubic (the machine's own is bbr)"},
		{[]string{"bbr", "cubic"}, "bbr", "congestion control in use: bbr, cubic (the machine's own is bbr)"},
		{[]string{"bbr"}, "bbr", "congestion control in use: bbr"},
		{nil, "bbr", "tcp_congestion_control bbr"},
	} {
		e := record.Endpoint{Sysctls: map[string]string{"net.ipv4.tcp_congestion_control": tt.own}}
		if got := newEndpoint("host", e, e, tt.used).Parameters; len(got) != 1 || got[0].Text != tt.want {
			t.Errorf("%q in use, the machine's own is %q: %+v", tt.used, tt.own, got)
		}
	}
}

// TestMethodTellsTurns holds that a page explains the rounds that its run had.
func TestMethodTellsTurns(t *testing.T) {
	for _, tt := range []struct {
		turns      bool
		says, lies string
	}{
		{false, "measures each network once", "take turns"},
		{true, "take turns of some hundredths of a second", "each network once"},
	} {
		res, _ := specimenResult()
		res.Limits.Turns = tt.turns
		if got := method(res)[0]; !strings.Contains(got, tt.says) || strings.Contains(got, tt.lies) || !strings.Contains(got, "of its own round") {
			t.Errorf("turns %v: %s", tt.turns, got)
		}
	}
}

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
