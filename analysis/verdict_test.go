package analysis

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"nettoll/record"
)

// several returns rounds of host and of networks with shares of its throughput
// and the inverse of these in latency; the noise of each is a fixed ripple.
func several(rounds int, shares ...float64) []record.Trial {
	var out []record.Trial
	for round := 1; round <= rounds; round++ {
		for i, share := range append([]float64{1}, shares...) {
			c := streamCell("host")
			if i > 0 {
				c.Network = fmt.Sprintf("n%d", i)
			}
			v := share * (1 + 0.01*math.Sin(float64(5*round+3*i)))
			t := throughputTrial(c, round, 10e9*v)
			t.Metrics[record.CPUPerGB] = record.Metric{Value: 0.5 / v, Unit: "cpu-s/GB"}
			out = append(out, t)
			c.Workload = record.TCPRR
			out = append(out, record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Status: record.OK, Window: 1,
				Metrics: map[string]record.Metric{record.LatencyP50: {Value: 20e-6 / v, Unit: "s"}, record.TransactionRate: {Value: 48e3 * v, Unit: "1/s"}}})
		}
	}
	return out
}

// Single outcomes are different long before a verdict among all comparisons can be.
func TestVerdicts(t *testing.T) {
	shares := []float64{0.7, 0.8, 0.6, 0.5, 1}
	for _, tt := range []struct {
		rounds int
		want   Multiplicity
	}{
		{5, Multiplicity{Primary: 10, Least: 9, Untested: 10}},
		// For each network throughput, p50 and CPU per GB; the transaction rate adds nothing to p50.
		{8, Multiplicity{Comparisons: 15, Expected: 15 * 10.0 / 256, Primary: 10, Least: 9, Same: 2, NotKnown: 8, Costs: 5, Extremes: 6}},
		{9, Multiplicity{Comparisons: 15, Expected: 15 * Attained(9, 0.95), Primary: 10, Least: 9, Same: 2, Different: 8, Costs: 5, Extremes: 6}},
	} {
		res := Analyze(fileOf(several(tt.rounds, shares...)...))
		got := res.Multiplicity
		if math.Abs(got.Expected-tt.want.Expected) > 1e-9 {
			t.Errorf("%d rounds: %v expected by chance, want %v", tt.rounds, got.Expected, tt.want.Expected)
		}
		got.Expected = tt.want.Expected
		if got != tt.want {
			t.Errorf("%d rounds: %+v, want %+v", tt.rounds, got, tt.want)
		}
		short := slices.Contains(codes(res.Warnings), WarnShort)
		if want := tt.rounds == 8; short != want {
			t.Errorf("%d rounds: too few for a verdict is said: %v, want %v", tt.rounds, short, want)
		}
		for _, r := range res.Rows() {
			for _, f := range r.Figures {
				if c := f.Ratio; c != nil && tt.rounds == 8 && c.Level > 0 && r.Cell.Network != "n5" && c.Outcome != Different {
					t.Errorf("%s of %s is %v by itself", f.Kind.Name, r.Cell.Network, c.Outcome)
				}
			}
		}
	}
}

// Where all comparisons are decided, more rounds are not asked for.
func TestVerdictsThatNeedNoMoreRounds(t *testing.T) {
	res := Analyze(fileOf(several(8, 1, 1, 1, 1, 1)...))
	if m := res.Multiplicity; m.Same != m.Primary || m.Least <= 8 {
		t.Fatalf("%+v", m)
	}
	if slices.Contains(codes(res.Warnings), WarnShort) {
		t.Errorf("%v", res.Warnings)
	}
}

