package program

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// Figures is what one client measured, in base units.
type Figures struct {
	Flows   []record.Flow // in the order of its streams, without the names of their ends
	Crossed workload.Crossed
	Bytes   uint64 // payload received in the window, both directions
	// Window is what the client measured. Zero is the time that it takes for its bytes, or its
	// transactions, at the rate that it tells.
	Window time.Duration
	// Sums are metrics that add up over clients, such as rates. One that not all tell is left out.
	Sums map[string]float64
	// Sent and Lost are of datagrams, in whatever unit. Lost is negative where some came twice.
	Sent, Lost float64
	// Latency is that of the transactions, by metric; or Histogram is, of a client that tells all.
	Transactions float64
	Latency      map[string]float64
	Histogram    Histogram
}

// Each gives the Result of a tool whose clients are read one by one: parse takes the figures of a
// client from what it and its server printed, and together puts those of all together.
func Each[F any](
	parse func(job workload.Job, client, server string) (F, error),
	together func(workload.Job, Outcome, []F) workload.Result,
) func(workload.Job, Outcome) (workload.Result, error) {
	return func(job workload.Job, o Outcome) (workload.Result, error) {
		all := make([]F, len(job.Pairs))
		for i, p := range job.Pairs {
			var err error
			if all[i], err = parse(job, o.Clients[i].Stdout, o.Servers[o.ServerOf[i]].Stdout); err != nil {
				return workload.Result{}, fmt.Errorf("client %s: %w", p.Client.Name(), err)
			}
		}
		return together(job, o, all), nil
	}
}

// Together puts the figures of all clients of a trial together. CPU time was watched over the
// window of the trial; where clients measured one of their own, it is scaled to that.
func Together(job workload.Job, o Outcome, clients []Figures) workload.Result {
	r := workload.Result{Metrics: map[string]record.Metric{}, Client: o.Client, Server: o.Server, Warnings: o.Warnings}
	var sent, lost, transactions float64
	for i, f := range clients {
		p := job.Pairs[i]
		for stream, flow := range f.Flows {
			flow.Client, flow.Server, flow.Stream = p.Client.Name(), p.Server.Name(), stream
			r.Flows = append(r.Flows, flow)
		}
		r.Crossed = append(r.Crossed, f.Crossed)
		r.Bytes += f.Bytes
		r.Window = max(r.Window, f.Window)
		sent, lost, transactions = sent+f.Sent, lost+f.Lost, transactions+f.Transactions
	}
	metrics := map[string]float64{}
	maps.Copy(metrics, sums(clients))
	maps.Copy(metrics, latencies(clients, transactions))
	if sent > 0 {
		metrics[record.Loss] = max(0, lost/sent)
	}
	for name, v := range metrics {
		r.Metrics[name] = record.Measured(name, v)
	}
	units, rate := float64(r.Bytes)*8, metrics[record.Throughput]
	if rate == 0 {
		units, rate = transactions, metrics[record.TransactionRate]
	}
	if r.Window == 0 {
		r.Window = time.Duration(units / rate * float64(time.Second))
		return r
	}
	scale := r.Window.Seconds() / o.Window.Seconds()
	for _, used := range []*record.ProcessCPU{&r.Client, &r.Server} {
		used.User *= scale
		used.System *= scale
	}
	return r
}

// sums adds up what all clients tell.
func sums(clients []Figures) map[string]float64 {
	all := maps.Clone(clients[0].Sums)
	for _, f := range clients[1:] {
		for name, v := range all {
			more, told := f.Sums[name]
			if all[name] = v + more; !told {
				delete(all, name)
			}
		}
	}
	return all
}

// latencies are those of all clients, by metric. Percentiles of several cannot be put together
// unless all latencies are known.
func latencies(clients []Figures, transactions float64) map[string]float64 {
	all, merged, known := map[string]float64{}, Histogram{}, true
	for _, f := range clients {
		known = known && f.Histogram != nil
		for us, n := range f.Histogram {
			merged[us] += n
		}
		if mean, told := f.Latency[record.LatencyMean]; told {
			all[record.LatencyMean] += mean * f.Transactions
		}
		if longest, told := f.Latency[record.LatencyMax]; told {
			all[record.LatencyMax] = max(all[record.LatencyMax], longest)
		}
	}
	if known {
		return merged.Summary()
	}
	if len(clients) == 1 {
		return clients[0].Latency
	}
	if _, told := all[record.LatencyMean]; told {
		all[record.LatencyMean] /= transactions
	}
	return all
}

// Pace warns of clients that did not offer what they were asked for: asked and offered are in the
// same unit, and what says how much was asked for.
func Pace(asked, offered float64, what string) []record.Warning {
	const kept = 0.98 // the least share that is taken for all of it
	if offered >= kept*asked {
		return nil
	}
	return []record.Warning{{Code: "pace-missed", Text: fmt.Sprintf(
		"%s were asked for, %.4g came about: the figures are those of a path or a generator that cannot keep up", what, offered)}}
}

// Histogram is how often each latency occurred, in microseconds.
type Histogram map[int64]uint64

// Count is how many latencies there are.
func (h Histogram) Count() (n uint64) {
	for _, v := range h {
		n += v
	}
	return n
}

// Summary is the latencies' mean and percentiles, in seconds, by metric. A percentile is the
// least latency that so many did not exceed.
func (h Histogram) Summary() map[string]float64 {
	const second = 1e6 // in microseconds
	total, s, sum, seen := h.Count(), map[string]float64{}, 0.0, uint64(0)
	percentiles := []struct {
		name  string
		share float64
	}{
		{record.LatencyP50, 0.5}, {record.LatencyP90, 0.9}, {record.LatencyP99, 0.99},
		{record.LatencyP999, 0.999}, {record.LatencyMax, 1},
	}
	for _, us := range slices.Sorted(maps.Keys(h)) {
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
