package wrk

import (
	"maps"
	"math"
	"slices"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// result puts together what the clients measured. Their latencies are merged.
// watched is the time over which CPU time was counted.
func result(job workload.Job, watched time.Duration, o program.Outcome, clients []figures) workload.Result {
	r := workload.Result{Metrics: map[string]record.Metric{}, Warnings: o.Warnings}
	body, rate, all := uint64(bodySize(job)), 0.0, histogram{}
	for i, f := range clients {
		p, conns := job.Pairs[i], uint64(max(job.Options.Streams, 1))
		if job.Options.NoKeepAlive {
			conns = f.requests
		}
		r.Flows = append(r.Flows, record.Flow{
			Client: p.Client.Name(), Server: p.Server.Name(), Bytes: f.requests * body, Transactions: f.requests,
		})
		r.Crossed = append(r.Crossed, workload.Crossed{Bytes: f.bytes, Conns: conns})
		r.Bytes += f.requests * body
		r.Window = max(r.Window, f.duration)
		rate += float64(f.requests) / f.duration.Seconds()
		if f.latencies == nil || all == nil {
			all = nil
			continue
		}
		for us, n := range f.latencies {
			all[us] += n
		}
	}
	r.Client, r.Server = over(r.Window, watched, o.Client), over(r.Window, watched, o.Server)
	r.Metrics[record.TransactionRate] = record.Measured(record.TransactionRate, rate)
	if job.Options.NoKeepAlive {
		return r
	}
	if all == nil {
		r.Warnings = append(r.Warnings, record.Warning{
			Code: "no-latency",
			Text: "wrk has seen so many different latencies that it would take long to tell them all: percentiles are left out",
		})
		return r
	}
	for name, seconds := range all.summary() {
		r.Metrics[name] = record.Measured(name, seconds)
	}
	return r
}

// over is CPU time that was counted over a window, for another of the same load.
func over(window, watched time.Duration, p record.ProcessCPU) record.ProcessCPU {
	scale := window.Seconds() / watched.Seconds()
	p.User *= scale
	p.System *= scale
	return p
}

// summary is the latencies' mean and percentiles, in seconds. A percentile is the
// least latency that so many did not exceed.
func (h histogram) summary() map[string]float64 {
	const second = 1e6 // in microseconds
	sorted, total := slices.Sorted(maps.Keys(h)), h.count()
	s, sum, seen := map[string]float64{}, 0.0, uint64(0)
	percentiles := []struct {
		name  string
		share float64
	}{
		{record.LatencyP50, 0.5}, {record.LatencyP90, 0.9}, {record.LatencyP99, 0.99},
		{record.LatencyP999, 0.999}, {record.LatencyMax, 1},
	}
	for _, us := range sorted {
		seen += h[us]
		sum += float64(us) * float64(h[us])
		for len(percentiles) > 0 && float64(seen) >= math.Ceil(percentiles[0].share*float64(total)) {
			s[percentiles[0].name] = float64(us) / second
			percentiles = percentiles[1:]
		}
	}
	s[record.LatencyMean] = sum / float64(total) / second
	return s
}
