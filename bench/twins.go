package main

import (
	"context"
	"fmt"
	"math"

	"nettoll/analysis"
	"nettoll/record"
)

// Blocks of seven rounds are the shortest of which three comparisons can raise an alarm among
// themselves: their smallest p-value is 2/2⁷, below 0.05/3. What the tests attain is then close to
// 5 %, for one comparison as for three.
const (
	blockRounds  = 7
	familySize   = 3 // comparisons that are corrected together: a stream, and transactions of two sizes
	blocksOfARun = 4
)

// twins compares networks with themselves, so many pairs of them, and judges whether they are called
// different as often as the exact test says, each alone and, by Holm's correction, any of three.
func twins(ctx context.Context, w *work) error {
	const level, confidence = 0.95, 0.99
	const pairsOfARun = blocksOfARun * familySize * 2 // IP versions
	baselines := []string{"host", "veth", "bridge", "loopback"}
	var single, together alarms
	w.total = (w.size + pairsOfARun - 1) / pairsOfARun
	for i := range w.total {
		network := baselines[i%len(baselines)]
		args := []string{network, "--baseline", network, "--self-check", "--hosts", "1", "-4", "-6", "--workloads", record.TCPStream + "," + record.TCPRR,
			"--request-size", "1,1024", "-t", "25ms", "--confidence", fmt.Sprint(level)}
		f, err := w.run(ctx, fmt.Sprintf("twins-%d", i+1), append(args, fixedRounds(blockRounds*blocksOfARun)...)...)
		if err != nil {
			return err
		}
		all := analysis.SelfCheck(f, blockRounds)
		single.add(all.Comparisons, all.Alarms)
		for _, family := range families(f, level) {
			together.add(1, family)
		}
	}
	alone := analysis.Attained(blockRounds, level)
	first := analysis.Attained(blockRounds, 1-(1-level)/familySize) // Holm's first step
	single.show("twins called different", alone, confidence)
	together.show(fmt.Sprintf("any of %d twins, corrected by Holm", familySize), 1-math.Pow(1-first, familySize), confidence)
	return nil
}

// alarms are how many comparisons raised one.
type alarms struct{ of, raised int }

func (a *alarms) add(of, raised int) { a.of, a.raised = a.of+of, a.raised+raised }

// show judges whether the exact interval of the rate contains what it must be.
func (a alarms) show(what string, expected, level float64) {
	low, high := analysis.BinomialInterval(a.raised, a.of, level)
	fmt.Printf("%-46s %d of %d: %.4f  (%.0f %%: %.4f to %.4f)  aim: contains %.4f: %s\n",
		what, a.raised, a.of, float64(a.raised)/float64(max(1, a.of)), 100*level, low, high, expected,
		verdict(a.of > 0 && low <= expected && expected <= high, "it does not"))
}

// families are the blocks of a run, each IP version for itself: 1 where a verdict among its
// comparisons is an alarm, after their correction for each other, else 0.
func families(f *record.File, level float64) (raised []int) {
	for first := 1; first+blockRounds-1 <= f.Run.Settings.MaxRounds; first += blockRounds {
		for _, family := range []int{4, 6} {
			of := func(c record.Cell) bool { return c.Family == family }
			within := func(t record.Trial) bool { return t.Round >= first && t.Round < first+blockRounds }
			if n, alarmed := adjusted(partOf(f, of, within), level); n == familySize {
				raised = append(raised, alarmed)
			}
		}
	}
	return raised
}

// adjusted is how many primary comparisons have all rounds of a block, and whether one of them
// raises an alarm.
func adjusted(f *record.File, level float64) (n, raised int) {
	for row := range rows(f) {
		for _, of := range row.Figures {
			c := of.Ratio
			if c == nil || !c.Primary || c.N != blockRounds {
				continue
			}
			n++
			if c.Adjusted < 1-level {
				raised = 1
			}
		}
	}
	return n, raised
}
