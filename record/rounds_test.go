package record_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"nettoll/record"
)

// The formula of docs and messages: n ≥ 1 + log2(m / (1 − level)).
func TestLeastRounds(t *testing.T) {
	for _, tt := range []struct {
		comparisons int
		level       float64
		want        int
	}{{0, 0.95, 6}, {1, 0.95, 6}, {2, 0.95, 7}, {10, 0.95, 9}, {14, 0.95, 10}, {35, 0.95, 11}, {60, 0.95, 12}, {234, 0.95, 14}, {1, 0.5, 3}, {1, 0.99, 8}} {
		if got := record.LeastRounds(tt.comparisons, tt.level); got != tt.want {
			t.Errorf("%d comparisons at %v: %d rounds, want %d", tt.comparisons, tt.level, got, tt.want)
		}
		if formula := 1 + math.Log2(float64(max(1, tt.comparisons))/(1-tt.level)); float64(tt.want) < formula-1e-9 || float64(tt.want) > formula+1+1e-9 {
			t.Errorf("%d comparisons at %v: %d rounds, by the formula %.2f", tt.comparisons, tt.level, tt.want, formula)
		}
	}
}

// What is compared has a baseline among the cells.
func TestComparisons(t *testing.T) {
	of := func(network string, hosts, twin int) record.Cell {
		return record.Cell{Network: network, Hosts: hosts, Twin: twin, Workload: record.TCPRR}
	}
	for _, tt := range []struct {
		cells []record.Cell
		want  int
	}{
		{nil, 0},
		{[]record.Cell{of("host", 1, 0), of("bridge", 1, 0), of("veth", 1, 0)}, 2},
		{[]record.Cell{of("host", 1, 0), of("bridge", 1, 0), of("vxlan", 2, 0)}, 1},
		{[]record.Cell{of("host", 1, 1), of("host", 1, 2)}, 1},
	} {
		if got := record.Comparisons(tt.cells); got != tt.want {
			t.Errorf("%d comparisons of %+v, want %d", got, tt.cells, tt.want)
		}
	}
}

// The time of all processes adds up, of those too that did not get to say how long they took.
func TestSpent(t *testing.T) {
	cell := record.Cell{Network: "host", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree}
	run := record.Run{Type: record.TypeRun, SchemaVersion: record.SchemaVersion}
	trial := func(round int) any {
		return record.Trial{Type: record.TypeTrial, Cell: cell, Round: round, Status: record.OK, Elapsed: 2}
	}
	resume := record.Resume{Type: record.TypeResume}
	end := func(s float64) any {
		return record.End{Type: record.TypeEnd, Reason: record.EndBudget, Elapsed: s}
	}
	for _, tt := range []struct {
		name  string
		lines []any
		want  float64
	}{
		{"none", []any{run}, 0},
		{"one process", []any{run, trial(1), trial(2), end(5)}, 5},
		{"killed", []any{run, trial(1), trial(2)}, 4},
		{"went on", []any{run, trial(1), end(3), resume, trial(2), end(50)}, 53},
		{"killed, and went on", []any{run, trial(1), trial(2), resume, trial(3), end(3)}, 7},
		{"killed twice", []any{run, trial(1), resume, resume, trial(2)}, 4},
		{"went on for nothing", []any{run, trial(1), end(3), resume, end(0.5)}, 3.5},
	} {
		var b bytes.Buffer
		for _, l := range tt.lines {
			if err := json.NewEncoder(&b).Encode(l); err != nil {
				t.Fatal(err)
			}
		}
		f, err := record.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if f.Spent != tt.want {
			t.Errorf("%s: %v s, want %v", tt.name, f.Spent, tt.want)
		}
	}
}

// The limits in force are those that the last process was given.
func TestLimits(t *testing.T) {
	f := record.File{Run: record.Run{Settings: record.Settings{MaxRounds: 40}}}
	if got := f.Limits().MaxRounds; got != 40 {
		t.Errorf("%d rounds, want the run's 40", got)
	}
	f.Resumes = []record.Resume{{Settings: &record.Settings{MaxRounds: 6}}, {}}
	if got := f.Limits().MaxRounds; got != 6 {
		t.Errorf("%d rounds, want the 6 of the last process that says", got)
	}
}