// Comparisons with too few rounds of their own do not raise the number of rounds that a verdict on the others takes.
func TestVerdictsWithoutTheUntested(t *testing.T) {
	trials := slices.DeleteFunc(several(8, 0.7, 0.8, 0.6, 0.5, 1), func(t record.Trial) bool {
		return t.Round > 2 && t.Cell.Network != "host" && t.Cell.Network != "n1"
	})
	res := Analyze(fileOf(trials...))
	m := res.Multiplicity
	if m.Primary != 10 || m.Tested() != 2 || m.Different != 2 || m.Least != 7 {
		t.Errorf("%+v", m)
	}
	if slices.Contains(codes(res.Warnings), WarnShort) {
		t.Errorf("%d differences, and too few rounds for any: %+v", m.Different, res.Warnings)
	}
}

// A network that has lost rounds has too few for a verdict by itself, and does not make those of the others too few.
func TestVerdictsBesideOneWithFewRounds(t *testing.T) {
	trials := slices.DeleteFunc(several(9, 0.7, 0.8, 0.6, 0.5, 0.4), func(t record.Trial) bool {
		return t.Round > 6 && t.Cell.Network == "n5"
	})
	res := Analyze(fileOf(trials...))
	if m := res.Multiplicity; m.Different == 0 || m.NotKnown != 2 || slices.Contains(codes(res.Warnings), WarnShort) {
		t.Errorf("%+v, %+v", m, res.Warnings)
	}
}

func TestHolm(t *testing.T) {
	of := func(ps ...float64) []*Comparison {
		return record.Each(ps, func(p float64) *Comparison { return &Comparison{P: p, Interval: Interval{Level: 0.95}} })
	}
	for _, tt := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.04, 0.03}, []float64{0.03, 0.06, 0.06}},
		{[]float64{0.5, 0.6}, []float64{1, 1}},
		{[]float64{0.04, 0.001, 0.015, 0.5}, []float64{0.08, 0.004, 0.045, 0.5}},
		{nil, nil},
	} {
		all := of(tt.p...)
		adjust(all)
		for i, c := range all {
			if math.Abs(c.Adjusted-tt.want[i]) > 1e-12 {
				t.Errorf("p %v: adjusted %v, want %v", tt.p, c.Adjusted, tt.want[i])
			}
		}
	}
	some := of(0.01, 0.02)
	some[0].Level = 0 // untested: it does not count
	adjust(some)
	if some[0].Adjusted != 0 || some[1].Adjusted != 0.02 {
		t.Errorf("with one that was not tested: %v, %v", some[0].Adjusted, some[1].Adjusted)
	}
}

// A higher CPU cost that only comes from lower throughput is not a result of its own.
func TestCostFollows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		inUse float64 // CPUs, relative to native's
		noise float64 // of CPUs, upwards in one round and downwards in the next
		share float64 // of its throughput
		want  bool
	}{
		{"a busy CPU", 1, 0, 0.7, true}, {"more CPUs", 1.3, 0, 0.7, false}, {"as much for more", 1.3, 0, 1, false},
		{"perhaps a busy CPU", 1, 0.3, 0.7, true}, {"as much for as much", 1, 0, 1, false},
	} {
		trials := several(10, tt.share)
		for _, t := range each(trials) {
			if t.Cell.Network != "host" {
				scale(t, record.CPUPerGB, tt.inUse*(1+tt.noise*float64(t.Round%2*2-1)))
			}
		}
		row := rowOf(t, Analyze(fileOf(trials...)), "n1")
		if got := row.CostFollows(); got != tt.want {
			t.Errorf("%s: cost follows from throughput: %v, want %v; in use %+v", tt.name, got, tt.want, row.InUse.Ratio)
		}
		if f, _ := row.Figure(record.CPUPerGB); !f.Ratio.Judged || f.Ratio.Primary {
			t.Errorf("%s: CPU per GB is %+v", tt.name, f.Ratio)
		}
	}
}

// Where a cell is ranked by its CPU cost, since nothing else was measured, that is judged once.
func TestCostThatIsPrimary(t *testing.T) {
	trials := slices.DeleteFunc(several(8, 0.7), func(t record.Trial) bool { return t.Cell.Workload != record.TCPStream })
	for i := range trials {
		delete(trials[i].Metrics, record.Throughput)
	}
	if m := Analyze(fileOf(trials...)).Multiplicity; m.Primary != 1 || m.Costs != 0 {
		t.Errorf("%+v", m)
	}
}

