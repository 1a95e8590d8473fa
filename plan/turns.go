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

// A machine's speed changes by a tenth and more within a second, where others share it. Networks
// that are compared are therefore built all at once, and take turns: each has the machine for
// some hundredths of a second, then the next one. What the machine does hits all of them alike,
// and cancels in their ratios.

// Turn is how long a network has the machine to itself.
type Turn struct {
	Settle time.Duration // in which traffic flows and is not counted
	Slice  time.Duration // the window
	Rest   time.Duration // in which what is on its way arrives, and counters are read
}

// Length is all of it.
func (t Turn) Length() time.Duration { return t.Settle + t.Slice + t.Rest }

// Cold is how many turns each network has at the beginning that do not count: connections have to
// grow, and caches to be filled.
const Cold = 1

// Turns by workload, in the order of how short they may be: a stream's window has to grow again
// after each pause, and a transaction takes some ten microseconds.
var (
	streamTurn   = Turn{Settle: 15 * time.Millisecond, Slice: 75 * time.Millisecond, Rest: 8 * time.Millisecond}
	exchangeTurn = Turn{Settle: 10 * time.Millisecond, Slice: 40 * time.Millisecond, Rest: 6 * time.Millisecond}
)

// TurnOf is the turn of a workload.
func TurnOf(workload string) Turn {
	switch workload {
	case record.TCPRR, record.PacedRR:
		return exchangeTurn
	}
	return streamTurn
}

// Chance is a source of random orders, another one for each purpose: two orders of one round
// that were made from the same numbers could undo each other.
func Chance(set record.Settings, round int, purpose string) *rand.Rand {
	h := fnv.New128a()
	fmt.Fprintf(h, "%d %d %s", set.Seed, round, purpose)
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))
}

// Slices is how many slices a network has in a round, so that together they are as long as a
// trial is to be: an even number, since every other cycle runs backwards.
func Slices(workload string, set record.Settings) int {
	n := int(math.Ceil(set.Duration / TurnOf(workload).Slice.Seconds()))
	return max(2, n+n%2)
}

// Limits of what stands at once.
const (
	mostTogether   = 40  // networks
	mostContainers = 128 // of them together
	mostFlows      = 16  // of a network in turns
)

// Able says what can stand beside others, and take turns.
type Able struct {
	// Beside says of a network whether it can stand beside all others of the run.
	Beside func(network string) bool
	// Across says that networks on different numbers of hosts are built at once, too: it takes time
	// to build them, and little work.
	Across bool
	Turns  func(tool, workload string) bool
}

// AbleTo says what of a run's networks can stand at once, of which only so many of a platform's
// can; 0 is any number. It is the same in every round: a network is measured in one way.
func AbleTo(cells []record.Cell, atOnce func(network string) int, turns func(tool, workload string) bool) Able {
	bounded, least := 0, 0
	for _, v := range group(cells) {
		if n := atOnce(v.Network); n > 0 {
			if bounded++; least == 0 || n < least {
				least = n
			}
		}
	}
	fit := bounded <= least
	return Able{
		Beside: func(network string) bool { return fit || atOnce(network) == 0 },
		Across: bounded > 0 && fit,
		Turns:  turns,
	}
}

// able reads it off what is known.
func (k Known) able(cells []record.Cell) Able {
	atOnce := func(network string) int { return k.platformOf(network).AtOnce }
	return AbleTo(cells, atOnce, func(tool, workload string) bool {
		t, _ := k.tool(tool)
		d, _ := t.drives(workload)
		return d.Turns
	})
}

// Group is networks that are built and stand at once.
type Group struct {
	Visits   []Visit
	Contests []Contest     // in turns
	Whole    []record.Cell // measured one after the other, by a whole trial each
}

// Contest is cells that take turns. They differ in their networks alone.
type Contest struct{ Cells []record.Cell }

// Key is equal for the same contest of every round.
func (c Contest) Key() string { return c.Cells[0].Scenario().Key() }

// Workload is what all of them measure.
func (c Contest) Workload() string { return c.Cells[0].Workload }

// Groups puts the networks of a round together that differ in nothing but what they are, in the
// order in which they come. Where networks cannot stand at once, each is a group. Those that are
// too many stand in several groups, of which one has the baseline: the others are further from it.
func Groups(visits []Visit, set record.Settings, able Able) (groups []Group) {
	place := func(v Visit) record.Cell {
		if !set.Turns || !able.Beside(v.Network) {
			return v.Cell
		}
		v.Network, v.Twin = "", 0
		if able.Across {
			v.Hosts = 0
		}
		return v.Cell
	}
	for _, all := range gathered(visits, place) {
		most := min(mostTogether, max(1, mostContainers/max(1, all[0].Servers+all[0].Clients+all[0].Neighbours)))
		parts := (len(all) + most - 1) / most
		for part := range slices.Chunk(all, (len(all)+parts-1)/parts) {
			g := Group{Visits: part}
			g.share(set, able)
			groups = append(groups, g)
		}
	}
	return groups
}

