package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/analysis"
	"nettoll/record"
)

var everyWorkload = []string{
	record.TCPStream, record.TCPRR, record.TCPCRR, record.TCPBidir, record.UDPStream, record.UDPRR, record.PacedRR,
	record.LatencyUnderLoad, record.HTTP, record.Redis, record.Postgres,
}

// workloadsResult has three networks and every workload, each with all metrics.
func workloadsResult() analysis.Result {
	f := specimenFile()
	f.Trials, f.Run.Cells = nil, nil
	invented := map[string]float64{
		"bit/s": 11.8e9, "1/s": 46_912, "s": 26.5e-6, "ratio": 0.00031, "cpu-s/GB": 0.574, "cpu-s": 15.1e-6, "segments": 12,
	}
	for _, workload := range everyWorkload {
		for i, network := range []string{"host", "bridge", "published"} {
			c := record.Cell{Network: network, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: workload, Placement: record.PlacementDistinct}
			f.Run.Cells = append(f.Run.Cells, c)
			for round := 1; round <= inventedRounds; round++ {
				t := record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Status: record.OK, Window: 1, Elapsed: 1.5, Metrics: map[string]record.Metric{}}
				for j, k := range record.Kinds() {
					worse := 1 + 0.31*float64(i)
					if k.Better == record.HigherIsBetter {
						worse = 1 / worse
					}
					v := invented[k.Unit] * worse * math.Sqrt(float64(1+len(k.Name)%3))
					if k.Name == record.Fairness {
						v = 0.998 * worse
					}
					// A fixed ripple stands for noise.
					v *= 1 + 0.03*math.Sin(float64(3*round+5*i+j))
					t.Metrics[k.Name] = record.Metric{Value: rounded(v), Unit: k.Unit}
				}
				f.Trials = append(f.Trials, t)
			}
		}
	}
	return analysis.Analyze(f)
}

func TestGoldenWorkloads(t *testing.T) {
	golden(t, "workloads-80.text", write(t, "text", workloadsResult(), Options{Width: 80}))
}

// TestNoMetricTwice checks that no table has two columns for one metric, since a table can join several
// workloads.
func TestNoMetricTwice(t *testing.T) {
	all := groups(workloadsResult())
	for _, g := range all {
		seen := map[string]bool{}
		for _, c := range g.columns {
			if seen[c.kind.Name] {
				t.Errorf("%s: %s stands there twice", g.workloads(), c.kind.Title)
			}
			seen[c.kind.Name] = true
		}
		if len(g.columns) == 0 || len(g.columns) > mostColumns {
			t.Errorf("%s: %d columns", g.workloads(), len(g.columns))
		}
	}
	names := map[string]bool{}
	for _, g := range titled(all) {
		if names[g.name] {
			t.Errorf("two sections are called %q", g.name)
		}
		names[g.name] = true
	}
}

// TestPrimaryStays requires the first metric of every workload in the narrowest table.
func TestPrimaryStays(t *testing.T) {
	for _, g := range groups(workloadsResult()) {
		table := newTextTable(g.table(&notes{}), false)
		hidden := table.fit(40)
		first := record.Primary(g.scenarios[0].Cell.Workload)[0]
		kind, _ := record.KindOf(first)
		for _, title := range hidden {
			if title == kind.Title {
				t.Errorf("%s: %s is hidden first", g.workloads(), title)
			}
		}
	}
}

func TestEveryMetricHasANameInBenchmarks(t *testing.T) {
	seen := map[string]string{}
	for _, k := range record.Kinds() {
		unit := benchUnit(k)
		if unit == "" || strings.ContainsAny(unit, " \t") {
			t.Errorf("%s has the unit %q", k.Name, unit)
		}
		if other := seen[unit]; other != "" {
			t.Errorf("%s and %s share the unit %s", k.Name, other, unit)
		}
		seen[unit] = k.Name
	}
}

// TestBenchmarksOfWhatCounts checks that trials that are not valid have no line, though they may have figures.
func TestBenchmarksOfWhatCounts(t *testing.T) {
	res, o := specimenResult()
	want, invalid := write(t, "bench", res, o), o.Trials[0]
	invalid.Status = record.Invalid
	o.Trials = append(o.Trials, invalid)
	if got := write(t, "bench", res, o); len(invalid.Metrics) == 0 || got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// TestTailsOfClosedLoopsAreCalledSo checks that no format prints the p99 of consecutive transactions
// without calling it a closed loop's, and that those of an open loop are not called closed.
func TestTailsOfClosedLoopsAreCalledSo(t *testing.T) {
	res, o := specimenResult()
	o.Width = 160
	open, _ := specimenResult()
	paced := func(workload string) string { return strings.Replace(workload, record.TCPRR, record.PacedRR, 1) }
	for i := range open.Scenarios {
		s := &open.Scenarios[i]
		s.Cell.Workload = paced(s.Cell.Workload)
		for j := range s.Rows {
			s.Rows[j].Cell.Workload = paced(s.Rows[j].Cell.Workload)
		}
	}
	remark := loopRemark(res)
	for format, want := range map[string][]string{
		"text": {"closed p99 ", "p99 by time", remark[:60]},
		"md":   {"latency p99, closed loop,", "latency p99 by time,", remark},
		"html": {"latency p99, closed loop", "latency p99 by time", remark[:60]},
	} {
		got := write(t, format, res, o)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s does not say %q", format, w)
			}
		}
		if got := write(t, format, open, o); strings.Contains(got, "closed") || !strings.Contains(got, "p99") {
			t.Errorf("%s calls an open loop closed", format)
		}
	}
}

