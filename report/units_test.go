package report

import (
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
		c         analysis.Comparison
		want, pm  string
		wantShare string
	}{
		{analysis.Comparison{Level: 0.95, Ratio: 0.87, Low: 0.85, High: 0.88, Verdict: analysis.Worse}, "−13%", "±2%", "87% ± 2%"},
		{analysis.Comparison{Level: 0.95, Ratio: 1.41, Low: 1.38, High: 1.44, Verdict: analysis.Worse}, "+41%", "±3%", "141% ± 3%"},
		{analysis.Comparison{Level: 0.95, Ratio: 0.93, Low: 0.67, High: 0.99, Verdict: analysis.Worse}, "−7%", "−26%/+6%", "67% to 99%"},
		{analysis.Comparison{Level: 0.95, Ratio: 0.998, Low: 0.97, High: 1.02}, "~", "±3%", "100% ± 3%"},
		{analysis.Comparison{Level: 0.95, Ratio: 1.006, Low: 1.002, High: 1.01, Verdict: analysis.Better}, "+0.6%", "±0.4%", "100.6% ± 0.4%"},
		{analysis.Comparison{Level: 0.95, Ratio: 0.0148, Low: 0.0138, High: 0.0158, Verdict: analysis.Worse}, "−98.5%", "±0.1%", "1.5% ± 0.1%"},
		{analysis.Comparison{Level: 0.95, Ratio: 27.3, Low: 25.2, High: 29.4, Verdict: analysis.Worse}, "27×", "±8%", ""},
	} {
		if got := change(tt.c); got != tt.want {
			t.Errorf("change of %v: %q, want %q", tt.c.Ratio, got, tt.want)
		}
		if got := changePlusMinus(tt.c); got != tt.pm {
			t.Errorf("interval of %v: %q, want %q", tt.c.Ratio, got, tt.pm)
		}
		if got := share(tt.c); tt.wantShare != "" && got != tt.wantShare {
			t.Errorf("share of %v: %q, want %q", tt.c.Ratio, got, tt.wantShare)
		}
	}
}

func TestSentence(t *testing.T) {
	ratio := func(r float64, v analysis.Verdict) *analysis.Comparison {
		return &analysis.Comparison{Level: 0.95, N: 10, Ratio: r, Low: r - 0.02, High: r + 0.02, Verdict: v}
	}
	kind := func(name string) record.Kind {
		k, _ := record.KindOf(name)
		return k
	}
	figure := func(name string, median float64, c *analysis.Comparison) analysis.Figure {
		return analysis.Figure{Kind: kind(name), Summary: analysis.Summary{N: 10, Median: median, Low: median, High: median, Level: 0.95}, Ratio: c}
	}
	scenario := func(workload string, native, other []analysis.Figure) analysis.Scenario {
		c := record.Cell{Hosts: 1, Family: 4, Servers: 1, Clients: 1, Workload: workload}
		n, o := c, c
		n.Network, o.Network = "host", "bridge"
		return analysis.Scenario{Cell: c, Rows: []analysis.Row{
			{Cell: n, Native: true, Status: record.OK, Figures: native}, {Cell: o, Status: record.OK, Figures: other}}}
	}
	stream := func(throughput, cpu *analysis.Comparison) analysis.Scenario {
		return scenario(record.TCPStream, []analysis.Figure{figure(record.Throughput, 20e9, nil)},
			[]analysis.Figure{figure(record.Throughput, 17e9, throughput), figure(record.CPUPerGB, 0.5, cpu)})
	}
	rr := func(c *analysis.Comparison) analysis.Scenario {
		return scenario(record.TCPRR, []analysis.Figure{figure(record.LatencyP50, 20e-6, nil)}, []analysis.Figure{figure(record.LatencyP50, 26.1e-6, c)})
	}
	const same = analysis.Indistinguishable
	for _, tt := range []struct {
		scenarios []analysis.Scenario
		want      string
	}{
		{[]analysis.Scenario{stream(ratio(0.87, analysis.Worse), ratio(1.4, analysis.Worse)), rr(ratio(1.305, analysis.Worse))},
			"keeps 87% ± 2% of native throughput and costs 1.4× the CPU per GB; a transaction takes 6.1 µs longer."},
		{[]analysis.Scenario{stream(ratio(0.87, analysis.Worse), ratio(1.01, same))},
			"keeps 87% ± 2% of native throughput and cannot be told from native in CPU per GB."},
		{[]analysis.Scenario{stream(ratio(1.01, same), ratio(1.01, same))},
			"cannot be told from native in throughput (±2%) or CPU per GB."},
		{[]analysis.Scenario{stream(ratio(1.04, analysis.Better), ratio(0.93, analysis.Better))},
			"reaches 104% ± 2% of native throughput and costs 7% less CPU per GB."},
		{[]analysis.Scenario{rr(ratio(0.9, analysis.Better))}, "takes 2.0 µs shorter for a transaction."},
		{[]analysis.Scenario{rr(ratio(1, same))}, "takes as long for a transaction, as far as can be told (±2%)."},
		{[]analysis.Scenario{rr(nil)}, ""},
	} {
		g := groups(analysis.Result{Scenarios: tt.scenarios})[0]
		if got := strings.ReplaceAll(g.sentence(g.lines[1]), "\u00a0", " "); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}
