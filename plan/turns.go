package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"nettoll/record"
)

// Visit is one network of a round: it is built once, and all its cells are measured in it one after the other.
type Visit struct {
	record.Cell // what the cells have in common: no workload, tool, family, placement or baseline
	Cells       []record.Cell
}

// Timed reports whether building a network that has these things includes measuring how long something takes until it is in
// force. Such a network is built while no other one is: others would use the CPUs meanwhile, and keep the programs of a cluster
// that they share busy.
func (v Visit) Timed(has []string) bool {
	return v.Services > 0 && slices.Contains(has, record.Services) || v.Policies > 0 && slices.Contains(has, record.Policies)
}

// Shape parses the shape of the underlay.
func (v Visit) Shape() (Underlay, error) {
	u, err := ParseUnderlay(v.Underlay)
	if err == nil && u.Instance != "" && u.Rate == 0 && u.Delay == 0 {
		err = fmt.Errorf("underlay %s has no shape; write its rate, as in %[1]s:rate=1gbit", v.Underlay)
	}
	return u, err
}

// Visits puts the cells of a round in a random order: first the networks, then the cells within each. The order
// depends only on the set of cells, the round and the seed, so that a resumed run keeps the order that it began
// with.
func Visits(cells []record.Cell, round int, seed uint64) []Visit {
	visits := group(cells)
	r := rand.New(rand.NewPCG(seed, uint64(round)))
	r.Shuffle(len(visits), func(i, j int) { visits[i], visits[j] = visits[j], visits[i] })
	for _, v := range visits {
		r.Shuffle(len(v.Cells), func(i, j int) { v.Cells[i], v.Cells[j] = v.Cells[j], v.Cells[i] })
	}
	return visits
}

// Place returns the part of a cell that all cells measured in the same network share.
func Place(c record.Cell) record.Cell {
	for _, d := range record.Dimensions(record.Traffic, record.Option) {
		d.Clear(&c)
	}
	c.Family, c.Baseline = 0, ""
	return c
}

// group gathers the cells that are measured in the same network, in the order of their keys.
func group(cells []record.Cell) []Visit {
	type keyed struct {
		key  string
		cell record.Cell
	}
	sorted := record.Each(cells, func(c record.Cell) keyed { return keyed{c.Key(), c} })
	slices.SortFunc(sorted, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	places := record.Gather(sorted, func(k keyed) record.Cell { return Place(k.cell) })
	return record.Each(places, func(same []keyed) Visit {
		return Visit{Place(same[0].cell), record.Each(same, func(k keyed) record.Cell { return k.cell })}
	})
}

// The speed of a shared machine changes by a tenth or more within a second. Networks that are compared are
// therefore all built at once, and take turns: each has the machine for about a tenth of a second, then the next
// one. Changes of the machine then affect all of them alike, and cancel in their ratios.

// Turn is how long a network has the machine to itself.
type Turn struct {
	Settle time.Duration // traffic flows and is not counted
	Slice  time.Duration // the window
	Rest   time.Duration // packets in flight arrive, and counters are read
	Cold   time.Duration // the window if the turn does not count
}

// Length returns the whole length of the turn.
func (t Turn) Length() time.Duration { return t.Settle + t.Slice + t.Rest }

// ColdLength returns the whole length of the turn if it does not count.
func (t Turn) ColdLength() time.Duration { return t.Settle + t.Cold + t.Rest }

// Cold is how many turns of each network at the beginning do not count: connections have to grow, and caches to
// fill.
const Cold = 1

// Turns by workload. How short they can be depends on the workload: a stream's window has to grow again after each
// pause, while a transaction takes some ten microseconds. Shorter turns follow a machine's speed more closely, but more
// of the time is spent on coming to rest and settling; at these lengths ratios are as precise as with turns half as
// long. After turns that do not count, with a window of 5 ms already, the first slices are within 2 % of the later ones
// (docs/measured).
var (
	streamTurn   = Turn{Settle: 15 * time.Millisecond, Slice: 100 * time.Millisecond, Rest: 7 * time.Millisecond, Cold: 40 * time.Millisecond}
	exchangeTurn = Turn{Settle: 10 * time.Millisecond, Slice: 80 * time.Millisecond, Rest: 5 * time.Millisecond, Cold: 40 * time.Millisecond}
)

// Networks whose daemons carry the payload have longer turns. Daemons that have rested are slower at first: in the first tenth
// of their slices they carried 5 to 20 % less than later, for some 30 ms. And they queue more than the kernel: after a turn of a
// stream through tunnels that carry 0.4 Gbit/s, 1 to 2.6 MB were on their way, and the turns of others right after it had 5 %
// less throughput.
const (
	daemonsSettle = 45 * time.Millisecond
	daemonsRest   = 50 * time.Millisecond
)

// TurnOf returns the turn of a workload in a network that the kernel carries or, if carried, daemons do.
func TurnOf(workload string, carried bool) Turn {
	t, rest := streamTurn, daemonsRest
	switch workload {
	case record.TCPRR, record.PacedRR:
		t, rest = exchangeTurn, 0
	}
	if carried {
		t.Settle += daemonsSettle
		t.Rest += rest
		t.Cold = t.Slice
	}
	return t
}

// Chance returns a source of random orders, a different one for each purpose: two orders of one round that were made
// from the same random numbers would follow from each other.
func Chance(set record.Settings, round int, purpose string) *rand.Rand {
	h := fnv.New128a()
	fmt.Fprintf(h, "%d %d %s", set.Seed, round, purpose)
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))
}

