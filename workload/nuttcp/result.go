package nuttcp

import (
	"fmt"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// paceKept is the least share of the rate asked for that is taken for all of it.
const paceKept = 0.98

// result puts the figures of all clients together.
func (t transfer) result(job workload.Job, all []figures) workload.Result {
	r := workload.Result{Metrics: map[string]record.Metric{}}
	var throughput, packetRate, offered, retransmits float64
	var packets, drops uint64
	for i, m := range all {
		p := job.Pairs[i]
		r.Bytes += m.bytes
		r.Crossed = append(r.Crossed, workload.Crossed{Bytes: m.all, Conns: 1})
		throughput += float64(m.bytes) * 8 / m.seconds
		packetRate += float64(m.packets-m.drops) / m.seconds
		offered += float64(m.packets) * float64(t.sizeOf(job)) * 8 / m.seconds
		packets += m.packets
		drops += m.drops
		retransmits += m.retransmits
		flow := record.Flow{Client: p.Client.Name(), Server: p.Server.Name(), Bytes: m.bytes}
		if !t.datagrams() {
			flow.TCP = &record.TCPInfo{Retransmits: uint32(m.retransmits), RTT: uint32(m.roundTrip * 1e6), SndMSS: uint32(m.mss)}
		}
		r.Flows = append(r.Flows, flow)
	}
	set := func(name string, v float64) { r.Metrics[name] = record.Measured(name, v) }
	set(record.Throughput, throughput)
	r.Window = together(float64(r.Bytes)*8, throughput)
	if t.datagrams() {
		set(record.PacketRate, packetRate)
		set(record.Loss, float64(drops)/float64(packets))
	} else {
		set(record.Retransmits, retransmits)
	}
	if asked := float64(job.Options.Bandwidth * len(all)); offered < paceKept*asked {
		r.Warnings = append(r.Warnings, record.Warning{Code: "pace-missed", Text: fmt.Sprintf(
			"%.4g bit/s of payload were asked for, %.4g came about: the figures are those of a path or a generator that cannot keep up", asked, offered)})
	}
	return r
}

// together is the time in which all clients have what they have, at the rates that
// each had in its own time; they differ a little.
func together(units, rate float64) time.Duration {
	return time.Duration(units / rate * float64(time.Second))
}
