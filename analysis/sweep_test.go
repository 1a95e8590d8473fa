package analysis

import (
	"slices"
	"testing"

	"nettoll/record"
)

// varied returns trials of host and bridge in several cells; each change makes one.
func varied(rounds int, changes ...func(*record.Cell)) []record.Trial {
	var out []record.Trial
	for i := 1; i <= rounds; i++ {
		for n, change := range changes {
			for j, network := range []string{"host", "bridge"} {
				c := streamCell(network)
				change(&c)
				t := throughputTrial(c, i, 1e9*float64(10-j)/float64(n+1)*(1+0.001*float64(i)))
				t.Metrics[record.ThroughputPerClient] = record.Metric{Value: t.Metrics[record.Throughput].Value / float64(c.Pairs()), Unit: "bit/s"}
				out = append(out, t)
			}
		}
	}
	return out
}

func crowd(servers, clients, processes int) func(*record.Cell) {
	return func(c *record.Cell) {
		c.Servers, c.Clients, c.Processes = servers, clients, processes
		if processes == 1 {
			c.Processes = 0
		}
	}
}

func mesh(mtu, rules int) func(*record.Cell) {
	return func(c *record.Cell) { c.MTU, c.Rules = 1500+mtu, rules }
}

func labels(ticks []Tick) []string {
	return record.Each(ticks, func(t Tick) string { return t.Label })
}

func axesOf(all []Sweep) []string {
	var out []string
	for _, s := range all {
		name := s.X.Name
		if s.Matrix() {
			name += " " + s.Y.Name
		}
		out = append(out, name)
	}
	return out
}

// The three matrices of the measurements of 2014 in one run.
func TestSweepsOfCrowds(t *testing.T) {
	cells := record.Each([]int{8, 1, 2, 4, 16, 20}, func(n int) func(*record.Cell) { return crowd(1, n, 1) })
	for _, n := range []int{2, 4, 20} {
		cells = append(cells, crowd(n, n, 1))
	}
	for _, p := range [][2]int{{1, 2}, {1, 4}, {1, 16}, {2, 2}, {4, 4}, {16, 16}} {
		cells = append(cells, crowd(1, p[0], p[1]))
	}
	sweeps := sweeps(Analyze(fileOf(varied(1, cells...)...)))
	names := axesOf(sweeps)
	for _, want := range []string{"clients", "servers-clients", "processes", "clients processes"} {
		if !slices.Contains(names, want) {
			t.Errorf("no sweep of %s among %q", want, names)
		}
	}
	if slices.Contains(names, "clients servers") {
		t.Error("the diagonal and the first row of servers and clients are called a matrix")
	}
	first := sweeps[0]
	if got := labels(first.X.Ticks); !slices.Equal(got, []string{"1", "2", "4", "8", "16", "20"}) {
		t.Errorf("clients are %q", got)
	}
	if len(first.Lines) != 2 || !first.Lines[0].Native || first.Lines[1].Network != "bridge" || first.Lines[1].Native {
		t.Fatalf("lines are %+v", first.Lines)
	}
	for i, p := range first.Lines[1].Points {
		if p.X != i || p.Row.Cell.Network != "bridge" || p.Row.Cell.Clients != []int{1, 2, 4, 8, 16, 20}[i] {
			t.Errorf("point %d is %+v", i, p.Row.Cell)
		}
	}
	if first.Kinds[0].Name != record.ThroughputPerClient || first.Kinds[1].Name != record.Throughput {
		t.Errorf("metrics are %+v", first.Kinds)
	}
	diagonal := sweeps[slices.Index(names, "servers-clients")]
	if got := labels(diagonal.X.Ticks); !slices.Equal(got, []string{"1x1", "2x2", "4x4", "20x20"}) {
		t.Errorf("servers and clients are %q", got)
	}
	matrix := sweeps[slices.Index(names, "clients processes")]
	at := matrix.Lines[0].Points[len(matrix.Lines[0].Points)-1]
	if matrix.X.Ticks[at.X].Label != "20" || matrix.Y.Ticks[at.Y].Label != "1" || at.Row.Cell.Clients != 20 {
		t.Errorf("last point is %+v", at.Row.Cell)
	}
	if len(matrix.Lines[0].Points) != 12 {
		t.Errorf("%d points, want 12", len(matrix.Lines[0].Points))
	}
}