// Slices returns how many slices a network has in a round, so that together they are at least as long as a trial
// should be. There are at least two: a cycle and the same one backwards.
func Slices(workload string, set record.Settings) int {
	return max(2, int(math.Ceil(set.Duration/TurnOf(workload, false).Slice.Seconds())))
}

// Limits on networks that stand at once.
const (
	mostTogether   = 40   // networks
	MostContainers = 128  // of all of them together, or of each if only a network and its baseline stand
	mostFlows      = 16   // of a network in turns
	mostServices   = 1000 // further ones of a network that shares its hosts with others
	mostPolicies   = 100  // likewise
)

// Able describes which networks can stand at once with others, and which traffic can take turns.
type Able struct {
	// Together is how many networks may stand at once in addition to their baseline; 0 is as many as there is room for.
	Together int
	// Rooms has the room of each network. One that is Carried stands only with its baseline: among 20 others it has a tenth
	// less throughput, and its figures must not depend on what else is measured.
	Rooms map[string]Room
	// Bounded reports whether a network is one of those of which only Room can stand at once. If Room is 1, each of
	// them stands alone.
	Bounded func(network string) bool
	Room    int
	Turns   func(tool, workload string) bool
}

// Room is how many networks can stand at once with one on its platform; 0 is any number.
type Room struct {
	AtOnce  int  // networks
	Crowd   int  // containers of all of them together, unless one alone has more
	Single  bool // two of its kind, as twins are, cannot
	Apart   bool // it stands alone
	Relays  bool // its traffic is relayed with the machine's own congestion control
	Carried bool // its daemons carry the payload
}

// like returns how many networks like that of a cell can stand at once.
func (r Room) like(c record.Cell) int {
	switch {
	case c.Twin > 0 && r.Single:
		return 1
	case r.Crowd == 0:
		return r.AtOnce
	}
	return max(1, min(r.AtOnce, r.Crowd/max(1, containersOf(c))))
}

// AbleTo works out which of a run's networks can stand at once. The result is the same in every round, so that a network
// is always measured in the same way.
func AbleTo(cells []record.Cell, set record.Settings, room func(network string) Room, turns func(tool, workload string) bool) Able {
	bounded, rooms := map[string]bool{}, map[string]Room{}
	among, least := 0, 0
	for _, v := range group(cells) {
		r := room(v.Network)
		rooms[v.Network] = r
		if r.Apart {
			continue
		}
		n := r.like(v.Cell)
		if v.Services > mostServices || v.Policies > mostPolicies {
			n = min(n, 1) // addresses, or the time that programs take to enforce policies, are enough for one such network only
		}
		if n > 0 {
			bounded[v.Network] = true
			if among++; least == 0 || n < least {
				least = n
			}
		}
	}
	fit := among <= least
	return Able{
		Together: set.Together,
		Rooms:    rooms,
		Bounded:  func(network string) bool { return !fit && bounded[network] },
		Room:     least,
		Turns:    turns,
	}
}

