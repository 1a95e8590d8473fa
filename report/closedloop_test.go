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

// TestEndsTellTheCongestionControlInUse holds that the machine's own is not taken for the one in use.
func TestEndsTellTheCongestionControlInUse(t *testing.T) {
	for _, tt := range []struct {
		used []string
		own  string
		want string
	}{
		{[]string{"cubic"}, "bbr", "congestion control in use: cubic (the machine's own is bbr)"},
		{[]string{"bbr", "cubic"}, "bbr", "congestion control in use: bbr, cubic (the machine's own is bbr)"},
		{[]string{"bbr"}, "bbr", "congestion control in use: bbr"},
		{nil, "bbr", "tcp_congestion_control bbr"},
	} {
		e := record.Endpoint{Sysctls: map[string]string{"net.ipv4.tcp_congestion_control": tt.own}}
		if got := newEndpoint("host", e, e, tt.used).Parameters; len(got) != 1 || got[0].Text != tt.want {
			t.Errorf("%q in use, the machine's own is %q: %+v", tt.used, tt.own, got)
		}
	}
}

// TestMethodTellsTurns holds that a page explains the rounds that its run had.
func TestMethodTellsTurns(t *testing.T) {
	for _, tt := range []struct {
		turns      bool
		says, lies string
	}{
		{false, "measures each network once", "take turns"},
		{true, "take turns of some hundredths of a second", "each network once"},
	} {
		res, _ := specimenResult()
		res.Limits.Turns = tt.turns
		if got := method(res)[0]; !strings.Contains(got, tt.says) || strings.Contains(got, tt.lies) || !strings.Contains(got, "of its own round") {
			t.Errorf("turns %v: %s", tt.turns, got)
		}
	}
}
