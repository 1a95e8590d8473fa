package program

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// TestTogether has two clients: metrics that both report add up, and percentiles do not.
func TestTogether(t *testing.T) {
	job := workload.Job{Pairs: []workload.Pair{
		{Client: &endpoint{name: "c"}, Server: &endpoint{name: "s"}}, {Client: &endpoint{name: "d"}, Server: &endpoint{name: "s"}},
	}}
	o := Outcome{Window: 2 * time.Second, Server: record.ProcessCPU{User: 1}}
	one := Figures{
		Flows: []record.Flow{{Transactions: 1}, {Transactions: 2}}, Transactions: 3, Bytes: 300, Crossed: workload.Crossed{Bytes: 400, Conns: 2},
		Sums:    map[string]float64{record.TransactionRate: 3, record.Retransmits: 1},
		Latency: map[string]float64{record.LatencyMean: 1, record.LatencyP50: 1, record.LatencyMax: 2},
	}
	two := Figures{
		Flows: []record.Flow{{Transactions: 1}}, Transactions: 1, Bytes: 100, Crossed: workload.Crossed{Bytes: 100, Conns: 1}, Sent: 10, Lost: -1,
		Sums:    map[string]float64{record.TransactionRate: 1},
		Latency: map[string]float64{record.LatencyMean: 5, record.LatencyP50: 5, record.LatencyMax: 5},
	}
	metrics := func(r workload.Result) (text string) {
		for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
			text += fmt.Sprintf("%s=%.3g ", name, r.Metrics[name].Value)
		}
		return text
	}
	r := Together(job, o, []Figures{one, two})
	if got := metrics(r); got != "latency_max=5 latency_mean=2 loss=0 transaction_rate=4 " {
		t.Error(got)
	}
	if r.Bytes != 400 || r.Window != time.Second || r.Server.User != 0.5 || r.Crossed[0].Conns != 2 {
		t.Errorf("%+v", r)
	}
	if f := r.Flows[1]; f.Stream != 1 || f.Client != "c" || f.Server != "s" || r.Flows[2].Client != "d" {
		t.Errorf("flows %+v", r.Flows)
	}
	if got := metrics(Together(job, o, []Figures{one})); got != "latency_max=2 latency_mean=1 latency_p50=1 retransmits=1 transaction_rate=3 " {
		t.Errorf("one client: %s", got)
	}
	// Clients with windows of their own and all latencies: 3 transactions at 1.5 per second, whatever the client says, and 1 at 1 per second.
	one.Window, two.Window = 2*time.Second, time.Second
	one.Histogram, two.Histogram = Histogram{1e6: 3}, Histogram{5e6: 1}
	r = Together(job, o, []Figures{one, two})
	if v := r.Metrics[record.LatencyP50].Value; v != 1 || r.Window != 1600*time.Millisecond || r.Server.User != 0.8 {
		t.Errorf("%v, %+v", v, r)
	}
	one.Histogram = nil
	if r = Together(job, o, []Figures{one, two}); r.Metrics[record.LatencyP50].Value != 0 || r.Metrics[record.LatencyMax].Value != 5 {
		t.Errorf("with the latencies of one client only: %s", metrics(r))
	}
}

func TestSummary(t *testing.T) {
	h := Histogram{}
	for us := int64(1); us <= 1000; us++ {
		h[us] = 2
	}
	want := map[string]float64{
		record.LatencyP50: 500e-6, record.LatencyP90: 900e-6, record.LatencyP99: 990e-6,
		record.LatencyP999: 999e-6, record.LatencyMax: 1000e-6, record.LatencyMean: 500.5e-6,
	}
	got := h.Summary()
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for name, v := range want {
		if fmt.Sprintf("%.9f", got[name]) != fmt.Sprintf("%.9f", v) {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
}

// TestFlowsThatReceivedNothing: one silent flow among many is slow, whichever client it belongs to. Most of them, or one of a few, are
// a fault.
func TestFlowsThatReceivedNothing(t *testing.T) {
	for _, c := range []struct {
		flows, silent int
		want          string // of the error
	}{
		{24, 0, ""}, {24, 1, ""}, {24, 16, ""}, {24, 24, "client c0: flow 0: nothing was received"}, {1, 1, "client c0: flow 0: nothing was received"},
	} {
		_, err := Heard(func(workload.Job, Outcome) (workload.Result, error) {
			r := workload.Result{Window: time.Second}
			for i := range c.flows {
				f := record.Flow{Client: fmt.Sprint("c", i)}
				if i >= c.silent {
					f.Bytes = 1
				}
				r.Flows = append(r.Flows, f)
			}
			return r, nil
		})(workload.Job{}, Outcome{})
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%d of %d are silent: %v, want %q", c.silent, c.flows, err, c.want)
		}
	}
	r, _ := Heard(func(workload.Job, Outcome) (workload.Result, error) {
		return workload.Result{Window: time.Second, Flows: append(slices.Repeat([]record.Flow{{Bytes: 1}}, 23), record.Flow{})}, nil
	})(workload.Job{}, Outcome{})
	if len(r.Warnings) != 1 || r.Warnings[0].Code != record.WarnStarved {
		t.Errorf("warnings are %v", r.Warnings)
	}
}

// TestPace: the rate is that of all flows of all clients, and each may be about to send a message at an edge.
func TestPace(t *testing.T) {
	job := workload.Job{Workload: record.UDPStream, Duration: time.Second, Options: record.Options{Bandwidth: 1_000_000, MessageSize: 1000}}
	for _, c := range []struct {
		offered float64 // by each of two clients with two flows
		want    string
	}{{2e6, ""}, {1.98e6, ""}, {1.9e6, "pace-missed"}, {2.1e6, "pace-exceeded"}} {
		one := Figures{Flows: make([]record.Flow, 2), Offered: c.offered}
		var code string
		for _, w := range Paced(job, []Figures{one, one}) {
			code += w.Code
		}
		if code != c.want {
			t.Errorf("%v offered: %q, want %q", c.offered, code, c.want)
		}
	}
}