// alone reports whether a network can stand at once with no other.
func (a Able) alone(network string) bool {
	return a.Rooms[network].Apart || a.Room == 1 && a.Bounded(network)
}

// able calls AbleTo with what is known of platforms, networks and tools.
func (k Known) able(cells []record.Cell, set record.Settings) Able {
	room := func(network string) Room {
		p := k.platformOf(network)
		kind := k.kindOf(network)
		return Room{p.AtOnce, p.Crowd, kind.Single, kind.Apart, kind.Relays, kind.Carried}
	}
	return AbleTo(cells, set, room, func(tool, workload string) bool {
		t, _ := k.tool(tool)
		d, _ := t.drives(workload)
		return d.Turns
	})
}

// Group is a set of networks that are built together and stand at once.
type Group struct {
	Visits   []Visit
	Contests []Contest     // in turns
	Whole    []record.Cell // measured one after the other, each by a whole trial

	part  int                  // which part of a set that was cut, from 1; 0 if it was not
	based map[record.Cell]bool // of a part: its baselines, and the cells that are compared with them
}

// Part returns the part of the round for which the cell's baseline is built anew: a trial of the cell is compared
// with the trial of the baseline that has the same number. It is 0 if the round has only one such trial.
func (g Group) Part(c record.Cell) int {
	if g.based[c] {
		return g.part
	}
	return 0
}

// Contest is a set of cells that take turns. They differ only in their networks.
type Contest struct{ Cells []record.Cell }

// Key is equal for the same contest in every round.
func (c Contest) Key() string { return c.Cells[0].Scenario().Key() }

// Workload returns the workload that all of them measure.
func (c Contest) Workload() string { return c.Cells[0].Workload }

// Groups puts together the networks of a round that are built under equal conditions, in the order in which they
// come. Those on different numbers of hosts are built at the same time if there is room for all: most of the time it
// takes is spent waiting. Networks that cannot stand at once are groups of one. If there are too many for one group, or
// some may stand only with their baseline, they are cut into several, and the baselines are built anew in each, so that
// no network is compared with one measured at another time.
//
// left reports whether a cell still has to be measured in a part of the round; nil means that all have to. What a
// group consists of depends on visits alone, so that a resumed round finds the groups that it began with.
func Groups(visits []Visit, set record.Settings, able Able, left func(c record.Cell, part int) bool) (groups []Group) {
	anywhere := func(v Visit) record.Cell {
		if !set.Turns || able.alone(v.Network) {
			return v.Cell
		}
		v.Network, v.Twin, v.Hosts = "", 0, 0
		return v.Cell
	}
	for _, alike := range record.Gather(visits, anywhere) {
		sets := [][]Visit{alike}
		if !able.hold(alike) {
			sets = record.Gather(alike, func(v Visit) int { return v.Hosts })
		}
		for _, all := range sets {
			for _, g := range cut(all, able) {
				if left != nil {
					g.keep(left)
				}
				if len(g.Visits) > 0 {
					g.share(set, able)
					groups = append(groups, g)
				}
			}
		}
	}
	return groups
}

// containersOf returns how many containers a network has.
func containersOf(v record.Cell) int { return v.Servers + v.Clients + v.Neighbours }

// roomOf returns how much of MostContainers a network takes: further processes of a client have an agent each, as containers do.
func roomOf(v record.Cell) int { return v.Servers + v.Pairs() + v.Neighbours }

// mostAlike returns how many networks with as many containers as this one can stand at once.
func (a Able) mostAlike(v record.Cell) int {
	most := mostTogether
	if a.Together > 0 {
		most = min(most, a.Together+1)
	}
	return min(most, max(1, MostContainers/max(1, roomOf(v))))
}

