package main

import (
	"context"
	"fmt"
	"time"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
)

// widths returns the relative half widths of the intervals of all primary ratios of a run, by metric and then by
// network and number of hosts.
func widths(f *record.File) map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for _, row := range analysis.Analyze(f).Rows() {
		for _, of := range row.Figures {
			half, known := of.Ratio.HalfWidth()
			if !known || !of.Ratio.Primary {
				continue
			}
			if all[of.Kind.Name] == nil {
				all[of.Kind.Name] = map[string]float64{}
			}
			all[of.Kind.Name][fmt.Sprint(row.Cell.Network, row.Cell.Hosts)] = half
		}
	}
	return all
}

// byHand is how long the same comparison takes with fixed repeats: iperf3 and qperf, ten times ten seconds each,
// for every network.
const byHand = 2 * 10 * 10.0 // seconds

// sameTime has a run use a whole minute, however precise its ratios are by then: on a quiet machine each way would
// stop once it has the wanted precision.
var sameTime = []string{"--time-budget", "60s", "--precision", "0.1%", "--max-rounds", "1000"}

// turns runs the default suite in turns and by whole trials, in the same time, and compares the precision of their
// ratios.
func turns(ctx context.Context, w *work) error {
	w.total = 2
	begin := time.Now()
	byTurns, err := w.run(ctx, "turns", sameTime...)
	if err != nil {
		return err
	}
	inSlices(byTurns, time.Since(begin).Seconds())
	byTrials, err := w.run(ctx, "whole-trials", append([]string{"--suite", "quick", "--turns=false", "-t", "200ms"}, sameTime...)...)
	if err != nil {
		return err
	}
	known := [2]map[string]map[string]float64{widths(byTurns), widths(byTrials)}
	for _, metric := range []string{record.Throughput, record.LatencyP50} {
		var r ratios
		for cell, with := range known[0][metric] {
			if without := known[1][metric][cell]; without > 0 {
				r = append(r, with/without)
			}
		}
		if len(r) == 0 {
			return fmt.Errorf("no interval of %s is in both runs", metric)
		}
		fmt.Printf("%-46s each: %.2f\n", "half width of "+metric+", turns ÷ whole trials", r)
		ratios{r.geometric()}.show("the same, geometric mean", false, 0.5)
	}
	return nil
}

// inSlices shows how the time of a run was spent: in slices, in traffic that settles (including whole turns at the
// beginning), and in neither; and how long the run took compared with the same by hand.
func inSlices(f *record.File, elapsed float64) {
	slices, settling := 0.0, 0.0
	for _, t := range f.Trials {
		turn := plan.TurnOf(t.Cell.Workload, false) // daemons carry none of these networks
		for _, s := range t.Slices {
			slices += s.Window
			settling += turn.Settle.Seconds()
		}
		if len(t.Slices) > 0 {
			settling += plan.Cold * (turn.Settle + turn.Cold).Seconds()
		}
	}
	whole := f.Ends[0].Elapsed
	ratios{1 - (slices+settling)/whole}.show("time outside of slices and settling", false, 0.15)
	fmt.Printf("%-46s %6.2f, and in settling %.2f\n", "time in slices", slices/whole, settling/whole)
	networks := record.Distinct(f.Run.Cells, func(c record.Cell) string { return fmt.Sprint(c.Network, c.Hosts) })
	ratios{elapsed / (byHand * float64(len(networks)))}.show("default suite ÷ 10 × 10 s of iperf3 and qperf", false, 1)
}
