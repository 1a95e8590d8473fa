package main

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"nettoll/analysis"
	"nettoll/record"
)

// ratios are of pairs that were measured one right after the other.
type ratios []float64

func (r ratios) median() float64 {
	s := slices.Sorted(slices.Values(r))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// geometric is the geometric mean.
func (r ratios) geometric() float64 {
	sum := 0.0
	for _, v := range r {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(r)))
}

// show prints a ratio and whether it is what was aimed at.
func (r ratios) show(what string, atLeast bool, aim float64) {
	m := r.median()
	word, met := "at most", m <= aim
	if atLeast {
		word, met = "at least", m >= aim
	}
	fmt.Printf("%-46s %6.2f  (%.2f to %.2f, n=%d)  aim %s %.2f: %s\n",
		what, m, slices.Min(r), slices.Max(r), len(r), word, aim, verdict(met, ""))
}

// verdict words whether an aim was met, and what was missed where that has to be said.
func verdict(met bool, missed string) string {
	switch {
	case met:
		return "met"
	case missed == "":
		return "MISSED"
	}
	return "MISSED (" + missed + ")"
}

// findings are how many of several runs called networks different that are, and in how many of these the interval
// has the true size.
type findings struct{ different, held int }

func (f *findings) add(c *analysis.Comparison, truth float64) {
	if c.Verdict != analysis.Different {
		return
	}
	f.different++
	if c.Low <= truth && truth <= c.High {
		f.held++
	}
}

// show judges whether nine of ten runs found it.
func (f findings) show(different, held string, runs int) {
	nineOfTen := func(what string, did int) {
		fmt.Printf("%-46s %d of %d  aim at least 9 of 10: %s\n", what, did, runs, verdict(10*did >= 9*runs, "too few"))
	}
	nineOfTen(different, f.different)
	nineOfTen("the same, with "+held+" in the interval", f.held)
}

// rows are those of all scenarios of a run, each with the rows of its scenario.
func rows(f *record.File) iter.Seq2[analysis.Row, []analysis.Row] {
	return func(yield func(analysis.Row, []analysis.Row) bool) {
		for _, s := range analysis.Analyze(f).Scenarios {
			for _, row := range s.Rows {
				if !yield(row, s.Rows) {
					return
				}
			}
		}
	}
}

// partOf is a run file with some of its cells, and of the trials of those some.
func partOf(f *record.File, cell func(record.Cell) bool, trial func(record.Trial) bool) *record.File {
	part := *f
	part.Run.Cells = slices.DeleteFunc(slices.Clone(f.Run.Cells), func(c record.Cell) bool { return !cell(c) })
	part.Trials = slices.DeleteFunc(slices.Clone(f.Trials), func(t record.Trial) bool { return !cell(t.Cell) || !trial(t) })
	return &part
}
