package redisbench

import (
	"fmt"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// step is the width of the classes that redis-benchmark counts latencies in: its
// histogram has 10 µs as the least that it tells apart, which is rounded to a power
// of two.
const step = 8e-6 // seconds

// done is what a client has done in all its runs.
type done struct {
	requests, seconds float64
	latency           float64 // sum over all requests, in seconds
	max               float64
	first             figures
	share             float64 // of the requests, that the first run had
}

// sum adds up a client's runs, each of n requests.
func sum(n int, runs []figures) done {
	d := done{first: runs[0], share: 1 / float64(len(runs))}
	for _, f := range runs {
		d.requests += float64(n)
		d.seconds += float64(n) / f.rate
		d.latency += float64(n) * f.mean
		d.max = max(d.max, f.max)
	}
	return d
}

// result puts together what the clients measured, with the rate of all that each
// has done. Percentiles cannot be merged: they are those of the only client, and of
// its first run when that is most of what it did.
func result(job workload.Job, window time.Duration, o program.Outcome, clients []done) workload.Result {
	r := workload.Result{
		Window: window, Client: o.Client, Server: o.Server,
		Metrics: map[string]record.Metric{}, Warnings: o.Warnings,
	}
	put := func(name string, v float64) { r.Metrics[name] = record.Measured(name, v) }
	size := uint64(valueSize(job))
	var rate, requests, latency, most float64
	for i, d := range clients {
		p := job.Pairs[i]
		inWindow := uint64(min(d.requests, d.requests/d.seconds*window.Seconds()))
		r.Flows = append(r.Flows, record.Flow{
			Client: p.Client.Name(), Server: p.Server.Name(), Bytes: inWindow * size, Transactions: inWindow,
		})
		r.Crossed = append(r.Crossed, workload.Crossed{
			Bytes: uint64(d.requests) * size, Conns: uint64(max(job.Options.Streams, 1)),
		})
		r.Bytes += inWindow * size
		rate += d.requests / d.seconds
		requests += d.requests
		latency += d.latency
		most = max(most, d.max)
	}
	put(record.TransactionRate, rate)
	put(record.LatencyMean, latency/requests)
	put(record.LatencyMax, most)
	if len(clients) > 1 {
		return r
	}
	d := clients[0]
	if d.share < 0.5 {
		r.Warnings = append(r.Warnings, record.Warning{Code: "no-latency", Text: fmt.Sprintf(
			"redis-benchmark was faster than it had been before, and had to be run %.0f times: percentiles are left out", 1/d.share)})
		return r
	}
	put(record.LatencyP50, d.first.p50)
	put(record.LatencyP99, d.first.p99)
	if coarse := 0.05; d.first.p50*coarse < step {
		r.Warnings = append(r.Warnings, record.Warning{
			Code: "coarse-latency", Text: "redis-benchmark counts latencies in steps of 8 µs, which is more than 5 % of these",
		})
	}
	return r
}
