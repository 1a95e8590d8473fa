package plan

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

func quick(t *testing.T) []record.Cell {
	t.Helper()
	return expanded(t, embedded(t, "quick"), drivers())
}

func TestVisitsHoldEveryCellOnce(t *testing.T) {
	cells := quick(t)
	want := keys(cells)
	slices.Sort(want)
	for round := 1; round <= 20; round++ {
		var got []string
		seen := make(map[string]bool)
		for _, v := range Visits(cells, round, 7) {
			place := record.Cell{Network: v.Network, Hosts: v.Hosts}.Key()
			if seen[place] {
				t.Errorf("round %d visits %s %d times", round, v.Network, 2)
			}
			seen[place] = true
			for _, c := range v.Cells {
				if c.Network != v.Network || c.Hosts != v.Hosts || c.Servers != v.Servers || c.Clients != v.Clients || c.Underlay != v.Underlay {
					t.Errorf("%s is not a cell of %+v", c.Key(), v)
				}
			}
			got = append(got, keys(v.Cells)...)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

func TestVisitsAreRepeatable(t *testing.T) {
	cells := quick(t)
	first := Visits(cells, 3, 42)
	for range 3 {
		Visits(cells, 1, 42)
		if diff := cmp.Diff(first, Visits(cells, 3, 42)); diff != "" {
			t.Fatal("the same round differs:", diff)
		}
	}
	backwards := slices.Clone(cells)
	slices.Reverse(backwards)
	if diff := cmp.Diff(first, Visits(backwards, 3, 42)); diff != "" {
		t.Error("the order of the cells matters:", diff)
	}
	if cmp.Equal(first, Visits(cells, 4, 42)) {
		t.Error("another round has the same order")
	}
	if cmp.Equal(first, Visits(cells, 3, 43)) {
		t.Error("another seed has the same order")
	}
	if got := Visits(nil, 1, 1); len(got) != 0 {
		t.Errorf("no cells give %v", got)
	}
}

// TestVisitsAreUniform asks each network to be at each place about equally often,
// and either cell of a visit to be the first. The seed is fixed: it cannot fail
// by chance. Five standard deviations are allowed.
func TestVisitsAreUniform(t *testing.T) {
	const rounds, networks = 1000, 7
	cells := quick(t)
	at := make(map[string][]int)
	streamFirst, visits := 0, 0
	for round := 1; round <= rounds; round++ {
		for i, v := range Visits(cells, round, 1) {
			place := record.Cell{Network: v.Network, Hosts: v.Hosts}.Key()
			if at[place] == nil {
				at[place] = make([]int, networks)
			}
			at[place][i]++
			visits++
			if v.Cells[0].Workload == record.TCPStream {
				streamFirst++
			}
		}
	}
	if len(at) != networks {
		t.Fatalf("%d networks", len(at))
	}
	near := func(got, of int, p float64) bool {
		return math.Abs(float64(got)-float64(of)*p) <= 5*math.Sqrt(float64(of)*p*(1-p))
	}
	for place, counts := range at {
		for i, n := range counts {
			if !near(n, rounds, 1.0/networks) {
				t.Errorf("%s is at place %d in %d of %d rounds", place, i, n, rounds)
			}
		}
	}
	if !near(streamFirst, visits, 0.5) {
		t.Errorf("tcp_stream is first in %d of %d visits", streamFirst, visits)
	}
}

// TestVisitsTellNetworksApart holds that cells are measured in one network unless they differ in what is
// built, or in what surrounds it. Twins are two networks.
func TestVisitsTellNetworksApart(t *testing.T) {
	base := record.Cell{Network: "macvlan", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: "tcp_rr"}
	for _, d := range record.Dimensions() {
		other, want := base, 1
		switch v := d.Field(&other).(type) {
		case *int:
			*v += 2
		case *string:
			*v += "x"
		case *bool:
			*v = true
		}
		if d.Part == record.Path && d.Name != "family" || d.Part == record.Condition || d.Name == "twin" {
			want = 2
		}
		if n := len(Visits([]record.Cell{base, other}, 1, 1)); n != want {
			t.Errorf("%d visits for two cells that differ in %s, want %d", n, d.Name, want)
		}
	}
}
