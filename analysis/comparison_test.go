package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nettoll/record"
)

func pairsOf(ratios ...float64) []pair {
	out := make([]pair, len(ratios))
	for i, r := range ratios {
		out[i] = pair{i + 1, 1000 * r, 1000}
	}
	return out
}

func TestCompare(t *testing.T) {
	lower := pairsOf(0.80, 0.81, 0.79, 0.82, 0.78, 0.80)
	higher := pairsOf(1.25, 1.24, 1.26, 1.23, 1.27, 1.25)
	for _, tt := range []struct {
		name   string
		pairs  []pair
		better record.Direction
		want   Effect
		level  bool
	}{
		{"less throughput", lower, record.HigherIsBetter, Worse, true},
		{"more throughput", higher, record.HigherIsBetter, Better, true},
		{"less latency", lower, record.LowerIsBetter, Better, true},
		{"more latency", higher, record.LowerIsBetter, Worse, true},
		{"five rounds", lower[:5], record.HigherIsBetter, "", false},
		{"one round", lower[:1], record.HigherIsBetter, "", false},
		{"both ways", pairsOf(0.9, 1.1, 0.95, 1.05, 1.02, 0.97), record.HigherIsBetter, "", true},
		{"equal", pairsOf(1, 1, 1, 1, 1, 1), record.HigherIsBetter, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := compare(tt.pairs, tt.better, at95)
			if c.Effect != tt.want || (c.Level > 0) != tt.level || c.N != len(tt.pairs) {
				t.Errorf("got %+v, want effect %q", c, tt.want)
			}
			if c.Low > c.Value || c.Value > c.High {
				t.Errorf("ratio %v is outside of %v to %v", c.Value, c.Low, c.High)
			}
		})
	}
}

func TestCompareEstimate(t *testing.T) {
	c := compare(pairsOf(0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 4), record.HigherIsBetter, at95)
	if math.Abs(c.Value-0.5) > 1e-12 {
		t.Errorf("one wild pair moves the ratio from 0.5 to %v", c.Value)
	}
}

func TestCompareImpossible(t *testing.T) {
	for name, pairs := range map[string][]pair{
		"no pair":          nil,
		"zero of the cell": {{1, 0, 5}, {2, 5, 5}},
		"zero of native":   {{1, 5, 0}, {2, 5, 5}},
		"both zero":        {{1, 0, 0}},
		"too large":        {{1, math.MaxFloat64, math.SmallestNonzeroFloat64}},
		"too small":        {{1, math.SmallestNonzeroFloat64, math.MaxFloat64}},
	} {
		if c := compare(pairs, record.HigherIsBetter, at95); c != nil {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// Whatever the ties, outcome, p-value and interval agree.
func TestOutcomeAgreesWithInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	outcomes := map[Outcome]int{}
	for range 20000 {
		pairs := make([]pair, 1+r.IntN(12))
		centre := 98 + r.IntN(5)
		for i := range pairs {
			pairs[i] = pair{i, float64(centre - 4 + r.IntN(9)), 100}
		}
		c := compare(pairs, record.HigherIsBetter, at95)
		outcomes[c.Outcome]++
		holdsOne := c.Low <= 1 && 1 <= c.High
		within := 0.95 <= c.Low && c.High <= 1.05
		switch {
		case (c.Level == 0) != (c.Outcome == Untested),
			c.Level > 0 && (c.P < 0.05) == holdsOne,
			c.Level > 0 && within != (c.Outcome == Same),
			c.Outcome == Different && holdsOne, c.Outcome == NotKnown && !holdsOne,
			(c.Effect != "") != (c.Outcome == Different),
			c.Effect == Better && c.Value <= 1, c.Effect == Worse && c.Value >= 1:
			t.Fatalf("%+v contradicts itself; pairs %v", c, pairs)
		}
	}
	for _, o := range []Outcome{Untested, NotKnown, Same, Different} {
		if outcomes[o] < 100 {
			t.Errorf("%v came up only %d times", o, outcomes[o])
		}
	}
}

func TestPairUp(t *testing.T) {
	got := pairUp([]Point{{1, 10}, {2, 20}, {4, 40}, {5, 50}}, []Point{{2, 2}, {3, 3}, {5, 5}, {6, 6}})
	if len(got) != 2 || got[0] != (pair{2, 20, 2}) || got[1] != (pair{5, 50, 5}) {
		t.Errorf("got %v", got)
	}
}

// Three outcomes, and a fourth where nothing was tested. An interval within the margin is
// Same, even if it excludes 1; one that reaches beyond is not, even if the test finds nothing.
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pairs  []pair
		margin float64
		want   Outcome
		effect Effect
	}{
		{"a little less, surely", pairsOf(0.98, 0.97, 0.98, 0.97, 0.98, 0.97), 0.05, Same, ""},
		{"more than the margin", pairsOf(0.98, 0.97, 0.98, 0.97, 0.98, 0.97), 0.02, Different, Worse},
		{"a little more than the margin", pairsOf(1.051, 1.052, 1.051, 1.052, 1.051, 1.052), 0.05, Different, Better},
		{"about 1, narrow", pairsOf(0.99, 1.01, 0.98, 1.02, 1, 1.01), 0.05, Same, ""},
		{"about 1, wide", pairsOf(0.8, 1.2, 0.9, 1.3, 1, 0.7), 0.05, NotKnown, ""},
		{"about 1, wide, and a wide margin", pairsOf(0.8, 1.2, 0.9, 1.3, 1, 0.7), 0.4, Same, ""},
		{"reaches into the margin", pairsOf(0.94, 0.96, 0.93, 0.97, 0.92, 0.95), 0.05, Different, Worse},
		{"reaches out of the margin, and holds 1", pairsOf(0.94, 1.01, 0.93, 1.02, 0.97, 1), 0.05, NotKnown, ""},
		{"equal in five rounds", pairsOf(1, 1, 1, 1, 1), 0.05, Untested, ""},
		{"half in five rounds", pairsOf(0.5, 0.5, 0.5, 0.5, 0.5), 0.05, Untested, ""},
	} {
		c := compare(tt.pairs, record.HigherIsBetter, judging{0.95, tt.margin})
		if c.Outcome != tt.want || c.Effect != tt.effect {
			t.Errorf("%s: %v %q, want %v %q: %+v", tt.name, c.Outcome, c.Effect, tt.want, tt.effect, c)
		}
	}
}