func TestSweeps(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cells  []func(*record.Cell)
		want   []string
		labels []string
	}{
		{"nothing", []func(*record.Cell){crowd(1, 1, 1)}, nil, nil},
		{"two things at once", []func(*record.Cell){crowd(1, 1, 1), func(c *record.Cell) { c.MTU, c.Rules = 9000, 10 }}, nil, nil},
		{"mtu", []func(*record.Cell){func(c *record.Cell) { c.MTU = 9000 }, crowd(1, 1, 1)}, []string{"mtu"}, []string{"1500 B", "9000 B"}},
		{"message size", []func(*record.Cell){func(c *record.Cell) { c.Options.MessageSize = 1 << 16 }, func(c *record.Cell) { c.Options.MessageSize = 100 }, crowd(1, 1, 1)},
			[]string{"message-size"}, []string{"default", "100 B", "64 KiB"}},
		{"offered rate", []func(*record.Cell){func(c *record.Cell) { c.Options.Bandwidth = 1e9 }, func(c *record.Cell) { c.Options.Bandwidth = 5e6 }},
			[]string{"bandwidth"}, []string{"5 Mbit/s", "1 Gbit/s"}},
		{"any rate is beyond the others", []func(*record.Cell){crowd(1, 1, 1), func(c *record.Cell) { c.Options.Bandwidth = 1e9 }, func(c *record.Cell) { c.Options.Bandwidth = 5e6 }},
			[]string{"bandwidth"}, []string{"5 Mbit/s", "1 Gbit/s", "unlimited"}},
		{"transactions per second", []func(*record.Cell){crowd(1, 1, 1), func(c *record.Cell) { c.Options.Rate = 500 }, func(c *record.Cell) { c.Options.Rate = 10_000 }},
			[]string{"rate"}, []string{"default", "500 /s", "10 k/s"}},
		{"instances", []func(*record.Cell){func(c *record.Cell) { c.Underlay = "m4.10xlarge:rate=10gbit" }, func(c *record.Cell) { c.Underlay = "A1:rate=100mbit" }, crowd(1, 1, 1)},
			[]string{"underlay"}, []string{"unshaped", "A1", "m4.10xlarge"}},
		{"one instance, two rates", []func(*record.Cell){func(c *record.Cell) { c.Underlay = "m4.large:rate=1gbit" }, func(c *record.Cell) { c.Underlay = "m4.large:rate=2gbit" }},
			[]string{"underlay"}, []string{"m4.large:rate=1gbit", "m4.large:rate=2gbit"}},
		{"a cross is no matrix", []func(*record.Cell){crowd(1, 1, 1), func(c *record.Cell) { c.MTU = 9000 }, func(c *record.Cell) { c.Rules = 10 }},
			[]string{"rules", "mtu"}, []string{"0", "10"}},
		{"few places of a matrix", []func(*record.Cell){
			mesh(0, 0), mesh(0, 1), mesh(0, 2), mesh(0, 3), mesh(0, 4), mesh(0, 5), mesh(1, 0), mesh(2, 0), mesh(3, 0), mesh(4, 0), mesh(5, 0), mesh(5, 5)},
			[]string{"rules", "rules", "mtu", "mtu"}, []string{"0", "1", "2", "3", "4", "5"}},
		{"a matrix", []func(*record.Cell){crowd(1, 1, 1), func(c *record.Cell) { c.MTU = 9000 }, func(c *record.Cell) { c.Rules = 10 }, func(c *record.Cell) { c.MTU, c.Rules = 9000, 10 }},
			[]string{"rules", "rules", "mtu", "mtu", "rules mtu"}, []string{"0", "10"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := sweeps(Analyze(fileOf(varied(1, tt.cells...)...)))
			if !slices.Equal(axesOf(got), tt.want) {
				t.Fatalf("sweeps of %q, want %q", axesOf(got), tt.want)
			}
			if len(got) > 0 && !slices.Equal(labels(got[0].X.Ticks), tt.labels) {
				t.Errorf("ticks are %q, want %q", labels(got[0].X.Ticks), tt.labels)
			}
			for _, s := range got {
				if at := record.Each(s.X.Ticks, func(t Tick) float64 { return t.Value }); !slices.IsSorted(at) || len(slices.Compact(at)) < len(s.X.Ticks) {
					t.Errorf("ticks of %s are at %v", s.X.Name, s.X.Ticks)
				}
			}
		})
	}
}

// A cell that cannot run still has its place in the sweep.
func TestSweepKeepsSkips(t *testing.T) {
	trials := varied(2, crowd(1, 1, 1), crowd(1, 2, 1))
	for i, tr := range trials {
		if tr.Cell.Network == "bridge" && tr.Cell.Clients == 2 {
			trials[i] = lostTrial(tr.Cell, tr.Round, record.Skipped, "too many")
		}
	}
	s := sweeps(Analyze(fileOf(trials...)))[0]
	p := s.Lines[1].Points
	if len(p) != 2 || p[1].Row.Status != record.Skipped || p[1].Row.Reason != "too many" {
		t.Errorf("points are %+v", p)
	}
}
