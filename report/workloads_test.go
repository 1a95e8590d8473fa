package report

import (
	"math"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

var everyWorkload = []string{
	record.TCPStream, record.TCPRR, record.TCPCRR, record.TCPBidir, record.UDPStream, record.UDPRR, record.PacedRR,
	record.LatencyUnderLoad, record.HTTP, record.Redis, record.Postgres,
}

// workloadsResult has three networks and every workload, each with all the
// metrics there are.
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

// TestNoMetricTwice holds what lines of tables are joined for: a heading names
// one column only.
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

// TestPrimaryStays wants the first metric of every workload in the narrowest table.
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
		unit := benchUnits[k.Name]
		if unit == "" || strings.ContainsAny(unit, " \t") {
			t.Errorf("%s has the unit %q", k.Name, unit)
		}
		if other := seen[unit]; other != "" {
			t.Errorf("%s and %s share the unit %s", k.Name, other, unit)
		}
		seen[unit] = k.Name
	}
}
