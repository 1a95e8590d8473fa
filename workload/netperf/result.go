package netperf

import (
	"math"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// result puts the figures of all clients together.
func (t test) result(job workload.Job, all []figures) workload.Result {
	r := workload.Result{Metrics: map[string]record.Metric{}}
	var throughput, rate, weighted, transactions, retransmits, sent, longest float64
	for i, m := range all {
		r.Bytes += m.bytes
		throughput += m.throughput
		rate += m.rate
		transactions += float64(m.transactions)
		weighted += float64(m.transactions) * m.latency[record.LatencyMean]
		sent += float64(m.sent)
		longest = max(longest, m.latency[record.LatencyMax])
		retransmits += m.retransmits
		r.Flows = append(r.Flows, t.flow(job.Pairs[i], m))
		crossed := workload.Crossed{Bytes: m.bytes, Conns: 1}
		if t.workload == record.TCPCRR {
			crossed.Conns = m.transactions
		}
		r.Crossed = append(r.Crossed, crossed)
	}
	set := func(name string, v float64) { r.Metrics[name] = record.Measured(name, v) }
	if t.asksTransport() {
		set(record.Retransmits, retransmits)
	}
	switch t.workload {
	case record.UDPStream:
		set(record.PacketRate, throughput/8/float64(datagramOf(job)))
		set(record.Loss, max(0, 1-float64(r.Bytes)/sent)) // below zero: datagrams were duplicated
		fallthrough
	case record.TCPStream:
		set(record.Throughput, throughput)
		r.Window = together(float64(r.Bytes)*8, throughput)
	default:
		set(record.TransactionRate, rate)
		r.Window = together(transactions, rate)
		set(record.LatencyMean, weighted/transactions)
		set(record.LatencyMax, longest)
		if len(all) == 1 { // percentiles of several cannot be put together
			for name, v := range all[0].latency {
				set(name, v)
			}
		}
	}
	return r
}

// flow has of TCP what netperf says: no round trip times.
func (t test) flow(p workload.Pair, m figures) record.Flow {
	f := record.Flow{Client: p.Client.Name(), Server: p.Server.Name(), Transactions: m.transactions}
	if m.transactions == 0 {
		f.Bytes, f.Message = m.bytes, int(min(m.message, math.MaxInt32))
	}
	if t.asksTransport() {
		f.TCP = &record.TCPInfo{Retransmits: uint32(m.retransmits), SndMSS: uint32(m.mss), Congestion: m.congestion}
	}
	return f
}

// asksTransport says whether there is one TCP connection, of which netperf tells.
func (t test) asksTransport() bool {
	return t.workload == record.TCPStream || t.workload == record.TCPRR
}

// together is the time in which all clients have what they have, at the rates that
// each had in its own time; they differ a little.
func together(units, rate float64) time.Duration {
	return time.Duration(units / rate * float64(time.Second))
}