// The size of a difference is given only if it is known to within half of itself.
func TestDoubtful(t *testing.T) {
	for _, tt := range []struct {
		c    Comparison
		none float64
		want bool
	}{
		{Comparison{Value: 0.75, Interval: Interval{Low: 0.59, High: 0.97}}, 1, true},
		{Comparison{Value: 0.75, Interval: Interval{Low: 0.70, High: 0.80}}, 1, false},
		{Comparison{Value: 1.3, Interval: Interval{Low: 1.2, High: 1.5}}, 1, true},
		{Comparison{Value: 8e-6, Interval: Interval{Low: 5e-6, High: 11e-6}}, 0, false},
		{Comparison{Value: 8e-6, Interval: Interval{Low: 3e-6, High: 12e-6}}, 0, true},
	} {
		if got := tt.c.Doubtful(tt.none); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.c, got, tt.want)
		}
	}
}

func TestSubtract(t *testing.T) {
	of := func(native float64, cells ...float64) []pair {
		var out []pair
		for i, v := range cells {
			out = append(out, pair{i + 1, v, native})
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		pairs []pair
		want  Outcome
		value float64
	}{
		{"nothing against nothing", of(0, 0, 0, 0, 0, 0, 0), Same, 0},
		{"loss", of(0, 0.1, 0.11, 0.09, 0.1, 0.12, 0.08), Different, 0.1},
		{"less loss", of(0.2, 0.1, 0.11, 0.09, 0.1, 0.12, 0.08), Different, -0.1},
		{"now and then", of(0, 0, 0.1, 0, 0, 0, 0), NotKnown, 0},
		{"a little more of much", of(0.2, 0.201, 0.202, 0.201, 0.203, 0.202, 0.201), Same, 0.0015},
		{"a little less, below 0", of(-0.2, -0.201, -0.202, -0.201, -0.203, -0.202, -0.201), Same, -0.0015},
		{"too few", of(0, 1, 1, 1), Untested, 1},
	} {
		d := subtract(tt.pairs, record.LowerIsBetter, at95)
		if d == nil || d.Outcome != tt.want || math.Abs(d.Value-tt.value) > 1e-9 || d.N != len(tt.pairs) {
			t.Errorf("%s: %+v, want %v and %v", tt.name, d, tt.want, tt.value)
		}
	}
	if d := subtract(of(-math.MaxFloat64, math.MaxFloat64), record.LowerIsBetter, at95); d != nil {
		t.Errorf("beyond the range of numbers is %+v", d)
	}
	if subtract(nil, record.LowerIsBetter, at95) != nil {
		t.Error("no pair has a difference")
	}
}

// The longest latency of a longer window is longer, it has more retransmits, and its tail, if few transactions decide it, is longer:
// they are compared only if the windows are alike. A median is compared in any case, and so is a tail of many transactions.
func TestUnlikeWindows(t *testing.T) {
	for _, tt := range []struct {
		window float64 // of the baseline; that of the network is 1 s
		alike  int     // rounds in which that of the baseline is 1 s, too: networks that are known take no more turns
		count  int64   // transactions of the network
		byTime float64 // p99 by time
		want   map[string]bool
	}{
		{1, 0, 900, 2e-3, map[string]bool{record.LatencyMax: true, record.Fairness: true, record.Retransmits: true, record.LatencyP99: true, record.LatencyP99ByTime: true}},
		{3, 0, 900, 2e-3, map[string]bool{record.LatencyMax: false, record.Fairness: false, record.Retransmits: false, record.LatencyP99: false, record.LatencyP99ByTime: false}},
		{3, 0, 50_000, 2e-3, map[string]bool{record.LatencyMax: false, record.Fairness: false, record.Retransmits: false, record.LatencyP99: true, record.LatencyP99ByTime: false}},
		{3, 0, 50_000, 1e-4, map[string]bool{record.LatencyMax: false, record.Fairness: false, record.Retransmits: false, record.LatencyP99: true, record.LatencyP99ByTime: true}},
		{0.3, 0, 3000, 1e-5, map[string]bool{record.LatencyMax: false, record.Fairness: false, record.Retransmits: false, record.LatencyP99: false, record.LatencyP99ByTime: true}},
		{3, 5, 900, 2e-3, map[string]bool{record.LatencyMax: true, record.Fairness: true, record.Retransmits: true, record.LatencyP99: true}},
	} {
		var trials []record.Trial
		for i := 1; i <= 8; i++ {
			for _, network := range []string{"host", "bridge"} {
				c := streamCell(network)
				c.Workload = record.TCPRR
				tr := throughputTrial(c, i, 1)
				if network == "host" && i > tt.alike {
					tr.Window = tt.window
				}
				tr.Latency = &record.Histogram{Count: int64(float64(tt.count) * tr.Window)}
				tr.Flows = []record.Flow{{Transactions: uint64(tr.Latency.Count)}}
				tr.Metrics = map[string]record.Metric{
					record.LatencyP50: record.Measured(record.LatencyP50, 20e-6), record.LatencyMax: record.Measured(record.LatencyMax, 1e-3),
					record.LatencyP99: record.Measured(record.LatencyP99, 40e-6), record.LatencyP99ByTime: record.Measured(record.LatencyP99ByTime, tt.byTime),
					record.Retransmits: record.Measured(record.Retransmits, 10*tr.Window), record.Fairness: record.Measured(record.Fairness, 1-0.1/tr.Window),
				}
				if network == "bridge" { // the baseline has none, whatever its windows
					tr.Metrics[record.LatencyP999] = record.Measured(record.LatencyP999, 1e-3)
				}
				trials = append(trials, tr)
			}
		}
		row := rowOf(t, Analyze(fileOf(trials...)), "bridge")
		if f, ok := row.Figure(record.LatencyP999); !ok || f.Comparison() != nil || f.Unlike {
			t.Errorf("a baseline with windows of %v s, which has no p99.9: %+v", tt.window, f)
		}
		tt.want[record.LatencyP50] = true
		for name, compared := range tt.want {
			f, ok := row.Figure(name)
			if !ok || (f.Comparison() != nil) != compared || f.Unlike != (!compared || tt.alike > 0 && name != record.LatencyP50) {
				t.Errorf("a baseline with windows of %v s, %d transactions, p99 by time %v: %s has the comparison %+v", tt.window, tt.count, tt.byTime, name, f.Comparison())
			}
			if c := f.Comparison(); tt.alike > 0 && name != record.LatencyP50 && (c.N != tt.alike || c.Value != 1 && c.Value != 0) {
				t.Errorf("with %d rounds of like windows %s is compared in %d: %v", tt.alike, name, c.N, c.Value)
			}
		}
	}
}

// A ratio of shares is of little use and 0 to 0 has no ratio; for all other metrics a ratio is enough.
func TestDifferenceStandsForRatio(t *testing.T) {
	set := func(name, unit string, host, bridge float64) Figure {
		trials := pairedTrials(3, 8, 0.9, 0.01)
		for i := range trials {
			v := host
			if trials[i].Cell.Network == "bridge" {
				v = bridge
			}
			trials[i].Metrics[name] = record.Metric{Value: v, Unit: unit}
		}
		f, _ := rowOf(t, Analyze(fileOf(trials...)), "bridge").Figure(name)
		return f
	}
	for _, tt := range []struct {
		name, unit       string
		host, bridge     float64
		ratio, different bool
	}{
		{record.Loss, "ratio", 0, 0, false, true},
		{record.Loss, "ratio", 0, 0.1, false, true},
		{record.Loss, "ratio", 0.1, 0.2, true, true},
		{record.Retransmits, "segments", 0, 10, false, true},
		{record.Retransmits, "segments", 5, 10, true, false},
		{record.LatencyAdded, "s", 1e-5, -1e-6, false, true},
		{record.Jitter, "s", 1e-5, 2e-5, true, true}, // times are compared by difference, too
		{record.Jitter, "s", 1e-5, -1, false, false}, // impossible value
	} {
		f := set(tt.name, tt.unit, tt.host, tt.bridge)
		if n := map[bool]int{true: 8}[tt.ratio || tt.different]; f.Summary.N != n || (f.Ratio != nil) != tt.ratio || (f.Difference != nil) != tt.different {
			t.Errorf("%s of %v against %v is %+v", tt.name, tt.bridge, tt.host, f)
		}
		if f.Difference != nil && math.Abs(f.Difference.Value-(tt.bridge-tt.host)) > 1e-12 {
			t.Errorf("difference is %+v", f.Difference)
		}
	}
}

func endpointsOf(mtu int, change func(*record.Endpoint)) []record.Endpoint {
	var out []record.Endpoint
	for _, role := range []string{"client", "server"} {
		e := record.Endpoint{Name: role, Role: role, MTU: mtu, Qdisc: "noqueue",
			Offloads:    map[string]bool{"tso": true, "gro": true},
			Sysctls:     map[string]string{"tcp_congestion_control": "bbr", "tcp_rmem": "4096\t131072\t6291456"},
			Confinement: &record.Confinement{StoreBypass: "thread vulnerable", IndirectBranch: "conditional enabled"}}
		if change != nil {
			change(&e)
		}
		out = append(out, e)
	}
	return out
}

func TestDifferences(t *testing.T) {
	mss := func(v uint32) []record.Flow {
		return []record.Flow{{TCP: &record.TCPInfo{SndMSS: v, Congestion: "bbr"}}}
	}
	for _, tt := range []struct {
		name      string
		endpoints []record.Endpoint
		flows     []record.Flow
		want      []string
	}{
		{"equal", endpointsOf(1500, nil), mss(1448), nil},
		{"MTU and MSS", endpointsOf(1450, nil), mss(1398), []string{"MTU 1450 against 1500"}},
		{"MTU of the route", endpointsOf(1500, func(e *record.Endpoint) { e.RouteMTU = 1450 }), mss(1398), []string{"MTU 1450 against 1500"}},
		{"at the server", endpointsOf(1500, func(e *record.Endpoint) {
			if e.Role == "server" {
				e.Offloads["gro"], e.Qdisc = false, "fq"
			}
		}), mss(1448), []string{"server gro off against on", "server qdisc fq against noqueue"}},
		{"sysctls", endpointsOf(1500, func(e *record.Endpoint) {
			e.Sysctls["tcp_congestion_control"], e.Sysctls["tcp_rmem"] = "cubic", "4096 131072 1"
		}), mss(1448), []string{"tcp_congestion_control cubic against bbr", "tcp_rmem 4096 131072 1 against 4096 131072 6291456"}},
		{"white space is no difference", endpointsOf(1500, func(e *record.Endpoint) { e.Sysctls["tcp_rmem"] = "4096 131072 6291456" }), mss(1448), nil},
		{"confined", endpointsOf(1500, func(e *record.Endpoint) {
			e.Confinement = &record.Confinement{Seccomp: "filter", Uncached: true, Label: "docker-default (enforce)", StoreBypass: "thread force mitigated", IndirectBranch: "always disabled"}
		}), mss(1448), []string{"indirect branch speculation always disabled against conditional enabled", "seccomp filter run at every call against none", "speculative store bypass thread force mitigated against thread vulnerable"}},
		{"confined at no cost", endpointsOf(1500, func(e *record.Endpoint) {
			e.Confinement = &record.Confinement{Seccomp: "filter", Label: "docker-default (enforce)", StoreBypass: "thread vulnerable"}
		}), mss(1448), nil},
		{"several values", append(endpointsOf(1500, nil), endpointsOf(1450, nil)...), mss(1448), []string{"MTU 1450/1500 against 1500"}},
		{"not recorded", nil, nil, nil},
		{"recorded of one only", endpointsOf(1500, func(e *record.Endpoint) { e.Sysctls["tcp_wmem"] = "4096 16384 4194304" }), mss(1448), nil},
		{"not recorded in part", []record.Endpoint{{Role: "client", MTU: 9000}}, nil, []string{"client MTU 9000 against 1500"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := record.Each(differences(tt.endpoints, tt.flows, endpointsOf(1500, nil), mss(1448)), func(d difference) string { return d.text })
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// comparedWith returns the cell of a network in a run with a chosen baseline.
func comparedWith(network, baseline string) record.Cell {
	c := streamCell(network)
	c.Baseline = baseline
	return c
}

// TestChosenBaseline compares the networks of two platforms with one
// baseline, and not with the native of the lab, which was measured too.
func TestChosenBaseline(t *testing.T) {
	var trials []record.Trial
	for round := 1; round <= 8; round++ {
		for network, gbits := range map[string]float64{"docker:native": 20, "docker:bridge": 10, "bridge": 12, "host": 40} {
			v := gbits * 1e9 * (1 + 0.001*float64(round))
			trials = append(trials, throughputTrial(comparedWith(network, "docker:native"), round, v))
		}
	}
	res := Analyze(fileOf(trials...))
	if len(res.Scenarios) != 1 || res.Scenarios[0].Rows[0].Cell.Network != "docker:native" {
		t.Fatalf("scenarios are %+v", res.Scenarios)
	}
	for network, want := range map[string]float64{"docker:bridge": 0.5, "bridge": 0.6, "host": 2} {
		row := rowOf(t, res, network)
		if r := row.Figures[0].Ratio; row.Native || r == nil || r.Value < want-1e-9 || r.Value > want+1e-9 {
			t.Errorf("%s: native %t, ratio %+v, want %v", network, row.Native, r, want)
		}
	}
	if base := rowOf(t, res, "docker:native"); !base.Native || base.Figures[0].Ratio != nil {
		t.Errorf("the baseline is %+v", base)
	}
	for key, reached := range Precision(trials, settings95()) {
		if reached.N != 8 || !reached.Known {
			t.Errorf("%s is known to %+v", key, reached)
		}
	}
}

// TestDoubtsNameTheBaseline checks that no doubt mentions native if another network was the baseline.
func TestDoubtsNameTheBaseline(t *testing.T) {
	var trials []record.Trial
	for round := 1; round <= 12; round++ {
		base := throughputTrial(comparedWith("veth", "veth"), round, 10e9*(1+0.3*float64(round)))
		base.Endpoints = []record.Endpoint{{Role: "client", MTU: 1500}}
		bridge := throughputTrial(comparedWith("bridge", "veth"), round, 9e9)
		bridge.Endpoints = []record.Endpoint{{Role: "client", MTU: 1450}}
		trials = append(trials, bridge)
		if round > 1 {
			trials = append(trials, base)
		}
	}
	res := Analyze(fileOf(trials...))
	want := map[string][]string{
		"bridge": {WarnUnpaired, WarnDiffers},
		"veth":   {WarnDrift, WarnNoisy},
	}
	for network, expected := range want {
		row := rowOf(t, res, network)
		for _, code := range expected {
			w := warningOf(t, row.Warnings, code)
			if text := w.Text + w.Advice; !strings.Contains(text, "veth") || strings.Contains(text, "native") {
				t.Errorf("%s says %q, %q", code, w.Text, w.Advice)
			}
		}
	}
	alone := rowOf(t, Analyze(fileOf(trials[0])), "bridge")
	if w := warningOf(t, alone.Warnings, WarnNoNative); !strings.Contains(w.Text, "trial of veth") || !strings.Contains(w.Advice, "why veth was not") {
		t.Errorf("without a baseline: %q, %q", w.Text, w.Advice)
	}
}
