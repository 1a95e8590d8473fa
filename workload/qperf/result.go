package qperf

import (
	"fmt"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// result puts the figures of all clients together.
func (t test) result(job workload.Job, all []figures) workload.Result {
	r := workload.Result{Metrics: map[string]record.Metric{}}
	var throughput, packets, rate, weighted float64
	var transactions, sent, received uint64
	for i, m := range all {
		p := job.Pairs[i]
		r.Bytes += m.bytes
		r.Crossed = append(r.Crossed, workload.Crossed{Bytes: m.bytes, Conns: 1})
		flow := record.Flow{Client: p.Client.Name(), Server: p.Server.Name(), Transactions: m.transactions}
		throughput += m.throughput
		if m.roundTrip > 0 {
			rate += 1 / m.roundTrip
			weighted += float64(m.transactions) * m.roundTrip
			transactions += m.transactions
		} else {
			flow.Bytes = m.bytes
			packets += float64(m.received) / m.seconds
			sent += m.sent
			received += m.received
		}
		r.Flows = append(r.Flows, flow)
		if t.workload == record.UDPRR && m.unanswered {
			r.Warnings = append(r.Warnings, record.Warning{Code: "maybe-stalled", Text: fmt.Sprintf(
				"the last request of %s had not arrived when the time was over: if it was lost, qperf waited for it until then, and the latency is too high",
				flow.Client)})
		}
	}
	set := func(name string, v float64) { r.Metrics[name] = record.Measured(name, v) }
	switch t.workload {
	case record.UDPStream:
		set(record.PacketRate, packets)
		set(record.Loss, max(0, 1-float64(received)/float64(sent))) // below zero: datagrams were duplicated
		fallthrough
	case record.TCPStream:
		set(record.Throughput, throughput)
		r.Window = together(float64(r.Bytes)*8, throughput)
	default:
		set(record.TransactionRate, rate)
		r.Window = together(float64(transactions), rate)
		set(record.LatencyMean, weighted/float64(transactions))
	}
	return r
}

// together is the time in which all clients have what they have, at the rates that
// each had in its own time; they differ a little.
func together(units, rate float64) time.Duration {
	return time.Duration(units / rate * float64(time.Second))
}