// CPU use is compared per amount moved: half the CPUs for a third of the traffic is more.
func TestCosts(t *testing.T) {
	trials := several(8, 0.3)
	for i := range trials {
		use := 0.8
		if trials[i].Cell.Network != "host" {
			use = 0.4
		}
		trials[i].CPU = &record.CPUUse{Client: record.ProcessCPU{System: use}}
	}
	for _, s := range Analyze(fileOf(trials...)).Scenarios {
		row := s.Rows[1]
		load, _ := row.Load("cpu_client")
		cost, ok := row.Cost("cpu_client")
		unit := map[string]string{record.TCPStream: "cpu-s/GB", record.TCPRR: "cpu-s"}[s.Cell.Workload]
		if !ok || cost.Kind.Unit != unit || load.Ratio.Effect != Better || cost.Ratio.Effect != Worse {
			t.Errorf("%s: CPUs %v, for what was moved %v of %+v", s.Cell.Workload, load.Ratio, cost.Ratio, cost.Kind)
		}
	}
}

// Mixed traffic has no cost: the CPU time of a probe cannot be separated from that of the stream next to it.
func TestMixedTrafficHasNoCost(t *testing.T) {
	trials := several(8, 0.3)
	for i := range trials {
		trials[i].Cell.Workload = map[string]string{record.TCPStream: record.TCPStream, record.TCPRR: record.LatencyUnderLoad}[trials[i].Cell.Workload]
		trials[i].Metrics[record.Throughput] = record.Measured(record.Throughput, 1e9)
		trials[i].CPU = &record.CPUUse{Client: record.ProcessCPU{System: 0.5}}
	}
	for _, s := range Analyze(fileOf(trials...)).Scenarios {
		for _, row := range s.Rows {
			if mixed := s.Cell.Workload == record.LatencyUnderLoad; mixed != (len(row.Costs) == 0) || len(row.CPU) == 0 {
				t.Errorf("%s: costs %+v", s.Cell.Workload, row.Costs)
			}
		}
	}
}

// The first and the last are named only if they differ from the next network.
func TestExtremes(t *testing.T) {
	for _, tt := range []struct {
		shares        []float64
		high, low     string
		shown, lowest bool
	}{
		{[]float64{0.7, 0.9, 0.5}, "n2", "n3", true, true},
		{[]float64{0.9, 0.9001, 0.5}, "n2", "n3", false, true},
		{[]float64{0.9, 0.5, 0.5001}, "n1", "n2", true, false},
	} {
		res := Analyze(fileOf(several(8, tt.shares...)...))
		var stream Scenario
		for _, s := range res.Scenarios {
			if s.Cell.Workload == record.TCPStream {
				stream = s
			}
		}
		seen := 0
		for _, e := range stream.Extremes {
			if e.Kind.Name != record.Throughput {
				continue
			}
			seen++
			want, shown := tt.low, tt.lowest
			if e.Highest {
				want, shown = tt.high, tt.shown
			}
			if e.Network.Network != want && shown || e.Shown() != shown {
				t.Errorf("%v: highest %v: %s beside %s, shown %v (%+v)", tt.shares, e.Highest, e.Network.Network, e.Next.Network, e.Shown(), e.Ratio)
			}
		}
		if seen != 2 {
			t.Errorf("%v: %d extremes", tt.shares, seen)
		}
	}
	for rounds, differ := range map[int]bool{2: false, 7: true} { // 7 are enough for one of them, and too few for 6
		for _, s := range Analyze(fileOf(several(rounds, 0.7, 0.9, 0.5)...)).Scenarios {
			for _, e := range s.Extremes {
				if e.Shown() || (e.Ratio.Outcome == Different) != differ {
					t.Errorf("%d rounds show %s as an extreme: %v, %+v", rounds, e.Network.Network, e.Shown(), e.Ratio)
				}
			}
		}
	}
}

