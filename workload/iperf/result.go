package iperf

import (
	"fmt"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// result puts the figures of all flows together.
func result(job workload.Job, o program.Outcome, places map[seat]int) (workload.Result, error) {
	clients, servers := make([]report, len(job.Pairs)), make([]report, len(o.Servers))
	serverOf := make([]int, len(job.Pairs))
	for i, p := range job.Pairs {
		var err error
		if clients[i], err = read(o.Clients[i]); err != nil {
			return workload.Result{}, fmt.Errorf("client %s: %w", p.Client.Name(), err)
		}
		n := places[seatOf(p)]
		serverOf[i] = n
		if servers[n].flows != nil {
			continue
		}
		if servers[n], err = read(o.Servers[n]); err != nil {
			return workload.Result{}, fmt.Errorf("server %s: %w", p.Server.Name(), err)
		}
	}
	flows, warnings, err := match(job, clients, servers, serverOf)
	if err != nil {
		return workload.Result{}, err
	}
	lead, window := program.Window(job)
	r := workload.Result{
		Window: window, Metrics: map[string]record.Metric{}, Client: o.Client, Server: o.Server,
		Crossed: make([]workload.Crossed, len(job.Pairs)), Warnings: append(o.Warnings, warnings...),
	}
	var sum figures
	jitter := 0.0
	for i, p := range job.Pairs {
		for k, e := range flows[i] {
			f, tcp, err := e.measure(job, int(lead/time.Second), int(window/time.Second))
			if err != nil {
				return workload.Result{}, fmt.Errorf("client %s: flow %d: %w", p.Client.Name(), k, err)
			}
			r.Flows = append(r.Flows, record.Flow{Client: p.Client.Name(), Server: p.Server.Name(), Stream: k, Bytes: f.bytes, TCP: tcp})
			r.Crossed[i].Bytes += f.all
			r.Crossed[i].Conns++
			sum.add(f)
			jitter += f.jitter
		}
		r.Warnings = append(r.Warnings, windowLimited("client "+p.Client.Name(), clients[i])...)
	}
	for n, i := range firsts(serverOf) {
		r.Warnings = append(r.Warnings, windowLimited("server "+job.Pairs[i].Server.Name(), servers[n])...)
	}
	r.Bytes = sum.bytes
	put := func(name string, v float64) { r.Metrics[name] = record.Measured(name, v) }
	put(record.Throughput, float64(sum.bytes)*8/window.Seconds())
	if job.Workload == record.UDPStream {
		put(record.PacketRate, float64(sum.received)/window.Seconds())
		put(record.Loss, float64(sum.lost)/float64(sum.sent))
		put(record.Jitter, jitter/1e3/float64(len(r.Flows)))
	} else {
		put(record.Retransmits, float64(sum.retransmits))
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
		if err == nil && job.Workload == record.UDPStream && (one.received == 0 || one.lost > one.sent) {
			err = fmt.Errorf("%d datagrams received, %d lost of %d", one.received, one.lost, one.sent)
		}
		if err != nil {
			return f, nil, fmt.Errorf("receiver: %w", err)
		}
		f.add(one)
		f.jitter = one.jitter
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
