package report

import (
	"encoding/json"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// TestTailsOfClosedLoopsAreCalledSo holds that no format prints the p99 of transactions that
// follow each other without saying so, and that those of an open loop are not called closed.
func TestTailsOfClosedLoopsAreCalledSo(t *testing.T) {
	res, o := specimenResult()
	o.Width = 160
	for format, want := range map[string][]string{
		"text": {"closed p99 ", "p99 by time", loopRemark[:60]},
		"md":   {"latency p99, closed loop,", "latency p99 by time,", loopRemark},
		"html": {"latency p99, closed loop", "latency p99 by time", loopRemark[:60]},
	} {
		got := write(t, format, res, o)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s does not say %q", format, w)
			}
		}
		open, o := specimenResult()
		o.Width = 160
		for _, s := range open.Scenarios {
			for i := range s.Rows {
				s.Rows[i].Cell.Workload = paced(s.Rows[i].Cell.Workload)
			}
		}
		for i := range open.Scenarios {
			open.Scenarios[i].Cell.Workload = paced(open.Scenarios[i].Cell.Workload)
		}
		if got := write(t, format, open, o); strings.Contains(got, "closed") || !strings.Contains(got, "p99") {
			t.Errorf("%s calls an open loop closed", format)
		}
	}
}

func paced(workload string) string {
	if workload == record.TCPRR {
		return record.PacedRR
	}
	return workload
}

// TestPercentilesHaveOneName holds that what is merged over trials is called so, beside the
// percentiles of trials.
func TestPercentilesHaveOneName(t *testing.T) {
	res, o := specimenResult()
	var got struct {
		Scenarios []struct {
			Networks []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(write(t, "json", res, o)), &got); err != nil {
		t.Fatal(err)
	}
	merged := 0
	for _, s := range got.Scenarios {
		for _, n := range s.Networks {
			if n["latency"] != nil {
				t.Error("the merged distribution is called latency")
			}
			if n["merged_latency"] != nil {
				merged++
			}
			if names := string(n["metrics"]); strings.Count(names, `"latency_p99"`) > 1 {
				t.Errorf("two values of latency_p99: %s", names)
			}
		}
	}
	if merged == 0 {
		t.Error("no merged distribution")
	}
}

func TestCongestionControlInUseIsShown(t *testing.T) {
	g := groups(analysis.Result{Scenarios: []analysis.Scenario{{
		Cell: record.Cell{Hosts: 1, Workload: record.TCPStream, Tool: "engine"},
		Rows: []analysis.Row{
			{Flows: []record.Flow{{Bytes: 1, TCP: &record.TCPInfo{Congestion: "cubic"}}, {Bytes: 1}}},
			{Flows: []record.Flow{{Bytes: 1, TCP: &record.TCPInfo{Congestion: "bbr"}}, {Bytes: 1, TCP: &record.TCPInfo{Congestion: "cubic"}}}},
			{Flows: []record.Flow{{Transactions: 1, TCP: &record.TCPInfo{Congestion: "reno"}}}},
		},
	}}})[0]
	if got, want := g.measuredWith(), "tcp_stream by engine; congestion control in use: bbr, cubic"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
