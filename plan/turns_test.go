package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

func quick(t *testing.T) []record.Cell {
	t.Helper()
	return expanded(t, embedded(t, "quick"), drivers())
}

func TestVisitsHoldEveryCellOnce(t *testing.T) {
	cells := quick(t)
	want := record.Each(cells, record.Cell.Key)
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
			got = append(got, record.Each(v.Cells, record.Cell.Key)...)
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

// TestVisitsAreUniform checks that each network is at each place about equally often, and either cell of a visit is
// first about equally often. The seed is fixed, so it cannot fail by chance. Five standard deviations are allowed.
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

// TestVisitsTellNetworksApart checks that cells are measured in one network unless they differ in what is built, or
// in its surroundings. Twins are two networks.
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
		if d.Part == record.Path && d.Name != "family" || d.Part == record.Link || d.Part == record.Condition || d.Name == "twin" {
			want = 2
		}
		if n := len(Visits([]record.Cell{base, other}, 1, 1)); n != want {
			t.Errorf("%d visits for two cells that differ in %s, want %d", n, d.Name, want)
		}
	}
}

// inTurns are the settings of a run whose networks take turns.
var inTurns = record.Settings{Turns: true, Congestion: "cubic"}

// groupsOf returns the groups of a round of such a run.
func groupsOf(cells []record.Cell, able Able) []Group {
	return Groups(Visits(cells, 1, 1), inTurns, able, nil)
}

// measuredIn returns the cells of a group that are measured, in turns or by whole trials.
func measuredIn(g Group) []record.Cell {
	return slices.Concat(append(record.Each(g.Contests, func(c Contest) []record.Cell { return c.Cells }), g.Whole)...)
}

// cellsOf returns a cell of each network.
func cellsOf(work string, networks ...string) []record.Cell {
	return record.Each(networks, func(network string) record.Cell { return cellOf(network, work) })
}

func cellOf(network, work string) record.Cell {
	return record.Cell{Network: network, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: work}
}

// everything lets all networks but those of docker stand at once, and streams and exchanges of the engine take
// turns.
var everything = Able{
	Bounded: func(network string) bool { return strings.HasPrefix(network, "docker:") },
	Room:    1,
	Turns: func(tool, workload string) bool {
		return tool == "engine" && (workload == record.TCPStream || workload == record.TCPRR)
	},
}

