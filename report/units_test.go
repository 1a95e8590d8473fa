package report

import (
	"regexp"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

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
		{analysis.Summary{Estimate: 1e9, Interval: analysis.Interval{Low: -1e9, High: 3e9, Level: 0.95}}, "-1.00…3.00"},
	} {
		if got := spread(gbits, tt.s); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.s, got, tt.want)
		}
	}
}

// A figure of which a ratio says nothing is shown by its difference.
func TestDifferenceIsShown(t *testing.T) {
	loss, _ := record.KindOf(record.Loss)
	sc := scaleFor(loss, 0)
	for _, tt := range []struct {
		f           analysis.Figure
		shows, ends string
	}{
		{analysis.Figure{Kind: loss, Difference: &analysis.Comparison{Minus: true, Interval: analysis.Interval{Low: 0.01, High: 0.014, Level: 0.95}, Value: 0.012, Outcome: analysis.Different}}, "+1.2", "+1.0…+1.4 pp"},
		{analysis.Figure{Kind: loss, Difference: &analysis.Comparison{Minus: true, Interval: analysis.Interval{Level: 0.95}, Outcome: analysis.Same}}, "=", "0 pp"},
		{analysis.Figure{Kind: loss, Difference: &analysis.Comparison{Minus: true, Interval: analysis.Interval{Low: -0.01, High: 0.02, Level: 0.95}, Outcome: analysis.NotKnown},
			Ratio: &analysis.Comparison{Interval: analysis.Interval{Low: 1.5, High: 3, Level: 0.95}, Value: 2, Outcome: analysis.Different}}, "?", "−1.0…+2.0 pp"},
	} {
		if shows, ends, _ := compared(sc, tt.f); shows != tt.shows || ends != tt.ends {
			t.Errorf("%+v: %q %q, want %q %q", tt.f.Difference, shows, ends, tt.shows, tt.ends)
		}
	}
}

// TestSentence holds what sentences claim to verdicts, and sizes to intervals.
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
			"bridge may move 3–41% less than native (not certain among 14 comparisons)."},
		{"the same, and surely a little less", []analysis.Scenario{stream(ratio(0.97, 0.98, 0.99, same, same), nil, nil)},
			"bridge moves as much as native within 5% (−3…−1%)."},
		{"nothing is known", []analysis.Scenario{stream(ratio(0.54, 0.9, 1.11, unknown, unknown), nil, nil), rr(ratio(0.97, 1.2, 1.45, unknown, unknown), -1e-6, 5e-6, 9e-6)},
			"bridge: not known whether it moves more or less than native (−46…+11%); not known whether a transaction takes longer or shorter (−3…+45%)."},
		{"more, for less", []analysis.Scenario{stream(ratio(1.02, 1.04, 1.06, different, different), ratio(0.91, 0.93, 0.95, different, different), ratio(0.93, 0.96, 0.98, different, different))},
			"bridge reaches 104% (102–106%) of native throughput for 5–9% less CPU per GB."},
		{"only time", []analysis.Scenario{rr(ratio(0.88, 0.9, 0.92, different, different), -2.5e-6, -2e-6, -1.5e-6)}, "bridge: a transaction takes 1.5–2.5 µs shorter."},
		{"as long", []analysis.Scenario{rr(ratio(0.98, 1, 1.02, same, same), 0, 0, 0)}, "bridge: a transaction takes as long within 5% (−2…+2%)."},
		{"two rounds", []analysis.Scenario{stream(ratio(2.82, 2.82, 2.82, untested, untested), nil, nil)}, "bridge has too few rounds to be compared with native."},
		{"two rounds of one of them", []analysis.Scenario{stream(less, nil, nil), rr(ratio(1.2, 1.2, 1.2, untested, untested), 0, 0, 0)},
			"bridge keeps 87% (85–89%) of native throughput; too few rounds to compare its latency."},
		{"no native", []analysis.Scenario{rr(nil, 0, 0, 0)}, ""},
	} {
		res := analysis.Result{Scenarios: tt.scenarios, Margin: 0.05, Level: 0.95, Multiplicity: analysis.Multiplicity{Primary: 14}}
		g := groups(res)[0]
		s, _ := g.sentence(g.lines[1])
		if got := strings.ReplaceAll(s.String(), "\u00a0", " "); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// The difference that counts as none is written as it was asked for, wherever it stands.
func TestMarginAsItIs(t *testing.T) {
	within := regexp.MustCompile(`within (\d\S*%)`)
	for margin, want := range map[float64]string{0.025: "2.5%", 0.005: "0.5%", 0.07: "7%"} {
		for _, file := range []*record.File{specimenFile(), manyFile()} {
			file.Run.Settings.EqualWithin = margin
			for _, format := range []string{"text", "md", "html", "json"} {
				got := write(t, format, analysis.Analyze(file), Options{Trials: file.Trials})
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
