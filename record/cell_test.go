package record_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// each calls fn with every field of a struct, at any depth.
func each(v reflect.Value, name string, fn func(name string, v reflect.Value)) {
	if v.Kind() != reflect.Struct {
		fn(name, v)
		return
	}
	for i := range v.NumField() {
		each(v.Field(i), name+"."+v.Type().Field(i).Name, fn)
	}
}

func TestKeyTellsEveryFieldApart(t *testing.T) {
	for _, base := range []record.Cell{{}, filled[record.Cell](t, 1)} {
		fields := 0
		each(reflect.ValueOf(base), "Cell", func(name string, _ reflect.Value) {
			fields++
			changed := base
			each(reflect.ValueOf(&changed).Elem(), "Cell", func(n string, v reflect.Value) {
				if n != name {
					return
				}
				switch v.Kind() {
				case reflect.String:
					v.SetString(v.String() + "x")
				case reflect.Int:
					v.SetInt(v.Int() + 1)
				case reflect.Bool:
					v.SetBool(!v.Bool())
				default:
					t.Fatalf("%s is a %s", name, v.Type())
				}
			})
			if changed.Key() == base.Key() {
				t.Errorf("cells that differ in %s have one key: %s", name, base.Key())
			}
		})
		if fields != 33 {
			t.Errorf("%d fields were tried, want 33: does a new field belong into the key?", fields)
		}
	}
}

// TestKeyIsEqualForEqualCellsOnly draws cells from few values, chosen to be taken
// for one another, so that equal cells and near misses are both frequent.
func TestKeyIsEqualForEqualCellsOnly(t *testing.T) {
	texts := []string{
		"", "a", "a:b", "b:c", "c", "Z", "/Z", "a/Z", "skip-rx-copy", "P=1", "/P=1", "underlay=a", "a/underlay=a",
		"twin=1", "a/twin=1", "baseline=a", "a/baseline=a", "C=a", "a/hosts=1", "%2F", "%", "/",
	}
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]record.Cell{}
	for range 60_000 {
		var c record.Cell
		// Few fields at a time, so that most of the cell is alike.
		for range r.IntN(4) {
			fields := []reflect.Value{}
			each(reflect.ValueOf(&c).Elem(), "", func(_ string, v reflect.Value) { fields = append(fields, v) })
			switch v := fields[r.IntN(len(fields))]; v.Kind() {
			case reflect.String:
				v.SetString(texts[r.IntN(len(texts))])
			case reflect.Int:
				v.SetInt(r.Int64N(3))
			case reflect.Bool:
				v.SetBool(r.IntN(2) == 1)
			}
		}
		key := c.Key()
		if other, ok := seen[key]; ok && other != c {
			t.Fatalf("two cells have the key %q:\n%+v\n%+v", key, other, c)
		}
		seen[key] = c
	}
	if len(seen) < 1000 {
		t.Errorf("only %d different cells were drawn", len(seen))
	}
}

func TestScenarioIsSharedWithNative(t *testing.T) {
	for hosts, native := range map[int]string{1: "host", 2: "native", 3: "native"} {
		c := record.Cell{Network: "bridge", Hosts: hosts, Family: 4, Tool: "engine", Workload: record.TCPRR}
		n := c
		n.Network = record.Native(hosts)
		if n.Network != native {
			t.Errorf("the native of %d hosts is %q, want %q", hosts, n.Network, native)
		}
		if c.IsNative() || !n.IsNative() {
			t.Errorf("on %d hosts bridge is native: %v, %s is: %v", hosts, c.IsNative(), native, n.IsNative())
		}
		if c.Scenario() != n.Scenario() {
			t.Errorf("%v and %v are not comparable", c.Scenario(), n.Scenario())
		}
		n.Family = 6
		if c.Scenario() == n.Scenario() {
			t.Errorf("IPv4 and IPv6 are one scenario: %v", c.Scenario())
		}
	}
	chosen := record.Cell{Network: "veth", Hosts: 1, Baseline: "docker:native"}
	base, plain := chosen, chosen
	base.Network, plain.Baseline = "docker:native", ""
	if chosen.Native() != "docker:native" || chosen.IsNative() || !base.IsNative() || chosen.Scenario() != base.Scenario() {
		t.Errorf("%s is compared with %s", chosen.Key(), chosen.Native())
	}
	base.Network = "host"
	if base.IsNative() || chosen.Scenario() == plain.Scenario() {
		t.Error("the baseline of a cell is not the one that it names")
	}
	one, two := record.Cell{Network: "bridge", Hosts: 1, Twin: 1}, record.Cell{Network: "bridge", Hosts: 1, Twin: 2}
	if !one.IsNative() || two.IsNative() || one.Scenario() != two.Scenario() {
		t.Error("of twins the first is the baseline of the second")
	}
}

func TestEveryMetricHasAKind(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range record.Kinds() {
		if k.Name == "" || k.Title == "" || k.Unit == "" || (k.Better != record.HigherIsBetter && k.Better != record.LowerIsBetter) {
			t.Errorf("incomplete: %+v", k)
		}
		if seen[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		seen[k.Name] = true
		if got, ok := record.KindOf(k.Name); !ok || got != k {
			t.Errorf("KindOf(%s) is %+v, %v", k.Name, got, ok)
		}
	}
	for _, load := range []string{record.TCPStream, record.TCPRR} {
		primary := record.Primary(load)
		if len(primary) == 0 {
			t.Errorf("nothing answers for %s", load)
		}
		for _, name := range primary {
			if !seen[name] {
				t.Errorf("%s answers for %s and is no metric", name, load)
			}
		}
	}
	if _, ok := record.KindOf("goodness"); ok {
		t.Error("goodness is a metric")
	}
}

// TestLeastRounds checks LeastRounds, also against the formula in docs and messages: n ≥ 1 + log2(m / (1 − level)).
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

// TestComparisons checks that only cells whose baseline is among the cells are compared.
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

// TestSpent checks that the times of all processes add up, including processes that did not record their own.
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
			iferr.Fatal(t, json.NewEncoder(&b).Encode(l))
		}
		f, err := record.Read(&b)
		iferr.Fatal(t, err)
		if f.Spent != tt.want {
			t.Errorf("%s: %v s, want %v", tt.name, f.Spent, tt.want)
		}
	}
}

// TestLimits checks that the limits in force are those of the last process that was given any.
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

func TestClosedLoop(t *testing.T) {
	for _, c := range []struct {
		workload string
		rate     int
		want     bool
	}{{record.TCPRR, 0, true}, {record.TCPRR, 1000, false}, {record.PacedRR, 0, false}, {record.LatencyUnderLoad, 0, true}, {record.TCPStream, 0, false}} {
		if got := (record.Cell{Workload: c.workload, Options: record.Options{Rate: c.rate}}).ClosedLoop(); got != c.want {
			t.Errorf("%s at a rate of %d: %v", c.workload, c.rate, got)
		}
	}
}