// told describes groups: their networks, their contests, and their cells with whole trials.
func told(groups []Group) (all []string) {
	short := func(cells []record.Cell) string {
		names := record.Each(cells, func(c record.Cell) string { return c.Network + "/" + c.Workload })
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	for _, g := range groups {
		parts := record.Each(g.Contests, func(c Contest) string { return "turns " + short(c.Cells) })
		if len(g.Whole) > 0 {
			parts = append(parts, "whole "+short(g.Whole))
		}
		slices.Sort(parts)
		all = append(all, strings.Join(parts, "; "))
	}
	slices.Sort(all)
	return all
}

func TestGroups(t *testing.T) {
	two := func(c record.Cell) record.Cell {
		c.Hosts = 2
		return c
	}
	host, bridge := cellOf("host", record.TCPStream), cellOf("bridge", record.TCPStream)
	both := func(change func(*record.Cell)) []record.Cell {
		a, b := host, bridge
		change(&a)
		change(&b)
		return []record.Cell{a, b}
	}
	for _, c := range []struct {
		name  string
		set   record.Settings
		cells []record.Cell
		want  []string
	}{
		{"together", inTurns, []record.Cell{host, bridge}, []string{"turns bridge/tcp_stream host/tcp_stream"}},
		{"told not to", record.Settings{Congestion: "cubic"}, []record.Cell{host, bridge}, []string{"whole bridge/tcp_stream", "whole host/tcp_stream"}},
		{"workloads by themselves", inTurns, []record.Cell{host, bridge, cellOf("host", record.TCPRR), cellOf("bridge", record.TCPRR)},
			[]string{"turns bridge/tcp_rr host/tcp_rr; turns bridge/tcp_stream host/tcp_stream"}},
		{"what cannot rest has whole trials beside them", inTurns, []record.Cell{host, bridge, cellOf("host", record.UDPRR), cellOf("bridge", record.UDPRR)},
			[]string{"turns bridge/tcp_stream host/tcp_stream; whole bridge/udp_rr host/udp_rr"}},
		{"one and two hosts never share a baseline", inTurns, []record.Cell{host, bridge, two(cellOf("native", record.TCPStream)), two(cellOf("vxlan", record.TCPStream))},
			[]string{"turns bridge/tcp_stream host/tcp_stream; turns native/tcp_stream vxlan/tcp_stream"}},
		{"an engine's networks stand alone", inTurns, []record.Cell{cellOf("docker:host", record.TCPStream), cellOf("docker:bridge", record.TCPStream)},
			[]string{"whole docker:bridge/tcp_stream", "whole docker:host/tcp_stream"}},
		{"nobody to take turns with", inTurns, []record.Cell{host, cellOf("bridge", record.TCPRR)}, []string{"whole bridge/tcp_rr host/tcp_stream"}},
		{"a paced sender", record.Settings{Turns: true, Congestion: "bbr2"}, []record.Cell{host, bridge}, []string{"whole bridge/tcp_stream host/tcp_stream"}},
		{"whatever the machine has", inTurns, both(func(c *record.Cell) { c.Options.Congestion = record.MachinesOwn }), []string{"whole bridge/tcp_stream host/tcp_stream"}},
		{"a link that is shaped", inTurns, both(func(c *record.Cell) { c.Underlay = "rate=1gbit" }), []string{"whole bridge/tcp_stream host/tcp_stream"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := told(Groups(Visits(c.cells, 1, 1), c.set, everything, nil)); !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

// TestGroupsOfEngines allows each of a few networks its own engines: these then all stand at once, on any number of
// hosts, and with networks of the lab. If there are too many, those on one host and on two stand at different times.
// Each stands alone where only one can.
func TestGroupsOfEngines(t *testing.T) {
	var cells []record.Cell
	for _, name := range []string{"docker:native", "docker:bridge", "bridge"} {
		for hosts := 1; hosts <= 2; hosts++ {
			c := cellOf(name, record.TCPRR)
			c.Hosts = hosts
			cells = append(cells, c)
		}
	}
	room := func(most int) func(string) Room {
		return func(network string) Room {
			if strings.HasPrefix(network, "docker:") {
				return Room{AtOnce: most}
			}
			return Room{}
		}
	}
	const contest = "turns bridge/tcp_rr docker:bridge/tcp_rr docker:native/tcp_rr"
	for most, want := range map[int][]string{
		4: {contest + "; " + contest},
		3: {contest, contest},
		1: {
			"whole bridge/tcp_rr bridge/tcp_rr", "whole docker:bridge/tcp_rr", "whole docker:bridge/tcp_rr",
			"whole docker:native/tcp_rr", "whole docker:native/tcp_rr",
		},
	} {
		got := told(groupsOf(cells, AbleTo(cells, inTurns, room(most), everything.Turns)))
		if !slices.Equal(got, want) {
			t.Errorf("%d at once: %q\nwant %q", most, got, want)
		}
	}
}

// TestNetworksThatStandApart has one network stand alone for its own sake, whether others have room or not. All others
// stand as they would without it.
func TestNetworksThatStandApart(t *testing.T) {
	k := Known{
		Networks: []Network{{Name: "host"}, {Name: "bridge"}, {Name: "polled", Apart: true}, {Name: "docker:native"}, {Name: "docker:bridge"}},
		Tools:    []Tool{{Name: "engine", Drives: []Drive{{Workload: record.TCPRR, Turns: true}}}},
	}
	cells := record.Each(k.Networks, func(n Network) record.Cell { return cellOf(n.Name, record.TCPRR) })
	for most, want := range map[int][]string{
		0: {"turns bridge/tcp_rr docker:bridge/tcp_rr docker:native/tcp_rr host/tcp_rr", "whole polled/tcp_rr"},
		1: {"turns bridge/tcp_rr host/tcp_rr", "whole docker:bridge/tcp_rr", "whole docker:native/tcp_rr", "whole polled/tcp_rr"},
	} {
		k.Platforms = []Platform{{Name: "lab"}, {Name: "docker", AtOnce: most}}
		got := told(groupsOf(cells, k.able(cells, inTurns)))
		if !slices.Equal(got, want) {
			t.Errorf("%d at once: %q\nwant %q", most, got, want)
		}
		if f := Estimate(cells, inTurns, k); f.Single != len(want)-1 {
			t.Errorf("%d at once: %d networks cannot stand beside others, want %d", most, f.Single, len(want)-1)
		}
	}
}

// TestNetworksOfDaemonsStandWithTheirBaseline has networks whose daemons carry the payload stand only with their baseline, which
// is measured anew for each. All others stand at once.
func TestNetworksOfDaemonsStandWithTheirBaseline(t *testing.T) {
	k := Known{
		Networks: []Network{{Name: "host"}, {Name: "bridge"}, {Name: "veth"}, {Name: "tun", Carried: true}, {Name: "wg", Carried: true}},
		Tools:    []Tool{{Name: "engine", Drives: []Drive{{Workload: record.TCPRR, Turns: true}}}},
	}
	cells := record.Each(k.Networks, func(n Network) record.Cell { return cellOf(n.Name, record.TCPRR) })
	for _, c := range []struct{ cells, parts int }{{4, 2}, {5, 3}} {
		some := cells[:c.cells]
		groups := groupsOf(some, k.able(some, inTurns))
		want := []string{"turns bridge/tcp_rr host/tcp_rr veth/tcp_rr", "turns host/tcp_rr tun/tcp_rr", "turns host/tcp_rr wg/tcp_rr"}[:c.parts]
		if got := told(groups); !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		parts := record.Distinct(groups, func(g Group) int { return g.Part(cells[0]) })
		if len(parts) != c.parts || slices.Contains(parts, 0) {
			t.Errorf("the baseline is measured in the parts %v", parts)
		}
	}
	alone := []record.Cell{cells[0], cells[3]}
	groups := groupsOf(alone, k.able(alone, inTurns))
	if got := told(groups); !slices.Equal(got, []string{"turns host/tcp_rr tun/tcp_rr"}) || groups[0].Part(cells[0]) != 0 {
		t.Errorf("with its baseline alone: %q, part %d", got, groups[0].Part(cells[0]))
	}
	strangers := []record.Cell{cells[1], cells[3]}
	groups = groupsOf(strangers, k.able(strangers, inTurns))
	if got := told(groups); !slices.Equal(got, []string{"whole bridge/tcp_rr", "whole tun/tcp_rr"}) || groups[0].Part(cells[1])+groups[1].Part(cells[1]) > 0 {
		t.Errorf("without their baseline: %q, parts %d and %d", got, groups[0].Part(cells[1]), groups[1].Part(cells[1]))
	}
	alone = append(strangers, cells[0], cellOf("tun", record.UDPRR)) // the last one without a baseline
	for _, g := range groupsOf(alone, k.able(alone, inTurns)) {
		if g.Part(alone[3]) != 0 || g.Part(cells[0]) == 0 {
			t.Errorf("a cell that is compared with nothing is in part %d, a baseline in part %d", g.Part(alone[3]), g.Part(cells[0]))
		}
	}
}

// TestCrowd has networks stand alone where the containers of two of them are too many.
func TestCrowd(t *testing.T) {
	k := Known{
		Networks:  []Network{{Name: "kubernetes:pod"}, {Name: "kubernetes:native"}},
		Platforms: []Platform{{Name: "kubernetes", AtOnce: 8, Crowd: 64}},
	}
	for containers, want := range map[int]int{1: 8, 7: 8, 15: 4, 31: 2, 32: 1, 100: 1} {
		cells := record.Each(k.Networks, func(n Network) record.Cell {
			return record.Cell{Network: n.Name, Hosts: 2, Servers: 1, Clients: containers, Tool: "engine", Workload: record.TCPRR}
		})
		if got := k.able(cells, record.Settings{}).Room; got != want {
			t.Errorf("%d clients: room for %d networks, want %d", containers, got, want)
		}
	}
}

// TestEnginesAreShared cuts a set with more engines than can run at once: each group has the baseline, at most as many
// engines as allowed, and its share of the networks that need none.
func TestEnginesAreShared(t *testing.T) {
	cells := cellsOf(record.TCPRR, "docker:native", "docker:a", "docker:b", "docker:c", "docker:d", "v", "w", "x", "y")
	for i := range cells {
		cells[i].Baseline = "docker:native"
	}
	able := everything
	for room, want := range map[int]int{2: 4, 3: 2, 4: 2, 5: 1} {
		able.Room = room
		groups := groupsOf(cells, able)
		if len(groups) != want {
			t.Errorf("room for %d: %d groups, want %d", room, len(groups), want)
		}
		sum := 0
		for _, g := range groups {
			engines := 0
			for _, v := range g.Visits {
				if able.Bounded(v.Network) {
					engines++
				}
			}
			if engines > room || len(g.Contests) != 1 || len(g.Contests[0].Cells) != len(g.Visits) || len(g.Visits)-engines != 4/want {
				t.Errorf("room for %d: %d of %d networks have engines: %q", room, engines, len(g.Visits), told(groups))
			}
			sum += len(g.Visits)
		}
		if sum != len(cells)+want-1 {
			t.Errorf("room for %d: %d networks are built: %q", room, sum, told(groups))
		}
	}
}

// TestGroupsHaveABound checks that no more networks stand at once than there is room for, and that none is lost.
func TestGroupsHaveABound(t *testing.T) {
	var cells []record.Cell
	for i := range 60 {
		cells = append(cells, cellOf("n"+strings.Repeat("x", i), record.TCPRR))
	}
	for clients, most := range map[int]int{1: 30, 31: 4, 500: 1} {
		for i := range cells {
			cells[i].Clients = clients
		}
		sum := 0
		for _, g := range groupsOf(cells, everything) {
			sum += len(g.Visits)
			if len(g.Visits) > most {
				t.Errorf("%d networks of %d containers stand at once", len(g.Visits), clients+1)
			}
		}
		if sum != len(cells) {
			t.Errorf("%d of %d networks are in groups", sum, len(cells))
		}
	}
}

// TestPartsHaveTheirBaselines checks that sets that are cut have in each part the baselines of its cells, and no
// other network twice, and that trials can be told apart by the part.
func TestPartsHaveTheirBaselines(t *testing.T) {
	for _, c := range []struct {
		name          string
		networks      int // in addition to the baselines
		clients       int
		together      int
		change        func(c *record.Cell, i int)
		parts, at     int // groups, and networks in the largest
		baselineTimes int // in how many groups each baseline stands
	}{
		{"all at once", 39, 1, 0, nil, 1, 40, 1},
		{"too many networks", 40, 1, 0, nil, 2, 21, 2},
		{"too many containers", 6, 31, 0, nil, 2, 4, 2},
		{"no room for a second", 3, 100, 0, nil, 3, 2, 3},
		{"no room for a baseline", 3, 200, 0, nil, 4, 1, 1},
		{"each alone with its baseline", 5, 1, 1, nil, 5, 2, 5},
		{"three together", 5, 1, 3, nil, 2, 4, 2},
		{"more together than there are", 5, 1, 30, nil, 1, 6, 1},
		{"twins", 30, 1, 0, func(c *record.Cell, i int) { c.Twin = 1 + i%2 }, 2, 32, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cells []record.Cell
			add := func(network string, i int) {
				for _, work := range []string{record.TCPRR, record.UDPRR} {
					cell := cellOf(network, work)
					cell.Clients = c.clients
					if c.change != nil {
						c.change(&cell, i)
					}
					cells = append(cells, cell)
				}
			}
			add("host", 0)
			if c.change != nil {
				add("host", 1)
			}
			for i := range c.networks {
				add("n"+strings.Repeat("x", i), 0)
				if c.change != nil {
					add("n"+strings.Repeat("x", i), 1)
				}
			}
			able := everything
			able.Together = c.together
			groups := groupsOf(cells, able)
			largest := 0
			times, parts := map[record.Cell]int{}, map[string]bool{}
			for _, g := range groups {
				largest = max(largest, len(g.Visits))
				measured := measuredIn(g)
				for _, cell := range measured {
					times[cell]++
					at := fmt.Sprint(cell.Key(), " in part ", g.Part(cell))
					if parts[at] {
						t.Errorf("%s is measured twice", at)
					}
					parts[at] = true
					if c.clients <= MostContainers && !slices.Contains(measured, cell.Against()) {
						t.Errorf("%s is in a group without its baseline", cell.Key())
					}
					if g.Part(cell) != g.Part(cell.Against()) || len(groups) > 1 && c.clients <= MostContainers && g.Part(cell) == 0 {
						t.Errorf("%s is in part %d, its baseline in %d", cell.Key(), g.Part(cell), g.Part(cell.Against()))
					}
				}
			}
			if len(groups) != c.parts || largest != c.at {
				t.Errorf("%d groups of up to %d networks, want %d of up to %d", len(groups), largest, c.parts, c.at)
			}
			for _, cell := range cells {
				if want := map[bool]int{true: c.baselineTimes, false: 1}[cell.IsNative()]; times[cell] != want {
					t.Errorf("%s is in %d groups, want %d", cell.Key(), times[cell], want)
				}
			}
		})
	}
}

// TestTwoBaselines cuts a set whose networks are compared with different ones: a baseline stands only where it is
// needed, and a network that is only a baseline in some of its cells has the others once.
func TestTwoBaselines(t *testing.T) {
	var cells []record.Cell
	against := func(baseline string, networks ...string) {
		for _, c := range cellsOf(record.TCPRR, networks...) {
			c.Clients, c.Baseline = 31, baseline
			cells = append(cells, c)
		}
	}
	against("", "host", "veth", "a", "b", "c", "d")
	against("veth", "veth", "a", "b")
	times := map[record.Cell]int{}
	for _, g := range groupsOf(cells, everything) {
		if len(g.Visits) > 4 {
			t.Errorf("%d networks stand at once", len(g.Visits))
		}
		needed := map[record.Cell]bool{}
		for _, v := range g.Visits {
			for _, c := range v.Cells {
				times[c]++
				needed[c.Against()] = true
			}
		}
		for _, v := range g.Visits {
			for _, c := range v.Cells {
				if !needed[c] && c.IsNative() {
					t.Errorf("%s stands where nothing is compared with it", c.Key())
				}
			}
		}
	}
	for _, c := range cells {
		if times[c] == 0 || times[c] > 1 && !c.IsNative() {
			t.Errorf("%s is measured %d times", c.Key(), times[c])
		}
	}
}

// TestGroupsOfWhatIsLeft checks that a part keeps its number and its cells when some of them have been measured, and
// that groups with nothing left are not built.
func TestGroupsOfWhatIsLeft(t *testing.T) {
	cells := cellsOf(record.TCPRR, "host", "a", "b", "c", "d", "e", "f")
	for i := range cells {
		cells[i].Clients = 31
	}
	type slot struct {
		cell record.Cell
		part int
	}
	all := map[slot]bool{}
	for _, g := range groupsOf(cells, everything) {
		for _, v := range g.Visits {
			for _, c := range v.Cells {
				all[slot{c, g.Part(c)}] = true
			}
		}
	}
	for without := range all {
		got := map[slot]bool{}
		left := func(c record.Cell, part int) bool {
			return slot{c, part} != without && (part == without.part || c.Network == "host")
		}
		for _, g := range Groups(Visits(cells, 1, 1), inTurns, everything, left) {
			for _, c := range measuredIn(g) {
				got[slot{c, g.Part(c)}] = true
			}
		}
		for s := range all {
			if want := left(s.cell, s.part); got[s] != want {
				t.Errorf("without %s in part %d, %s in part %d is measured: %v", without.cell.Network, without.part, s.cell.Network, s.part, got[s])
			}
		}
		if want := len(all) - len(got); want < 1 {
			t.Errorf("%d of %d are left", len(got), len(all))
		}
	}
	if got := Groups(Visits(cells, 1, 1), inTurns, everything, func(record.Cell, int) bool { return false }); len(got) > 0 {
		t.Errorf("nothing is left, and %d groups are built", len(got))
	}
}

func TestOrder(t *testing.T) {
	for i := range 92 {
		others, each, workload := i/4, 3+i%2, []string{record.TCPStream, record.TCPRR}[i/2%2]
		c := Contest{Cells: []record.Cell{cellOf("host", workload)}}
		for i := range others {
			c.Cells = append(c.Cells, cellOf("bridge"+strings.Repeat("x", i), workload))
		}
		order, turn := c.Order(each, rand.New(rand.NewPCG(1, uint64(others)))), TurnOf(workload, false)
		count, begins, baselines := map[int]int{}, []time.Duration{}, []time.Duration{}
		var now time.Duration
		for _, i := range order {
			count[i]++
			if begins = append(begins, now); c.Cells[i].IsNative() {
				baselines = append(baselines, now)
			}
			now += turn.Length()
		}
		for at, begin := range begins {
			apart := now
			for _, b := range baselines {
				apart = min(apart, (b - begin).Abs())
			}
			if apart > mostApart {
				t.Errorf("%s, %d others: turn %d of %v begins %v from the baseline's", workload, others, at, order, apart)
			}
		}
		for i := range c.Cells[1:] {
			if count[i+1] != each {
				t.Errorf("%d others: one has %d turns, want %d", others, count[i+1], each)
			}
		}
		if want := each * baselinesInCycle(others, turn); count[0] != want {
			t.Errorf("%d others: the baseline has %d turns, want %d", others, count[0], want)
		}
		cycle := len(order) / each
		for at := range cycle {
			if order[at] != order[2*cycle-1-at] {
				t.Errorf("%d others: the second cycle %v is not the first one backwards, %v", others, order[cycle:2*cycle], order[:cycle])
				break
			}
		}
	}
}

// TestOrdersAreIndependent checks that the order of turns does not follow from the order in which networks were
// built.
func TestOrdersAreIndependent(t *testing.T) {
	set := record.Settings{Turns: true, Congestion: "cubic", Seed: 7}
	cells := cellsOf(record.TCPRR, "host", "host")
	cells[0].Twin, cells[1].Twin = 1, 2
	met := map[string]int{}
	const rounds = 200
	for round := range rounds {
		c := Groups(Visits(cells, round, set.Seed), set, everything, nil)[0].Contests[0]
		order := c.Order(2, Chance(set, round, "turns of "+c.Key()))
		met[fmt.Sprint(c.Cells[0].Twin, " is built first, the first turn has ", c.Cells[order[0]].Twin)]++
	}
	if len(met) != 4 {
		t.Errorf("of 4 combinations %d are met: %v", len(met), met)
	}
	for what, n := range met {
		if n < rounds/8 {
			t.Errorf("%s is met %d times in %d rounds: %v", what, n, rounds, met)
		}
	}
}

// TestBeside checks that the baseline of whole trials is in the middle.
func TestBeside(t *testing.T) {
	c := Contest{Cells: cellsOf(record.UDPRR, "host", "a", "b", "c", "d")}
	first := map[string]bool{}
	for seed := range uint64(20) {
		order := c.Beside(rand.New(rand.NewPCG(seed, 1)))
		if len(order) != len(c.Cells) || order[2].Network != "host" {
			t.Fatalf("the order is %v", order)
		}
		first[order[0].Network] = true
	}
	if len(first) < 3 {
		t.Errorf("only %v come first in 20 rounds", first)
	}
}

// TestTwinsTakeTurnsAlike checks that both twins have the same number of turns, since each is compared with the
// other.
func TestTwinsTakeTurnsAlike(t *testing.T) {
	var c Contest
	for _, n := range []string{"host", "bridge", "veth"} { // enough for several turns of a baseline in a cycle
		for twin := range 2 {
			cell := cellOf(n, record.TCPStream)
			cell.Twin = twin + 1
			c.Cells = append(c.Cells, cell)
		}
	}
	count := map[int]int{}
	for _, i := range c.Order(2, rand.New(rand.NewPCG(1, 1))) {
		count[i]++
	}
	for i := range c.Cells {
		if count[i] != 2 {
			t.Errorf("twin %d has %d turns", i, count[i])
		}
	}
}

// TestGivenRatesInTurns checks that traffic of a given rate takes turns if a slice holds enough of it.
func TestGivenRatesInTurns(t *testing.T) {
	able := Able{Turns: func(string, string) bool { return true }}
	for _, c := range []struct {
		work string
		o    record.Options
		want bool
	}{
		{record.TCPStream, record.Options{}, true},
		{record.TCPStream, record.Options{Bandwidth: 1e9}, true},
		{record.TCPStream, record.Options{Bandwidth: 10e6}, false},
		{record.TCPStream, record.Options{Bandwidth: 100e6}, true},
		{record.TCPStream, record.Options{Bandwidth: 100e6, MessageSize: 1 << 10}, true},
		{record.TCPStream, record.Options{Bandwidth: 100e6, MessageSize: 128 << 10}, false},
		{record.PacedRR, record.Options{Rate: 10_000}, true},
		{record.PacedRR, record.Options{Rate: 1000}, false},
		{record.PacedRR, record.Options{}, false},
	} {
		cell := cellOf("bridge", c.work)
		cell.Options = c.o
		if got := takesTurns(cell, inTurns, able); got != c.want {
			t.Errorf("%s %+v takes turns: %v", c.work, c.o, got)
		}
	}
}

// TestWhatHasWholeTrials checks that no transaction or write lasts into the turn of another network, and that no network has more turns
// than an agent can answer for.
func TestWhatHasWholeTrials(t *testing.T) {
	able := Able{Turns: func(string, string) bool { return true }}
	for _, c := range []struct {
		work    string
		o       record.Options
		seconds float64
		want    bool
	}{
		{record.TCPRR, record.Options{RequestSize: 64 << 10, ResponseSize: 64 << 10}, 0.2, true},
		{record.TCPRR, record.Options{RequestSize: 1 << 20}, 0.2, false},
		{record.TCPRR, record.Options{ResponseSize: 64 << 20}, 0.2, false},
		{record.TCPRR, record.Options{ResponseSize: 64 << 10, Streams: 8}, 0.2, false},
		{record.TCPStream, record.Options{MessageSize: 1 << 20}, 0.2, true},
		{record.TCPStream, record.Options{MessageSize: 128 << 10, Streams: mostFlows}, 0.2, true},
		{record.TCPStream, record.Options{MessageSize: 1 << 20, Streams: 8}, 0.2, false},
		{record.TCPStream, record.Options{MessageSize: 64 << 20}, 0.2, false},
		{record.TCPRR, record.Options{}, 60, true},
		{record.TCPRR, record.Options{Streams: mostFlows}, 120, false},
		{record.TCPRR, record.Options{}, 3600, false},
	} {
		cell := cellOf("bridge", c.work)
		cell.Options = c.o
		if got := takesTurns(cell, record.Settings{Turns: true, Congestion: "cubic", Duration: c.seconds}, able); got != c.want {
			t.Errorf("%s %+v for %v s takes turns: %v", c.work, c.o, c.seconds, got)
		}
	}
	for _, work := range []string{record.TCPStream, record.TCPRR} {
		for _, carried := range []bool{false, true} {
			if n := baselinesInCycle(mostTogether, TurnOf(work, carried)); n > 20 {
				t.Errorf("%s: the baseline has %d turns in a cycle, and mostReported counts on 20", work, n)
			}
		}
	}
}

// TestRelayedTrafficHasWholeTrials checks that a network does not take turns if its traffic is relayed with the machine's own
// congestion control, which may be BBR, while others do.
func TestRelayedTrafficHasWholeTrials(t *testing.T) {
	cells := cellsOf(record.TCPStream, "host", "bridge", "published-proxy")
	set := record.Settings{Turns: true, Congestion: "cubic", Duration: 0.2}
	room := func(network string) Room { return Room{AtOnce: 12, Relays: network == "published-proxy"} }
	groups := Groups(Visits(cells, 1, 1), set, AbleTo(cells, set, room, func(string, string) bool { return true }), nil)
	if len(groups) != 1 || len(groups[0].Visits) != 3 || len(groups[0].Contests) != 1 {
		t.Fatalf("%+v", groups)
	}
	if whole := groups[0].Whole; len(whole) != 1 || whole[0].Network != "published-proxy" {
		t.Errorf("whole trials of %+v", whole)
	}
}

func TestSlices(t *testing.T) {
	for _, c := range []struct {
		workload string
		duration float64
		want     int
	}{
		{record.TCPStream, 0.05, 2}, {record.TCPStream, 0.12, 2}, {record.TCPStream, 0.3, 3}, {record.TCPStream, 1, 10},
		{record.TCPRR, 0.05, 2}, {record.TCPRR, 0.2, 3}, {record.TCPRR, 0.4, 5},
	} {
		if got := Slices(c.workload, record.Settings{Duration: c.duration}); got != c.want {
			t.Errorf("%s of %v s: %d slices, want %d", c.workload, c.duration, got, c.want)
		}
	}
}

// TestRoomIsThatOfTheNarrowest checks how many networks can stand at once where platforms have room for different numbers: what stands
// alone in any case takes none of it, and networks of which no two can are no twins here.
func TestRoomIsThatOfTheNarrowest(t *testing.T) {
	rooms := map[string]Room{"two": {AtOnce: 2}, "three": {AtOnce: 3, Single: true}, "apart": {AtOnce: 1, Apart: true}, "any": {}}
	able := func(networks ...string) Able {
		cells := record.Each(networks, func(name string) record.Cell {
			return record.Cell{Network: strings.TrimSuffix(name, "!"), Hosts: 1, Clients: 1, Setup: record.Setup{Policies: map[bool]int{true: mostPolicies + 1}[strings.HasSuffix(name, "!")]}}
		})
		return AbleTo(cells, record.Settings{}, func(network string) Room { return rooms[network] }, nil)
	}
	for _, c := range []struct {
		networks []string
		room     int
		bounded  bool
	}{
		{[]string{"two", "three", "apart", "any"}, 2, false},
		{[]string{"two", "three!"}, 1, true},
		{[]string{"two!"}, 1, false},
	} {
		if a := able(c.networks...); a.Room != c.room || a.Bounded("two") != c.bounded || a.Bounded("any") || a.alone("apart") != slices.Contains(c.networks, "apart") {
			t.Errorf("%v: room for %d, bounded %v", c.networks, a.Room, a.Bounded("two"))
		}
	}
}

// TestProcessesTakeRoom checks that fewer networks stand at once if their clients have many processes, each with an agent.
func TestProcessesTakeRoom(t *testing.T) {
	c := record.Cell{Servers: 1, Clients: 1}
	for processes, want := range map[int]int{0: mostTogether, 1: mostTogether, 15: 8, 63: 2, 1000: 1} {
		if c.Processes = processes; (Able{}).mostAlike(c) != want {
			t.Errorf("%d processes: %d networks, want %d", processes, (Able{}).mostAlike(c), want)
		}
	}
}