// A network that leads by its ratio to native in its own rounds, and is
// behind the next one in their common rounds, is not called the first.
func TestExtremesOfOtherRounds(t *testing.T) {
	var trials []record.Trial
	for round := 1; round <= 30; round++ {
		for i, share := range []float64{1, 0.9, 0.95} {
			c := streamCell([]string{"host", "known", "on"}[i])
			switch {
			case i == 1 && round > 12:
				continue
			case i == 2 && round > 12:
				share = 0.6
			}
			trials = append(trials, throughputTrial(c, round, 10e9*share*(1+0.001*math.Sin(float64(5*round+3*i)))))
		}
	}
	extremes := Analyze(fileOf(trials...)).Scenarios[0].Extremes
	if len(extremes) != 1 { // of two, one comparison tells both
		t.Fatalf("%d extremes", len(extremes))
	}
	if e := extremes[0]; !e.Highest || e.Network.Network != "known" || e.Ratio.Outcome != Different || e.Shown() {
		t.Errorf("highest %v: %s, shown %v, %+v", e.Highest, e.Network.Network, e.Shown(), e.Ratio)
	}
}

// Networks are ranked by their ratios, not by figures that they owe to the rounds in which they were measured.
func TestExtremesOnAMachineThatBecomesFaster(t *testing.T) {
	trials := slices.DeleteFunc(several(16, 0.9, 0.8), func(t record.Trial) bool { return t.Round <= 8 && t.Cell.Network == "n2" })
	for _, t := range each(trials) {
		if t.Round > 8 {
			scale(t, record.Throughput, 2)
		}
	}
	for _, e := range Analyze(fileOf(trials...)).Scenarios[0].Extremes {
		if first := e.Network.Network == "n1"; e.Kind.Name == record.Throughput && (first != e.Highest || !e.Shown()) {
			t.Errorf("highest %v: %s, shown %v, %+v", e.Highest, e.Network.Network, e.Shown(), e.Ratio)
		}
	}
}

// A network that moved nothing in a round has no ratio; the lowest of the others is then not the lowest.
func TestExtremesWithoutARatio(t *testing.T) {
	trials := several(10, 0.7, 0.9, 0.5)
	for i := range trials {
		if trials[i].Cell.Network == "n3" && trials[i].Round == 4 {
			scale(&trials[i], record.Throughput, 0)
		}
	}
	others := 0
	for _, s := range Analyze(fileOf(trials...)).Scenarios {
		for _, e := range s.Extremes {
			if e.Kind.Name != record.Throughput {
				others++
			} else {
				t.Errorf("highest %v: %s, %+v", e.Highest, e.Network.Network, e.Ratio)
			}
		}
	}
	if others == 0 {
		t.Error("no other metric has extremes")
	}
}

// Namespaces that share a machine are distinguished from machines.
func TestNamespaces(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hosts  int
		change func(*record.Trial)
		want   Namespaces
	}{
		{"one host", 1, func(*record.Trial) {}, false},
		{"two", 2, func(*record.Trial) {}, true},
		{"two machines", 2, func(t *record.Trial) { t.CPU = &record.CPUUse{Hosts: []record.HostCPU{{Host: "machine 1"}}} }, false},
		{"two machines, in one trial", 2, func(t *record.Trial) {
			if t.CPU = (&record.CPUUse{}); t.Round == 1 {
				t.CPU.Hosts = []record.HostCPU{{Host: "machine 1"}}
			}
		}, false},
		{"nothing measured", 2, func(t *record.Trial) { t.Status, t.Reason = record.Skipped, "no" }, false},
	} {
		trials := pairedTrials(1, 6, 0.9, 0.01)
		for i := range trials {
			trials[i].Cell.Hosts = tt.hosts
			tt.change(&trials[i])
		}
		if got := Analyze(fileOf(trials...)).Scenarios[0].Namespaces; got != tt.want {
			t.Errorf("%s: namespaces %v, want %v", tt.name, got, tt.want)
		}
	}
}