// TestMissingChangesAreExplained checks that every format says why tails are not compared, and only where some are not.
func TestMissingChangesAreExplained(t *testing.T) {
	res, o := specimenResult()
	unlike, _ := specimenResult()
	for _, r := range unlike.Rows() {
		for i := range r.Figures {
			if f := &r.Figures[i]; f.Name == record.LatencyP99ByTime {
				f.Ratio, f.Difference, f.Unlike = nil, nil, true
			}
		}
	}
	for _, format := range []string{"text", "md", "html"} {
		if strings.Contains(write(t, format, res, o), windowsRemark[:50]) || !strings.Contains(write(t, format, unlike, o), windowsRemark[:50]) {
			t.Errorf("%s explains missing changes where there are none, or does not where there are", format)
		}
	}
}

// TestPercentilesHaveOneName checks that percentiles of merged trials are named differently
// from the percentiles of trials.
func TestPercentilesHaveOneName(t *testing.T) {
	res, o := specimenResult()
	var got struct {
		Scenarios []struct {
			Networks []map[string]json.RawMessage
		}
	}
	readJSON(t, res, o, &got)
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

// TestEndsTellTheCongestionControlInUse checks that the machine's default is not taken for the one in use.
func TestEndsTellTheCongestionControlInUse(t *testing.T) {
	for _, tt := range []struct {
		used []string
		own  string
		want string
	}{
		{[]string{"cubic"}, "bbr", "congestion control in use: cubic (the machine's default is bbr)"},
		{[]string{"bbr", "cubic"}, "bbr", "congestion control in use: bbr, cubic (the machine's default is bbr)"},
		{[]string{"bbr"}, "bbr", "congestion control in use: bbr"},
		{nil, "bbr", "the machine's default congestion control: bbr"},
	} {
		e := record.Endpoint{Sysctls: map[string]string{"net.ipv4.tcp_congestion_control": tt.own}}
		if got := newEndpoint("host", e, e, tt.used, tt.used).Parameters; len(got) != 1 || got[0].Text != tt.want {
			t.Errorf("%q in use, the machine's own is %q: %+v", tt.used, tt.own, got)
		}
	}
}

// TestEndsClaimOnlyWhatIsKnown checks that offloads are called those of the baseline only if both ends tell them.
func TestEndsClaimOnlyWhatIsKnown(t *testing.T) {
	both := map[string]bool{"tso": true, "gro": true}
	for _, tt := range []struct {
		name       string
		base, ends record.Endpoint
		left       []marked
		same       bool
	}{
		{"the same", record.Endpoint{Role: "client", Offloads: both}, record.Endpoint{Role: "client", Offloads: both}, nil, true},
		{"one differs", record.Endpoint{Role: "client", Offloads: both}, record.Endpoint{Role: "client", Offloads: map[string]bool{"tso": false, "gro": true}},
			[]marked{{Text: "tso", Differs: true, Off: true}}, false},
		{"not known", record.Endpoint{Role: "client", Offloads: both}, record.Endpoint{Role: "client"}, nil, false},
		{"not known of the baseline", record.Endpoint{Role: "client", Offloads: map[string]bool{"tso": true}}, record.Endpoint{Role: "client", Offloads: both},
			[]marked{{Text: "gro"}}, false},
		{"the other end", record.Endpoint{Role: "server", Offloads: both}, record.Endpoint{Role: "client", Offloads: both},
			[]marked{{Text: "gro", Same: true}, {Text: "tso", Same: true}}, false},
	} {
		of := func(name string, e record.Endpoint) line {
			return line{name: name, network: name, native: name == "host", rows: []*analysis.Row{{Endpoints: []record.Endpoint{e}}}}
		}
		s := section{Word: "host", group: &group{lines: []line{of("host", tt.base), of("bridge", tt.ends)}}}
		got := s.Facts()[1]
		if !slices.Equal(got.Offloads, tt.left) || (got.OffloadsAs == "host") != tt.same || got.ParametersAs != "" {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// TestEndsOfTheBaseline checks that an end of the baseline is described once if the other end is set up like it.
func TestEndsOfTheBaseline(t *testing.T) {
	client := record.Endpoint{Role: "client", Offloads: map[string]bool{"tso": true}, Sysctls: map[string]string{"net.ipv4.tcp_sack": "1"}}
	alike, other := client, client
	alike.Role, other.Role = "server", "server"
	other.Offloads = map[string]bool{"tso": false}
	for name, tt := range map[string]struct {
		server   record.Endpoint
		offloads []marked
		as       string
	}{
		"alike":   {alike, nil, "client"},
		"another": {other, []marked{{Text: "tso", Off: true, Same: true}}, ""},
	} {
		native := line{name: "host", network: "host", native: true, rows: []*analysis.Row{{Endpoints: []record.Endpoint{client, tt.server}}}}
		ends := (&section{Word: "host", group: &group{lines: []line{native}}}).Facts()
		if len(ends[0].Offloads) != 1 || len(ends[0].Parameters) != 1 {
			t.Errorf("%s: the client: %+v", name, ends[0])
		}
		if got := ends[1]; !slices.Equal(got.Offloads, tt.offloads) || got.OffloadsAs != tt.as || got.Parameters != nil || got.ParametersAs != "client" {
			t.Errorf("%s: the server: %+v", name, got)
		}
	}
}

// TestEndsOfTransactions checks that flows of transactions, too, show the congestion control in use.
func TestEndsOfTransactions(t *testing.T) {
	flows := []record.Flow{{Transactions: 1, TCP: &record.TCPInfo{Congestion: "cubic"}}}
	g := group{scenarios: []analysis.Scenario{{Rows: []analysis.Row{{Flows: flows}}}}}
	rows := line{rows: []*analysis.Row{nil, {Flows: flows}}}.planned()
	if used := congestions(rows, func(record.Flow) bool { return true }); !slices.Equal(used, []string{"cubic"}) {
		t.Errorf("in use: %q", used)
	}
	if text := g.measuredWith(); strings.Contains(text, "cubic") {
		t.Errorf("of transactions it is no part of the result: %s", text)
	}
}

// TestWhatIsMissingHasItsOwnReason checks that each status of trials is named with its own reason and remedy, whichever
// of them was the last, and once for all workloads that have it.
func TestWhatIsMissingHasItsOwnReason(t *testing.T) {
	f := specimenFile()
	for i := range f.Trials {
		tr := &f.Trials[i]
		if tr.Cell.Network == "proxy" && tr.Cell.Workload == record.TCPStream && tr.Round == 5 || tr.Cell.Network == "flannel" && tr.Round == 1 {
			tr.Status, tr.Reason, tr.Remedy = record.Invalid, "another path", "close it"
		}
	}
	var got []string
	for _, g := range newDocument(analysis.Analyze(f)).Groups {
		got = append(got, record.Each(g.Missing, func(a absence) string { return a.Network + " " + a.text() })...)
	}
	want := []string{
		"proxy (tcp_stream) 2 of 12 trials failed: engine: dial 198.18.0.1:5201: connection refused.",
		"proxy (tcp_stream) 1 of 12 trials invalid: another path; fix: close it.",
		"ovs skipped: ovs-vswitchd is not on PATH; fix: install openvswitch-switch (Debian: apt-get install openvswitch-switch).",
		"flannel 2 of 3 trials failed: flannel: start flanneld on h2: exit status 1: operation not supported.",
		"flannel 1 of 3 trials invalid: another path; fix: close it.",
		"overlay-encrypted invalid: 0 B of 6.2 GB crossed h1/esp: the payload took another way.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTrialsTellTheirPart checks that the table of every trial has the part where a round has several.
func TestTrialsTellTheirPart(t *testing.T) {
	native := record.Cell{Network: "host", Hosts: 1, Workload: record.TCPRR, Tool: "engine"}
	other := native
	other.Network = "bridge"
	trials := []record.Trial{{Cell: native, Round: 1, Part: 1}, {Cell: native, Round: 1, Part: 2}, {Cell: other, Round: 1}}
	v := newTrialsView(trials)
	var parts []string
	for row := range v.Rows {
		parts = append(parts, row.Part)
	}
	if !v.Parts || !slices.Equal(parts, []string{"1", "2", ""}) {
		t.Errorf("shown: %v; the parts are %q", v.Parts, parts)
	}
	if v := newTrialsView(trials[:1]); v.Parts {
		t.Error("the only part is shown")
	}
}

// TestMethodTellsTurns checks that a page explains the kind of rounds of its run.
func TestMethodTellsTurns(t *testing.T) {
	for _, tt := range []struct {
		turns      bool
		says, lies string
	}{
		{false, "measures each network and native once", "take turns"},
		{true, "take turns of about a tenth of a second", "each network and native once"},
	} {
		res, _ := specimenResult()
		res.Limits.Turns = tt.turns
		if got := method(res)[0]; !strings.Contains(got, tt.says) || strings.Contains(got, tt.lies) || !strings.Contains(got, "in the same round") {
			t.Errorf("turns %v: %s", tt.turns, got)
		}
	}
}