// share finds the cells that take turns. One that has nobody to take turns with is measured by
// a whole trial.
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

// Alike puts cells together that differ in their networks alone, in the order in which they come.
func Alike(cells []record.Cell) (all []Contest) {
	same := func(c record.Cell) record.Cell {
		c.Network, c.Twin, c.Baseline = "", 0, ""
		return c
	}
	for _, alike := range gathered(cells, same) {
		all = append(all, Contest{alike})
	}
	return all
}

// Beside is the cells in the order in which they have one whole trial each: random, and the
// baseline in the middle, so that no other is far from it.
func (c Contest) Beside(r *rand.Rand) []record.Cell {
	baselines, others := c.sides()
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	var order []record.Cell
	for _, i := range slices.Insert(others, len(others)/2, baselines...) {
		order = append(order, c.Cells[i])
	}
	return order
}

// takesTurns reports whether the traffic of a cell can be measured in turns. It cannot where it
// would not have grown by the end of a turn: on a link that is shaped, or paced by BBR, whose
// model of the path is older than that. Nor can it where a given rate leaves a slice with little.
func takesTurns(c record.Cell, set record.Settings, able Able) bool {
	o := c.Options
	control := cmp.Or(o.Congestion, set.Congestion, record.MachinesOwn)
	return able.Turns(c.Tool, c.Workload) && c.Underlay == "" && control != record.MachinesOwn && !strings.HasPrefix(control, "bbr") &&
		fillsSlice(c) && c.Pairs()*max(o.Streams, 1) <= mostFlows
}

// How much of traffic of a given rate a slice holds at least: what the edges of a window cut off
// is then no more than a hundredth.
const (
	leastBytes   = 600_000
	leastAnswers = 100
)

// fillsSlice reports whether a slice holds enough of traffic whose rate is given.
func fillsSlice(c record.Cell) bool {
	o, slice := c.Options, TurnOf(c.Workload).Slice.Seconds()
	switch {
	case o.Bandwidth > 0:
		return float64(o.Bandwidth)/8*slice >= leastBytes
	case o.Rate > 0 || c.Workload == record.PacedRR:
		return float64(o.Rate)*slice >= leastAnswers
	}
	return true
}

// mostApart is how long before or after a turn one of the baseline begins, at most: a shared machine's
// speed forgets itself in 0.4 s.
const mostApart = 300 * time.Millisecond

// baselinesInCycle is how often the baseline has its turn in a cycle of so many other networks:
// the error of a ratio is least with the square root of their number. It is more often where a
// turn would be too far from the next one of the baseline: as many turns as lie between two of these,
// since where a cycle meets its mirror image there are twice as many.
func baselinesInCycle(others int, turn time.Duration) int {
	between := int(mostApart / turn)
	return max(1, int(math.Round(math.Sqrt(float64(others)))), (others+between-1)/between)
}

// Order is whose turn it is, by places in Cells: cycles in which every network has its turn once,
// in a random order, and the baseline several times between them, evenly spaced, before the first
// or behind the last. Each cycle is followed by the same one backwards, so that what changes
// steadily hits all alike.
func (c Contest) Order(slicesEach int, r *rand.Rand) (order []int) {
	baselines, others := c.sides()
	turn := TurnOf(c.Workload()).Length()
	for range slicesEach / 2 {
		r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		var cycle []int
		n := baselinesInCycle(len(others), turn)
		for i, o := range others {
			if i == 0 || i*n/len(others) != (i-1)*n/len(others) {
				cycle = append(cycle, baselines...)
			}
			cycle = append(cycle, o)
		}
		if len(others) == 0 {
			cycle = append(cycle, baselines...)
		}
		if r.IntN(2) == 0 { // else the baseline would have the first turn of all, and the last
			slices.Reverse(cycle)
		}
		order = append(order, cycle...)
		slices.Reverse(cycle)
		order = append(order, cycle...)
	}
	return order
}

// sides are the places of the baseline, and of those that are compared with it. Twins are all
// alike: each is compared with its own.
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

// span is how long all turns of the contest take, with one each at the beginning that warms up.
func (c Contest) span(set record.Settings) time.Duration {
	w := c.Workload()
	order := c.Order(Slices(w, set), rand.New(rand.NewPCG(1, 1)))
	return time.Duration(len(order)+Cold*len(c.Cells)) * TurnOf(w).Length()
}
