package report

import (
	"slices"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// TestSweepsKeepWhatNetworksAreSaidToBe has networks with doubts of the same codes. Those that say different things are told of each,
// and those that differ in amounts are told once.
func TestSweepsKeepWhatNetworksAreSaidToBe(t *testing.T) {
	line := func(name string, all ...analysis.Warning) analysis.Line {
		at := func(x int) analysis.SweepPoint {
			return analysis.SweepPoint{X: x, Row: analysis.Row{Cell: record.Cell{Network: name, Clients: x + 1}, Warnings: all}}
		}
		return analysis.Line{Network: name, Points: []analysis.SweepPoint{at(0), at(1)}}
	}
	unlike := func(what string) analysis.Warning { return analysis.Warning{Code: analysis.WarnDiffers, Text: what} }
	noisy := func(what string) analysis.Warning { return analysis.Warning{Code: analysis.WarnNoisy, Text: what} }
	s := analysis.Sweep{Kinds: record.Kinds()[:1], Lines: []analysis.Line{
		line("veth", unlike("MTU 1500"), noisy("throughput varied by much")),
		line("bridge", unlike("MTU 1400"), noisy("latency varied by more")),
	}}
	var n notes
	marks := sweepMarks([]analysis.Sweep{s}, &n)[0]
	said := func(network string) []string {
		return record.Each(marks[network], func(k int) string { return n.list[k-1].Text })
	}
	both := "throughput varied by much; similar in 4 cells in all"
	for network, want := range map[string][]string{
		"veth": {"MTU 1500; similar in 2 cells in all", both}, "bridge": {both, "MTU 1400; similar in 2 cells in all"},
	} {
		if got := said(network); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: %q, want %q", network, got, want)
		}
	}
	s.Kinds, n = nil, notes{}
	if marks := sweepMarks([]analysis.Sweep{s}, &n)[0]; len(marks)+len(n.list) > 0 {
		t.Errorf("without a table: %v, %v", marks, n.list)
	}
}