// hold reports whether networks that all have the same number of containers may stand at once, and there is room for them.
func (a Able) hold(visits []Visit) bool {
	bounded := record.Those(visits, func(v Visit) bool { return a.Bounded(v.Network) })
	crowded := slices.ContainsFunc(visits, func(v Visit) bool { return a.Rooms[v.Network].Carried }) && len(visits) > 1 && !pair(visits)
	return len(visits) <= a.mostAlike(visits[0].Cell) && (len(bounded) <= a.Room || len(visits) == 1) && !crowded
}

// pair reports whether networks are one and its baseline.
func pair(visits []Visit) bool {
	against := func(v Visit) record.Cell { return Place(v.Cells[0].Against()) }
	return len(visits) == 2 && (against(visits[0]) == visits[1].Cell || against(visits[1]) == visits[0].Cell)
}

// cut divides networks into groups: one for each network that may stand only with its baseline, and groups of about equal
// size, as few as the room allows, for the others. A network and its baseline may have twice the room, so that they stand
// together wherever each of them alone would have room enough.
func cut(all []Visit, able Able) (groups []Group) {
	if able.hold(all) {
		return []Group{{Visits: all}}
	}
	var compared map[record.Cell]bool
	if roomOf(all[0].Cell) <= MostContainers {
		compared = comparedIn(all)
	}
	carried := func(m member) bool { return able.Rooms[m.Network].Carried }
	members := membersOf(all, compared)
	for _, m := range record.Those(members, carried) {
		groups = append(groups, partOf(all, m.cells, compared))
	}
	others := deal(all, slices.DeleteFunc(members, carried), compared, able)
	if able.Rooms[all[0].Network].Carried { // so that the end of the time does not always cut off the same ones
		groups = append(groups, others...)
	} else {
		groups = append(others, groups...)
	}
	for i := range groups {
		groups[i].part = i + 1
	}
	return groups
}

// deal divides members into groups of about equal size, as few as the room allows.
func deal(all []Visit, members []member, compared map[record.Cell]bool, able Able) (groups []Group) {
	bounded := func(m member) bool { return able.Bounded(m.Network) }
	members = append(record.Those(members, bounded), slices.DeleteFunc(members, bounded)...) // so that these are spread evenly over the groups
	most := able.mostAlike(all[0].Cell)
	for n := (len(members) + most - 1) / most; n <= len(members); n++ {
		dealt := make([][]record.Cell, n)
		for i, m := range members {
			dealt[i%n] = append(dealt[i%n], m.cells...)
		}
		groups = record.Each(dealt, func(cells []record.Cell) Group { return partOf(all, cells, compared) })
		if !slices.ContainsFunc(groups, func(g Group) bool { return !able.hold(g.Visits) }) {
			break
		}
	}
	return groups
}

// comparedIn returns the baselines with which other cells of the networks are compared.
func comparedIn(all []Visit) map[record.Cell]bool {
	here, compared := map[record.Cell]bool{}, map[record.Cell]bool{}
	for _, v := range all {
		for _, c := range v.Cells {
			here[c] = true
		}
	}
	for c := range here {
		if to := c.Against(); to != c && here[to] {
			compared[to] = true
		}
	}
	return compared
}

// member is a network that is not only a baseline.
type member struct {
	record.Cell               // as of its visit
	cells       []record.Cell // its own, and the baselines that they need
}

func membersOf(all []Visit, compared map[record.Cell]bool) (members []member) {
	for _, v := range all {
		var own []record.Cell
		for _, c := range v.Cells {
			switch to := c.Against(); {
			case !compared[to]:
				own = append(own, c)
			case to != c:
				own = append(own, c, to)
			}
		}
		if len(own) > 0 {
			members = append(members, member{v.Cell, own})
		}
	}
	return members
}

