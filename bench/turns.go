package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

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
func widths(ctx context.Context, program, file string) (map[string]map[string]float64, error) {
	text, err := nettoll(ctx, program, "report", file, "--format", "json").Output()
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

// turns runs the default suite in turns and by whole trials, in the same time, and compares how
// well they know their ratios.
func turns(ctx context.Context, program, dir string) error {
	var known []map[string]map[string]float64
	for i, args := range [][]string{{"run"}, {"run", "--suite", "quick", "--turns=false", "-t", "200ms"}} {
		file := filepath.Join(dir, fmt.Sprintf("turns%d.ndjson", i))
		if err := nettoll(ctx, program, append(args, "-o", file)...).Run(); err != nil {
			return err
		}
		all, err := widths(ctx, program, file)
		if err != nil {
			return err
		}
		known = append(known, all)
		if i == 0 {
			if err := inSlices(file); err != nil {
				return err
			}
		}
	}
	for _, metric := range []string{record.Throughput, record.LatencyP50} {
		var r ratios
		sum := 0.0
		for cell, with := range known[0][metric] {
			if without := known[1][metric][cell]; without > 0 {
				r = append(r, with/without)
				sum += math.Log(with / without)
			}
		}
		if len(r) == 0 {
			return fmt.Errorf("no interval of %s is in both runs", metric)
		}
		mean := math.Exp(sum / float64(len(r)))
		fmt.Printf("%-46s each: %.2f\n", "half width of "+metric+", turns ÷ whole trials", r)
		ratios{mean}.show("the same, geometric mean", false, 0.5)
	}
	return nil
}

// inSlices shows how much of a run was not in slices, their settling included.
func inSlices(file string) error {
	f, err := record.ReadFile(file)
	if err != nil {
		return err
	}
	if len(f.Ends) != 1 {
		return fmt.Errorf("%s has no end", file)
	}
	sum := 0.0
	for _, t := range f.Trials {
		for _, s := range t.Slices {
			sum += s.Window + plan.TurnOf(t.Cell.Workload).Settle.Seconds()
		}
	}
	ratios{1 - sum/f.Ends[0].Elapsed}.show("time outside of slices and their settling", false, 0.15)
	return nil
}
