package pgbench

import (
	"maps"
	"math"
	"slices"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// answer is what the server sends for a transaction at least, in bytes: the messages
// BindComplete, DataRow with one digit, CommandComplete "SELECT 1" and ReadyForQuery
// of PostgreSQL's protocol 3.0.
const answer = 5 + (1 + 4 + 2 + 4 + 1) + (1 + 4 + 9) + 6

// result puts together what the clients measured. Their latencies are merged.
// watched is the time over which CPU time was counted.
func result(job workload.Job, watched time.Duration, o program.Outcome, clients []figures) workload.Result {
	r := workload.Result{Metrics: map[string]record.Metric{}, Warnings: o.Warnings}
	rate, all := 0.0, histogram{}
	for i, f := range clients {
		p := job.Pairs[i]
		var sum uint64
		for stream, n := range f.clients {
			r.Flows = append(r.Flows, record.Flow{
				Client: p.Client.Name(), Server: p.Server.Name(), Stream: stream, Bytes: n * answer, Transactions: n,
			})
			sum += n
		}
		for us, n := range f.latencies {
			all[us] += n
		}
		r.Crossed = append(r.Crossed, workload.Crossed{Bytes: sum * answer, Conns: uint64(len(f.clients))})
		r.Bytes += sum * answer
		r.Window = max(r.Window, f.window)
		rate += float64(sum) / f.window.Seconds()
	}
	r.Client, r.Server = over(r.Window, watched, o.Client), over(r.Window, watched, o.Server)
	r.Metrics[record.TransactionRate] = record.Measured(record.TransactionRate, rate)
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
