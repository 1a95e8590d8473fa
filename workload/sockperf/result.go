package sockperf

import (
	"fmt"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// paceKept is the least share of the rate asked for that is taken for all of it.
const paceKept = 0.98

// result puts the figures of all clients together.
func (m mode) result(job workload.Job, all []figures) workload.Result {
	r := workload.Result{Metrics: map[string]record.Metric{}}
	var perSecond, offered, weighted, longest float64
	var sent, received, unanswered uint64
	size := uint64(m.sizeOf(job))
	if !m.stream() {
		size *= 2 // there and back
	}
	for i, f := range all {
		p := job.Pairs[i]
		r.Bytes += f.received * size
		r.Crossed = append(r.Crossed, workload.Crossed{Bytes: f.all * size, Conns: 1})
		perSecond += float64(f.received) / f.seconds
		offered += float64(f.sent) / f.seconds
		weighted += float64(f.received) * f.latency[record.LatencyMean]
		longest = max(longest, f.latency[record.LatencyMax])
		sent += f.sent
		received += f.received
		unanswered += f.unanswered
		flow := record.Flow{Client: p.Client.Name(), Server: p.Server.Name()}
		if m.stream() {
			flow.Bytes = f.received * size
		} else {
			flow.Transactions = f.received
		}
		r.Flows = append(r.Flows, flow)
	}
	r.Window = together(float64(received), perSecond)
	set := func(name string, v float64) { r.Metrics[name] = record.Measured(name, v) }
	switch {
	case m.stream():
		set(record.PacketRate, perSecond)
		set(record.Throughput, perSecond*8*float64(size))
		set(record.Loss, max(0, 1-float64(received)/float64(sent))) // below zero: datagrams were duplicated
	default:
		set(record.TransactionRate, perSecond)
		set(record.LatencyMean, weighted/float64(received))
		set(record.LatencyMax, longest)
		if len(all) == 1 { // percentiles of several cannot be put together
			for name, v := range all[0].latency {
				set(name, v)
			}
		}
	}
	r.Warnings = m.warnings(job, offered/float64(len(all)), unanswered, sent)
	return r
}

// warnings are about what is in the figures of all clients; offered is in messages a
// second, of the average client.
func (m mode) warnings(job workload.Job, offered float64, unanswered, sent uint64) (all []record.Warning) {
	add := func(code, format string, args ...any) {
		all = append(all, record.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if job.Warmup > m.cold() {
		add("no-warmup", "of the warm-up of %v sockperf leaves out %v", job.Warmup.Round(time.Millisecond), m.cold())
	}
	if asked := m.rateOf(job); offered < paceKept*float64(asked) {
		add("pace-missed", "%d messages a second were asked for, %.4g came about: the figures are those of a path or a generator that cannot keep up", asked, offered)
	}
	if unanswered > 0 {
		add("unanswered", "%d of %d requests had no answer when the time was over: their latency is not counted", unanswered, sent)
	}
	return all
}

// together is the time in which all clients have what they have, at the rates that
// each had in its own time; they differ a little.
func together(units, rate float64) time.Duration {
	return time.Duration(units / rate * float64(time.Second))
}
