package iperf3

import (
	"fmt"
	"math"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// result puts the figures of all clients together.
func result(job workload.Job, o program.Outcome, clients []figures) workload.Result {
	r := workload.Result{
		Metrics: map[string]record.Metric{}, Client: o.Client, Server: o.Server,
		Crossed: make([]workload.Crossed, len(clients)), Warnings: o.Warnings,
	}
	var throughput, rate, jitter float64
	var retransmits, sent, received uint64
	told := true // of retransmits
	for i, c := range clients {
		p := job.Pairs[i]
		bytes := uint64(0)
		for k, s := range c.streams {
			r.Flows = append(r.Flows, record.Flow{Client: p.Client.Name(), Server: p.Server.Name(), Stream: k, Bytes: s.bytes, TCP: s.tcp, Message: c.message})
			bytes += s.bytes
		}
		r.Bytes += bytes
		r.Crossed[i] = workload.Crossed{Bytes: bytes, Conns: uint64(len(c.streams))}
		if job.Workload == record.TCPBidir {
			r.Crossed[i].Conns *= 2
		}
		throughput += float64(bytes) * 8 / c.seconds
		if d := c.datagrams; d != nil {
			rate += float64(d.received) / c.seconds
			jitter += d.jitter / float64(len(clients))
			sent, received = sent+max(d.sent, d.received), received+d.received
		}
		if c.retransmits == nil {
			told = false
		} else {
			retransmits += *c.retransmits
		}
		if n := len(c.silent); n > 0 {
			r.Warnings = append(r.Warnings, workload.Starved(n, len(c.streams)))
		}
		r.Warnings = append(r.Warnings, oneThread(job, i, c)...)
	}
	r.Warnings = append(r.Warnings, otherWindows(job, clients)...)
	// Each receiver has a window of its own: this is the one in which all bytes make
	// the sum of the throughputs.
	r.Window = time.Duration(float64(r.Bytes) * 8 / throughput * float64(time.Second))
	r.Metrics[record.Throughput] = record.Measured(record.Throughput, throughput)
	if job.Workload == record.UDPStream {
		r.Metrics[record.PacketRate] = record.Measured(record.PacketRate, rate)
		r.Metrics[record.Loss] = record.Measured(record.Loss, float64(sent-received)/float64(sent))
		r.Metrics[record.Jitter] = record.Measured(record.Jitter, jitter)
	} else if told {
		r.Metrics[record.Retransmits] = record.Measured(record.Retransmits, float64(retransmits))
	}
	return r
}

// otherWindows warns of receivers whose window is not what was asked for. It runs
// from one timer of a process to another, and those are late on a machine that has
// too much to do.
func otherWindows(job workload.Job, clients []figures) []record.Warning {
	const tolerance = 0.1
	_, window := program.Window(job)
	asked, n := window.Seconds(), 0
	least, most := clients[0].seconds, clients[0].seconds
	for _, c := range clients {
		least, most = min(least, c.seconds), max(most, c.seconds)
		if math.Abs(c.seconds-asked) > tolerance*asked {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []record.Warning{{Code: "other-window", Text: fmt.Sprintf(
		"%d of %d clients measured in other windows than %v, from %.2f to %.2f s: iperf3's timers were late, the machine is busy with other things",
		n, len(clients), window, least, most)}}
}

// busy is how much of a CPU a thread uses that has no time left.
const busy = 0.95

// oneThread warns of a client or server whose only thread has no time left for its
// several streams. With one stream that is what any sender comes to.
func oneThread(job workload.Job, pair int, f figures) (all []record.Warning) {
	streams := len(f.streams)
	if job.Workload == record.TCPBidir {
		streams *= 2
	}
	if f.minor >= firstThreaded || streams == 1 {
		return nil
	}
	p := job.Pairs[pair]
	for i, process := range []string{"client " + p.Client.Name(), "server " + p.Server.Name()} {
		if f.busy[i] >= busy {
			all = append(all, record.Warning{Code: "generator-limited", Text: fmt.Sprintf(
				"%s used %.0f %% of a CPU with the one thread that iperf3 3.%d has for all %d streams: the generator is measured more than the network (3.%d and later have a thread for each)",
				process, 100*f.busy[i], f.minor, streams, firstThreaded)})
		}
	}
	return all
}
