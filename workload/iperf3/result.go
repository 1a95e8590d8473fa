package iperf3

import (
	"fmt"
	"math"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// together puts the figures of all clients together. Each receiver has a window of its own.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var clients []program.Figures
	for _, c := range all {
		f := program.Figures{
			Crossed: workload.Crossed{Conns: uint64(len(c.streams))},
			Sums:    map[string]float64{},
		}
		for _, s := range c.streams {
			f.Flows = append(f.Flows, record.Flow{Bytes: s.bytes, TCP: s.tcp, Message: c.message})
			f.Bytes += s.bytes
		}
		f.Crossed.Bytes = f.Bytes
		if job.Workload == record.TCPBidir {
			f.Crossed.Conns *= 2
		}
		f.Sums[record.Throughput] = float64(f.Bytes) * 8 / c.seconds
		if d := c.datagrams; d != nil {
			f.Sums[record.PacketRate] = float64(d.received) / c.seconds
			f.Sums[record.Jitter] = d.jitter / float64(len(all))
			f.Sent = float64(max(d.sent, d.received))
			f.Lost = f.Sent - float64(d.received)
		} else if c.retransmits != nil {
			f.Sums[record.Retransmits] = float64(*c.retransmits)
		}
		clients = append(clients, f)
	}
	r := program.Together(job, o, clients)
	for i, c := range all {
		if n := len(c.silent); n > 0 {
			r.Warnings = append(r.Warnings, workload.Starved(n, len(c.streams)))
		}
		r.Warnings = append(r.Warnings, oneThread(job, i, c)...)
	}
	r.Warnings = append(r.Warnings, otherWindows(job, all)...)
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