// partOf returns the group of the given cells.
func partOf(all []Visit, cells []record.Cell, compared map[record.Cell]bool) Group {
	in, g := map[record.Cell]bool{}, Group{based: map[record.Cell]bool{}}
	for _, c := range cells {
		in[c] = true
		if compared[c.Against()] {
			g.based[c] = true
		}
	}
	g.Visits = all
	g.keep(func(c record.Cell, _ int) bool { return in[c] })
	return g
}

// keep leaves out cells, and networks without any.
func (g *Group) keep(such func(c record.Cell, part int) bool) {
	g.Visits = record.Found(g.Visits, func(v Visit) (Visit, bool) {
		v.Cells = record.Those(v.Cells, func(c record.Cell) bool { return such(c, g.Part(c)) })
		return v, len(v.Cells) > 0
	})
}

// share finds the cells that take turns. A cell with no other to take turns with is measured by a whole trial.
func (g *Group) share(set record.Settings, able Able) {
	var resting []record.Cell
	for _, v := range g.Visits {
		for _, c := range v.Cells {
			if len(g.Visits) > 1 && takesTurns(c, set, able) {
				resting = append(resting, c)
			} else {
				g.Whole = append(g.Whole, c)
			}
		}
	}
	for _, c := range Alike(resting) {
		if len(c.Cells) > 1 {
			g.Contests = append(g.Contests, c)
		} else {
			g.Whole = append(g.Whole, c.Cells...)
		}
	}
}

// Alike gathers cells that differ only in their networks, in the order in which they come.
func Alike(cells []record.Cell) []Contest {
	same := func(c record.Cell) record.Cell {
		c.Network, c.Twin, c.Baseline = "", 0, ""
		return c
	}
	return record.Each(record.Gather(cells, same), func(alike []record.Cell) Contest { return Contest{alike} })
}

// Beside returns the cells in the order in which they have one whole trial each: random, with the baseline in the
// middle, so that no other is far from it.
func (c Contest) Beside(r *rand.Rand) []record.Cell {
	baselines, others := c.sides()
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	order := slices.Insert(others, len(others)/2, baselines...)
	return record.Each(order, func(i int) record.Cell { return c.Cells[i] })
}

// takesTurns reports whether the traffic of a cell can be measured in turns. It cannot where the traffic would not reach
// its full rate by the end of a turn: on a shaped link, or when paced by BBR, whose model of the path is older than a
// turn, as the machine's own congestion control may do, here or in a process on the path. Every ten seconds BBR probes for
// 200 ms, in which it hardly sends: that is all of one slice in some, and next to nothing of a trial. Nor can it where a given rate leaves too little traffic in a
// slice, where transactions or writes are so large that they would last into the next turn, where there are more than mostFlows
// flows, or where there are more slices than an agent can answer for at once.
func takesTurns(c record.Cell, set record.Settings, able Able) bool {
	o, flows := c.Options, c.Pairs()*max(c.Options.Streams, 1)
	control := cmp.Or(o.Congestion, set.Congestion, record.MachinesOwn)
	if able.Rooms[c.Network].Relays {
		control = record.MachinesOwn
	}
	return able.Turns(c.Tool, c.Workload) && c.Underlay == "" && control != record.MachinesOwn && !strings.HasPrefix(control, "bbr") &&
		fillsSlice(c) && flows*(o.RequestSize+o.ResponseSize) <= mostExchanged && flows*o.MessageSize <= mostWritten && flows <= mostFlows &&
		Slices(c.Workload, set)*(12+flows) <= mostReported
}

// mostExchanged is how many bytes the requests and responses of all flows may have together. When a slice is over, each flow
// ends its transaction and sends a last request, which together take up to 4 ms over 1 Gbit/s.
const mostExchanged = 256 << 10

// mostWritten is how many bytes one write of each flow of a stream may have, all together. A sender notices that a slice is over
// when its write returns: over 20 Gbit/s 0.2 ms after it with 1 MiB, 1 ms with 8 MiB, and 25 ms with 64 MiB, in the next turn.
const mostWritten = 4 << 20

// mostReported bounds how many slices a network may have in a round: an agent answers for all turns at once, in at most 16 MiB
// (agent.MaxFrame), with up to 32 bytes for each flow of each turn, and as much as 12 flows besides. A baseline has up to 20 turns
// in a cycle, see baselinesInCycle.
const mostReported = 16 << 20 / (32 * 20)

