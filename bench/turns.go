package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"nettoll/plan"
	"nettoll/record"
)

// reported is what of a JSON report is read here.
type reported struct {
	Scenarios []struct {
		Workload string `json:"workload"`
		Hosts    int    `json:"hosts"`
		Networks []struct {
			Network string `json:"network"`
			Metrics []struct {
				Metric   string `json:"metric"`
				VsNative *struct {
					Primary  bool     `json:"primary"`
					Ratio    *float64 `json:"ratio"`
					Interval *struct {
						Low  float64 `json:"low"`
						High float64 `json:"high"`
					} `json:"interval"`
				} `json:"vs_native"`
			} `json:"metrics"`
		} `json:"networks"`
	} `json:"scenarios"`
}

// widths are the half widths of all primary ratios of a run, relative, by what they are of: a
// metric, and a network of so many hosts.
func (w *work) widths(ctx context.Context, file string) (map[string]map[string]float64, error) {
	text, err := w.nettoll(ctx, "report", file, "--format", "json").Output()
	if err != nil {
		return nil, err
	}
	var r reported
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	all := map[string]map[string]float64{}
	for _, s := range r.Scenarios {
		for _, n := range s.Networks {
			for _, m := range n.Metrics {
				c := m.VsNative
				if c == nil || !c.Primary || c.Ratio == nil || c.Interval == nil {
					continue
				}
				if all[m.Metric] == nil {
					all[m.Metric] = map[string]float64{}
				}
				all[m.Metric][fmt.Sprint(n.Network, s.Hosts)] = max(c.Interval.High / *c.Ratio - 1, 1 - c.Interval.Low / *c.Ratio)
			}
		}
	}
	return all, nil
}

// byHand is how long the same comparison takes with fixed repeats: iperf3 and qperf,
// ten times ten seconds each, for every network.
const byHand = 2 * 10 * 10.0 // seconds

// turns runs the default suite in turns and by whole trials, in the same time, and compares how
// well they know their ratios.
func turns(ctx context.Context, w *work) error {
	var known []map[string]map[string]float64
	for i, args := range [][]string{{"run"}, {"run", "--suite", "quick", "--turns=false", "-t", "200ms"}} {
		file := filepath.Join(w.dir, fmt.Sprintf("turns%d.ndjson", i))
		begin := time.Now()
		if err := w.nettoll(ctx, append(args, "-o", file)...).Run(); err != nil {
			return err
		}
		elapsed := time.Since(begin)
		all, err := w.widths(ctx, file)
		if err != nil {
			return err
		}
		known = append(known, all)
		if i == 0 {
			if err := inSlices(file, elapsed.Seconds()); err != nil {
				return err
			}
		}
	}
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

// inSlices shows how the time of a run was spent: in slices, in traffic that settles, whole turns
// at the beginning among it, and in neither; and how long it took beside the same by hand.
func inSlices(file string, elapsed float64) error {
	f, err := record.ReadFile(file)
	if err != nil {
		return err
	}
	if len(f.Ends) != 1 {
		return fmt.Errorf("%s has no end", file)
	}
	slices, settling := 0.0, 0.0
	for _, t := range f.Trials {
		turn := plan.TurnOf(t.Cell.Workload)
		for _, s := range t.Slices {
			slices += s.Window
			settling += turn.Settle.Seconds()
		}
		if len(t.Slices) > 0 {
			settling += plan.Cold * (turn.Settle + turn.Slice).Seconds()
		}
	}
	whole := f.Ends[0].Elapsed
	ratios{1 - (slices+settling)/whole}.show("time outside of slices and settling", false, 0.15)
	fmt.Printf("%-46s %6.2f, and in settling %.2f\n", "time in slices", slices/whole, settling/whole)
	networks := map[string]bool{}
	for _, c := range f.Run.Cells {
		networks[fmt.Sprint(c.Network, c.Hosts)] = true
	}
	ratios{elapsed / (byHand * float64(len(networks)))}.show("default suite ÷ 10 × 10 s of iperf3 and qperf", false, 1)
	return nil
}
