package iperf

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/record"
	"nettoll/workload"
)

// ends are the two reports of one flow.
type ends struct{ client, server *flow }

// match finds the flows of each pair, in the order of the streams, in the reports of
// its client and its server. A network that translates addresses shows a server
// others than the client has. It mostly leaves the port, by which those flows are
// found that share theirs with no other. What is left goes to the clients that are
// left, in their order, with a warning unless all of it is one client's.
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
		var open []*ends // of the server's clients, what has not been found
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
			return nil, nil, fmt.Errorf("server %s: reports nothing of the flow from %v", name, open[len(left)].client.local)
		}
		mixed := false
		for k, e := range open {
			e.server = left[k]
			mixed = mixed || owner[e] != owner[open[0]]
		}
		if mixed {
			warnings = append(warnings, record.Warning{Code: "flows-mixed", Text: fmt.Sprintf(
				"server %s sees other addresses than its clients have: which flow is whose is not known", name)})
		}
	}
	return all, warnings, nil
}

// find joins the flows that have the same key at both ends, which no other has, and
// gives what is left of either. A server can report a peer a second time, when
// datagrams of it came late: the first is meant.
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