// Least traffic of a given rate in a slice: what is cut off at the edges of the window is then at most a hundredth. The sender
// of a stream stops with the slice, so that a message that is due later is missing in it.
const (
	leastBytes    = 600_000
	leastMessages = 100
	leastAnswers  = 100
)

// fillsSlice reports whether a slice holds enough traffic, if its rate is given.
func fillsSlice(c record.Cell) bool {
	o, slice := c.Options, TurnOf(c.Workload, false).Slice.Seconds()
	switch {
	case o.Bandwidth > 0:
		return float64(o.Bandwidth)/8*slice >= max(leastBytes, leastMessages*float64(o.MessageSize))
	case o.Rate > 0 || c.Workload == record.PacedRR:
		return float64(o.Rate)*slice >= leastAnswers
	}
	return true
}

// mostApart is the longest time allowed between a turn and the nearest turn of the baseline: the speed of a shared
// machine is uncorrelated after 0.4 s.
const mostApart = 300 * time.Millisecond

// mostBetween returns how many turns of others may lie between two of the baseline, so that none of them begins too far from
// the nearest of these two: half of them follow the first, half precede the second. The number is even, as that is where a cycle
// meets its mirror image. (Networks whose turns are longer are alone with the baseline.)
func (t Turn) mostBetween() int { return 2 * int(mostApart/t.Length()) }

// baselinesInCycle returns how often the baseline has its turn in a cycle with the given number of other networks.
// The error of a ratio is least at the square root of that number. More turns are added where others would be too
// far from the nearest turn of the baseline.
func baselinesInCycle(others int, turn Turn) int {
	between := turn.mostBetween()
	return max(1, int(math.Round(math.Sqrt(float64(others)))), (others+between-1)/between)
}

// Order returns whose turn it is, as indices into Cells: cycles in which every network has its turn once, in a
// random order, and the baseline several times between them, evenly spaced, with half of that space before its first turn
// and after its last one. Each cycle is followed by the same one backwards, so that a steady change affects all alike; only
// the last one of an odd number is not.
func (c Contest) Order(slicesEach int, r *rand.Rand) (order []int) {
	baselines, others := c.sides()
	n := baselinesInCycle(len(others), TurnOf(c.Workload(), false))
	for done := 0; done < slicesEach; done += 2 {
		r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		var cycle []int
		placed := 0
		for i := range n {
			until := int(math.Round((float64(i) + 0.5) * float64(len(others)) / float64(n)))
			cycle = slices.Concat(cycle, others[placed:until], baselines)
			placed = until
		}
		cycle = append(cycle, others[placed:]...)
		if r.IntN(2) == 0 { // the halves are not always equal
			slices.Reverse(cycle)
		}
		order = append(order, cycle...)
		if done+1 < slicesEach {
			slices.Reverse(cycle)
			order = append(order, cycle...)
		}
	}
	return order
}

// sides returns the indices of the baseline, and of the cells that are compared with it. Twins are all treated
// alike, since each is compared with its own twin.
func (c Contest) sides() (baselines, others []int) {
	for i, cell := range c.Cells {
		if cell.IsNative() {
			baselines = append(baselines, i)
		} else {
			others = append(others, i)
		}
	}
	if len(baselines) > 1 {
		return nil, append(baselines, others...)
	}
	return baselines, others
}

// span returns how long all turns of the contest take, including the Cold ones at the beginning.
func (c Contest) span(set record.Settings, known Known) (all time.Duration) {
	turns := make([]int, len(c.Cells))
	for _, i := range c.Order(Slices(c.Workload(), set), rand.New(rand.NewPCG(1, 1))) {
		turns[i]++
	}
	for i, cell := range c.Cells {
		turn := TurnOf(c.Workload(), known.kindOf(cell.Network).Carried)
		all += time.Duration(turns[i])*turn.Length() + Cold*turn.ColdLength()
	}
	return all
}
