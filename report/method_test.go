package report

import (
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// TestLongerWindowsAreSaid checks that a report does not claim shorter trials than a program had.
func TestLongerWindowsAreSaid(t *testing.T) {
	res := analysis.Result{Rounds: 6, Limits: record.Settings{Duration: 0.24, Turns: true}}
	row := func(tool string, window float64) analysis.Row {
		return analysis.Row{Cell: record.Cell{Tool: tool, Workload: record.TCPStream}, Status: record.OK, Window: window}
	}
	res.Scenarios = []analysis.Scenario{{Rows: []analysis.Row{row("engine", 0.48), row("iperf3", 0.971), row("iperf3", 1.002), row("sockperf", 0.59), row("netperf", 1), row("redis-benchmark", 0.25)}}}
	if got, want := rounds(res), ", 0.24 s per trial, in turns where traffic can pause between them (1 s with iperf3 and netperf; 0.59 s with sockperf)."; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
}
