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
	if got, want := rounds(res), ", at least 0.24 s per trial (1 s with iperf3 and netperf; 0.59 s with sockperf), in turns where traffic can pause between them."; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
}

// TestMeasuredElsewhere checks that a machine on which nothing was measured is not named as if something had been.
func TestMeasuredElsewhere(t *testing.T) {
	a, b := record.Machine{OS: "Debian", Kernel: "6.1", CPUModel: "Xeon"}, record.Machine{OS: "Debian", Kernel: "6.12", CPUModel: "Xeon"}
	res := analysis.Result{
		Run: record.Run{Machine: record.Machine{OS: "Laptop OS", Kernel: "5.1", CPUModel: "i5"}}, Elsewhere: true,
		Scenarios: []analysis.Scenario{{Rows: []analysis.Row{{Endpoints: []record.Endpoint{
			{Role: "client", Platform: "ssh b", Machine: &b}, {Role: "server", Platform: "ssh a", Machine: &a},
		}}}}},
	}
	if got, want := ranOn(res), "ssh b: Debian, kernel 6.12, not root; ssh a: Debian, kernel 6.1, not root; nettoll itself ran on Laptop OS, kernel 5.1, not root"; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got, want := machineCalled(res), "Debian, kernel 6.12, not root; Debian, kernel 6.1, not root"; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	text := write(t, "bench", res, Options{})
	if !strings.Contains(text, "cpu: Xeon\n") || strings.Contains(text, "kernel:") || strings.Contains(text, "i5") {
		t.Errorf("for benchstat: %s", text)
	}
}

// TestPlacesOfEnds checks that ends on several machines are not said to share a CPU.
func TestPlacesOfEnds(t *testing.T) {
	c := record.Cell{Hosts: 2, Family: 4, Placement: record.PlacementSame}
	for namespaces, want := range map[analysis.Namespaces]string{true: "client and server on the same CPU", false: "client and server on one CPU of each host"} {
		if got := titleOf(c, namespaces); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
