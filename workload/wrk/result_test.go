package wrk

import (
	"fmt"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

func TestResult(t *testing.T) {
	client, server := &endpoint{name: "c"}, &endpoint{name: "s"}
	p := workload.Pair{Client: client, Server: server}
	job := workload.Job{Pairs: []workload.Pair{p, p}, Options: record.Options{Streams: 2, ResponseSize: 10}}
	o := program.Outcome{Server: record.ProcessCPU{User: 1, System: 1}}
	all := []figures{
		{duration: time.Second, requests: 3, bytes: 99, latencies: histogram{100: 3}},
		{duration: 2 * time.Second, requests: 2, bytes: 77, latencies: histogram{300: 1, 1000: 1}},
	}
	r := result(job, time.Second, o, all)
	for name, want := range map[string]float64{
		record.TransactionRate: 3 + 1, record.LatencyP50: 100e-6, record.LatencyP90: 1000e-6, record.LatencyMean: 320e-6,
	} {
		if got := r.Metrics[name].Value; fmt.Sprintf("%.9f", got) != fmt.Sprintf("%.9f", want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if r.Window != 2*time.Second || r.Server.Total() != 4 || r.Bytes != 50 || r.Flows[1].Transactions != 2 || len(r.Flows) != 2 {
		t.Errorf("%+v", r)
	}
	if r.Crossed[0] != (workload.Crossed{Bytes: 99, Conns: 2}) {
		t.Errorf("crossed %+v", r.Crossed)
	}
	job.Options.NoKeepAlive = true
	r = result(job, time.Second, o, all)
	if len(r.Metrics) != 1 || len(r.Warnings) != 0 || r.Crossed[1].Conns != 2 || r.Crossed[0].Conns != 3 {
		t.Errorf("without keep-alive: %+v", r)
	}
	job.Options.NoKeepAlive = false
	all[0].latencies = nil
	r = result(job, time.Second, o, all)
	if len(r.Metrics) != 1 || len(r.Warnings) != 1 || r.Warnings[0].Code != "no-latency" || len(r.Flows) != 2 {
		t.Errorf("with too many latencies: %+v", r)
	}
}
