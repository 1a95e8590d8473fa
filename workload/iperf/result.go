package iperf

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// result combines the figures of all flows.
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
			total.add(one.interval)
			total.all += one.all
		}
		f.Bytes, f.Crossed = total.bytes, workload.Crossed{Bytes: total.all, Conns: uint64(len(flows[i]))}
		f.Sums[record.Throughput] = float64(total.bytes) * 8 / window.Seconds()
		if job.Workload == record.UDPStream {
			f.Sums[record.PacketRate] = float64(total.received) / window.Seconds()
			f.Sums[record.Jitter] = total.jitter / 1e3 / float64(len(flows[i])*len(job.Pairs))
			f.Sent, f.Lost = float64(total.sent), float64(total.lost)
			f.Offered = f.Sent * float64(cmp.Or(job.Options.MessageSize, record.Datagram)) * 8 / window.Seconds()
		} else {
			f.Sums[record.Retransmits] = float64(total.retransmits)
		}
		all = append(all, f)
	}
	r = program.Together(job, o, all)
	r.Warnings = append(r.Warnings, mixed...)
	r.Warnings = append(r.Warnings, program.Paced(job, all)...)
	return r, nil
}

// firsts returns the first client of each server, in the servers' order.
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

// measure extracts the window from the reports of the two ends of a flow.
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
		if err == nil && job.Workload == record.UDPStream && ((one.received == 0) != (one.bytes == 0) || one.received > 0 && one.sent == 0 || one.lost > one.sent) {
			err = fmt.Errorf("%d datagrams received, %d lost of %d", one.received, one.lost, one.sent)
		}
		if err != nil {
			return f, nil, fmt.Errorf("receiver: %w", err)
		}
		f.add(one.interval)
		f.all += one.all
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

// tcpInfo returns the values of the sender's kernel at the end of the window. The program does not
// report the path MTU, nor the congestion control unless one was requested.
func tcpInfo(f figures, mss uint32, congestion string) *record.TCPInfo {
	if mss == 0 {
		return nil
	}
	return &record.TCPInfo{
		Retransmits: uint32(min(f.retransmits, 1<<32-1)), RTT: f.rtt, RTTVar: f.rttVar,
		Cwnd: uint32(min(f.cwnd<<10/uint64(mss), 1<<32-1)), SndMSS: mss, Congestion: congestion,
	}
}

// figures are a flow's results in the window. Values that cannot be added up are those of the last
// interval.
type figures struct {
	interval
	all uint64 // including bytes before the window
}

// add adds up the fields that are counts.
func (v *interval) add(w interval) {
	v.bytes += w.bytes
	v.lost += w.lost
	v.sent += w.sent
	v.received += w.received
	v.retransmits += w.retransmits
	v.jitter += w.jitter
}

// cut sums the one-second intervals from lead to the end of the window, all of which must be
// present. Lines for longer times, which the program prints at the end, are not intervals.
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
		f.add(v)
		f.cwnd, f.rtt, f.rttVar = v.cwnd, v.rtt, v.rttVar
		if v.received > 0 { // otherwise it prints a jitter of 0
			f.jitter = v.jitter
		}
	}
	if next < lead+window {
		return f, fmt.Errorf("no interval from %d to %d s", next, next+1)
	}
	return f, nil
}

// ends are the two reports of one flow.
type ends struct{ client, server *flow }

// match finds the flows of each pair, in the order of the streams, in the reports of its client and
// its server. If a network translates addresses, the server sees other addresses than the client
// has. Most translation keeps the port, which identifies the flows that do not share it with
// another. The remaining flows are assigned to the remaining clients, in their order, with a
// warning unless all of them belong to one client.
func match(job workload.Job, clients, servers []report, serverOf []int) ([][]ends, []record.Warning, error) {
	streams := max(job.Options.Streams, 1)
	all := make([][]ends, len(job.Pairs))
	for i := range job.Pairs {
		flows := clients[i].flows
		if len(flows) != streams {
			return nil, nil, fmt.Errorf("client %s: reports %d flows, want %d", job.Pairs[i].Client.Name(), len(flows), streams)
		}
		slices.SortFunc(flows, func(a, b flow) int { return cmp.Compare(a.id, b.id) })
		for k := range flows {
			all[i] = append(all[i], ends{client: &flows[k]})
		}
	}
	var warnings []record.Warning
	for n, first := range firsts(serverOf) {
		var open []*ends // flows of the server's clients that have not been found
		owner := map[*ends]int{}
		for i := range all {
			for k := range all[i] {
				if e := &all[i][k]; serverOf[i] == n {
					open, owner[e] = append(open, e), i
				}
			}
		}
		var left []*flow
		for k := range servers[n].flows {
			left = append(left, &servers[n].flows[k])
		}
		open, left = find(open, left, func(f *flow) netip.AddrPort { return f.local }, func(f *flow) netip.AddrPort { return f.peer })
		open, left = find(open, left, func(f *flow) uint16 { return f.local.Port() }, func(f *flow) uint16 { return f.peer.Port() })
		name := job.Pairs[first].Server.Name()
		if len(left) < len(open) {
			return nil, nil, fmt.Errorf("server %s: reports nothing about the flow from %v", name, open[len(left)].client.local)
		}
		mixed := false
		for k, e := range open {
			e.server = left[k]
			mixed = mixed || owner[e] != owner[open[0]]
		}
		warnings = append(warnings, record.Warn(mixed, "flows-mixed",
			"server %s sees different addresses than its clients have: its flows cannot be assigned to clients", name)...)
	}
	return all, warnings, nil
}

// find joins the flows that have the same key at both ends, if no other flow has it, and returns
// the rest of both. A server can report a peer a second time, when datagrams of it came late: the
// first report is used.
func find[K comparable](open []*ends, left []*flow, atClient, atServer func(*flow) K) ([]*ends, []*flow) {
	clients, servers, ambiguous := map[K]int{}, map[K]*flow{}, map[K]bool{}
	for _, e := range open {
		k := atClient(e.client)
		clients[k]++
		ambiguous[k] = ambiguous[k] || clients[k] > 1
	}
	for _, f := range left {
		k := atServer(f)
		if servers[k] == nil {
			servers[k] = f
		} else if servers[k].peer != f.peer {
			ambiguous[k] = true
		}
	}
	found := map[*flow]bool{}
	open = slices.DeleteFunc(open, func(e *ends) bool {
		k := atClient(e.client)
		if ambiguous[k] || servers[k] == nil {
			return false
		}
		e.server = servers[k]
		found[e.server] = true
		return true
	})
	return open, slices.DeleteFunc(left, func(f *flow) bool { return found[f] })
}
