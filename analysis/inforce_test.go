package analysis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/analysis"
	"nettoll/record"
)

func TestTimesInForce(t *testing.T) {
	cell := func(network string, services, policies, family int) record.Cell {
		return record.Cell{Network: network, Hosts: 2, Family: family, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: "distinct",
			Setup: record.Setup{Services: services, Policies: policies}}
	}
	many, few, pods := cell("service", 1000, 0, 4), cell("service", 1, 0, 4), cell("pod", 0, 10, 4)
	f := &record.File{Run: record.Run{Settings: record.Settings{Confidence: 0.95}, Cells: []record.Cell{few, many, pods}}}
	add := func(c record.Cell, in *record.InForce) {
		f.Trials = append(f.Trials, record.Trial{Cell: c, Round: 1 + len(f.Trials), Status: record.OK, InForce: in})
	}
	for _, v := range []float64{0.5, 0.1, 0.4, 0.2, 0.3, 0.25, 0.35} {
		add(pods, &record.InForce{Policy: v})
		add(pods, nil) // another trial in the same network
	}
	add(many, &record.InForce{Service: 3, Policy: 1})
	add(cell("service", 1000, 0, 6), &record.InForce{Service: 2}) // the same network, built again
	f.Trials[len(f.Trials)-1].Status, f.Trials[len(f.Trials)-1].Reason = record.Failed, "why"
	add(few, &record.InForce{Service: 0.5})
	got := analysis.Analyze(f).InForce
	var names []string
	for i, one := range got {
		further, rest := one.Further()
		names = append(names, one.Of+" "+one.Cell.Key())
		if put := one.Cell; put.Services+put.Policies-rest.Services-rest.Policies != further || !one.Namespaces || put.Family != 0 {
			t.Errorf("%d: %d besides %+v: %+v", i, further, rest, one)
		}
	}
	of := func(c record.Cell) string {
		c.Family, c.Tool, c.Workload, c.Placement = 0, "", "", ""
		return c.Key()
	}
	if n, rest := got[2].Further(); n != 0 || rest != got[2].Cell {
		t.Errorf("a policy beside services only: %d besides %+v", n, rest)
	}
	want := []string{"service " + of(few), "service " + of(many), "policy " + of(many), "policy " + of(pods)}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatal(diff)
	}
	if s := got[0].Summary; s.N != 1 || s.Estimate != 0.5 || !s.Interval.IsZero() {
		t.Errorf("one build: %+v", s)
	}
	if s := got[1].Summary; s.N != 2 || s.Min != 2 || s.Max != 3 || !s.Interval.IsZero() {
		t.Errorf("two builds: %+v", s)
	}
	if s := got[3].Summary; s.N != 7 || s.Median != 0.3 || s.Interval.IsZero() || s.Low < 0.1 || s.High > 0.5 {
		t.Errorf("seven builds: %+v", s)
	}
}
