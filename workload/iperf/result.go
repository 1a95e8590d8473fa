package iperf

import (
	"fmt"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// result puts the figures of all flows together.
func result(job workload.Job, o program.Outcome) (workload.Result, error) {
	r, err := sum(job, o)
	if err != nil {
		err = fmt.Errorf("%w; tested with %s", err, tested)
	}
	return r, err
}

func sum(job workload.Job, o program.Outcome) (r workload.Result, err error) {
	clients, servers := make([]report, len(job.Pairs)), make([]report, len(o.Servers))
	for i, p := range job.Pairs {
		if clients[i], err = read(o.Clients[i]); err != nil {
			return r, fmt.Errorf("client %s: %w", p.Client.Name(), err)
		}
		n := o.ServerOf[i]
		if servers[n].flows != nil {
			continue
		}
		if servers[n], err = read(o.Servers[n]); err != nil {
			return r, fmt.Errorf("server %s: %w", p.Server.Name(), err)
		}
	}
	flows, mixed, err := match(job, clients, servers, o.ServerOf)
	if err != nil {
		return r, err
	}
	lead, window := program.Window(job)
	var all []program.Figures
	for i, p := range job.Pairs {
		f := program.Figures{Window: window, Sums: map[string]float64{}}
		var total figures
		for k, e := range flows[i] {
			one, tcp, err := e.measure(job, int(lead/time.Second), int(window/time.Second))
			if err != nil {
				return r, fmt.Errorf("client %s: flow %d: %w", p.Client.Name(), k, err)
			}
			f.Flows = append(f.Flows, record.Flow{Bytes: one.bytes, TCP: tcp})
			total.add(one)
		}
		f.Bytes, f.Crossed = total.bytes, workload.Crossed{Bytes: total.all, Conns: uint64(len(flows[i]))}
		f.Sums[record.Throughput] = float64(total.bytes) * 8 / window.Seconds()
		if job.Workload == record.UDPStream {
			f.Sums[record.PacketRate] = float64(total.received) / window.Seconds()
			f.Sums[record.Jitter] = total.jitter / 1e3 / float64(len(flows[i])*len(job.Pairs))
			f.Sent, f.Lost = float64(total.sent), float64(total.lost)
		} else {
			f.Sums[record.Retransmits] = float64(total.retransmits)
		}
		all = append(all, f)
	}
	r = program.Together(job, o, all)
	r.Warnings = append(r.Warnings, mixed...)
	for i, p := range job.Pairs {
		r.Warnings = append(r.Warnings, windowLimited("client "+p.Client.Name(), clients[i])...)
	}
	for n, i := range firsts(o.ServerOf) {
		r.Warnings = append(r.Warnings, windowLimited("server "+job.Pairs[i].Server.Name(), servers[n])...)
	}
	return r, nil
}

// firsts are the first clients of the servers, by the servers' order.
func firsts(serverOf []int) (pairs []int) {
	for i, n := range serverOf {
		if n == len(pairs) {
			pairs = append(pairs, i)
		}
	}
	return pairs
}

func read(o program.Output) (report, error) {
	if err := complaint(o.Stderr); err != nil {
		return report{}, err
	}
	return parse(o.Stdout)
}

// measure cuts the window out of what the receivers of a flow say.
func (e ends) measure(job workload.Job, lead, window int) (f figures, tcp *record.TCPInfo, err error) {
	var received, sent [][]interval
	switch {
	case job.Workload == record.UDPStream:
		received = [][]interval{e.server.datagrams}
	case job.Workload == record.TCPBidir:
		received, sent = [][]interval{e.server.reads, e.client.reads}, [][]interval{e.client.writes, e.server.writes}
	case job.Options.Reverse:
		received, sent = [][]interval{e.client.reads}, [][]interval{e.server.writes}
	default:
		received, sent = [][]interval{e.server.reads}, [][]interval{e.client.writes}
	}
	for _, r := range received {
		one, err := cut(r, lead, window)
		if err == nil && one.bytes == 0 {
			err = fmt.Errorf("nothing was received")
		}
		if err == nil && job.Workload == record.UDPStream && (one.received == 0 || one.sent == 0 || one.lost > one.sent) {
			err = fmt.Errorf("%d datagrams received, %d lost of %d", one.received, one.lost, one.sent)
		}
		if err != nil {
			return f, nil, fmt.Errorf("receiver: %w", err)
		}
		f.add(one)
	}
	for _, s := range sent {
		one, err := cut(s, lead, window)
		if err != nil {
			return f, nil, fmt.Errorf("sender: %w", err)
		}
		f.retransmits += one.retransmits
		if tcp == nil {
			tcp = tcpInfo(one, e.client.mss, job.Options.Congestion)
		}
	}
	return f, tcp, nil
}

func (f *figures) add(g figures) {
	f.bytes += g.bytes
	f.lost += g.lost
	f.sent += g.sent
	f.received += g.received
	f.retransmits += g.retransmits
	f.jitter += g.jitter
	f.all += g.all
}

// tcpInfo is what the sender's kernel said at the end of the window. The program
// does not tell the path MTU, nor the congestion control where none was asked for.
func tcpInfo(f figures, mss uint32, congestion string) *record.TCPInfo {
	if mss == 0 {
		return nil
	}
	return &record.TCPInfo{
		Retransmits: uint32(min(f.retransmits, 1<<32-1)), RTT: f.last.rtt, RTTVar: f.last.rttVar,
		Cwnd: uint32(min(f.last.cwnd<<10/uint64(mss), 1<<32-1)), SndMSS: mss, Congestion: congestion,
	}
}

// windowLimited compares the socket buffer with what was asked for. The kernel
// doubles what it grants, for its own overhead (socket(7)).
func windowLimited(who string, r report) []record.Warning {
	if r.granted >= 2*r.asked {
		return nil
	}
	return []record.Warning{{Code: "window-limited", Text: fmt.Sprintf(
		"%s: socket buffer of %d bytes asked for, %d granted: limited by net.core.wmem_max or rmem_max", who, r.asked, r.granted/2)}}
}

// figures is what a flow did in the window.
type figures struct {
	bytes, lost, sent, received, retransmits uint64
	jitter                                   float64 // ms, in the last interval
	last                                     interval
	all                                      uint64 // bytes before the window, too
}

// cut sums the intervals of a second from lead up to its end, which must all be
// there. Sums over longer times, which the program prints at the end, are no
// intervals.
func cut(intervals []interval, lead, window int) (f figures, err error) {
	next := 0
	for _, v := range intervals {
		if v.start != float64(next) || v.end != float64(next+1) || next >= lead+window {
			continue
		}
		next++
		f.all += v.bytes
		if next <= lead {
			continue
		}
		f.bytes += v.bytes
		f.lost += v.lost
		f.sent += v.sent
		f.received += v.received
		f.retransmits += v.retransmits
		f.jitter, f.last = v.jitter, v
	}
	if next < lead+window {
		return f, fmt.Errorf("no interval from %d to %d s", next, next+1)
	}
	return f, nil
}
