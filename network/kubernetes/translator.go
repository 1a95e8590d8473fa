package kubernetes

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// Agents on nodes of the user's that may ask the kernel show what translates the addresses that clients dial: the connections of a
// trial, and a greeting after it, are still known for seconds to what has translated them. Nothing is asked while a trial runs.

// handled is what the kernel of a node knows of the connections to addresses that clients dial.
type handled struct {
	on string // the name of the host
	sampler.Translated
	err error
}

// greetTime bounds the wait for the answer to a greeting after a trial.
const greetTime = 2 * time.Second

// translator is network.Network.Translator.
func (n *build) translator(ctx context.Context, f network.Family) (remark, unproved string) {
	// Connections that were reset are known for ten seconds only, and other networks may have had turns since then. That a greeting is
	// not answered shows in what is known of it.
	_, _ = n.meet(ctx, sampler.Meet, greetTime, n.greeting(f, afterTrials)...)
	var all []handled
	for _, h := range n.talking() {
		one := handled{on: h.Name()}
		for _, d := range n.dialledAt(f) {
			var got sampler.Translated
			if err := n.cluster.Nodes[h.Index].Agent.Call(ctx, sampler.MethodTranslated, d, &got); err != nil {
				one.err = err
				break
			}
			one.Tracked, one.DNAT, one.IPVS = one.Tracked+got.Tracked, one.DNAT+got.DNAT, one.IPVS+got.IPVS
		}
		all = append(all, one)
	}
	return translated(all)
}

// dialledAt returns the addresses at which clients dial servers, each with the ports that only trials use, and the servers' own
// addresses.
func (n *build) dialledAt(f network.Family) (all []sampler.Dialled) {
	for i, client := range n.Clients {
		place := n.Topo.Pair(i)
		ports, own := ofTrials(n.portsOf(place)), n.Servers[place].Addr(f)
		one := sampler.Dialled{To: n.dials(client, n.Servers[place], f), First: ports.First, Last: ports.Last, Servers: []netip.Addr{own}}
		if !slices.ContainsFunc(all, func(d sampler.Dialled) bool { return d.To == one.To && d.First == one.First }) {
			all = append(all, one)
		}
	}
	return all
}

// translated says what has translated the addresses, from what is known on all nodes, or why that is not proved.
func translated(all []handled) (remark, unproved string) {
	where := func(such func(handled) bool) string {
		return strings.Join(record.Each(record.Those(all, such), func(h handled) string { return h.on }), " and ")
	}
	dnat, ipvs := where(func(h handled) bool { return h.DNAT > 0 }), where(func(h handled) bool { return h.IPVS > 0 })
	var by []string
	if dnat != "" {
		by = append(by, "conntrack (DNAT) on "+dnat)
	}
	if ipvs != "" {
		by = append(by, "IPVS on "+ipvs)
	}
	const what = "the addresses that clients dial"
	if by != nil {
		return what + " were translated by " + strings.Join(by, ", and by "), ""
	}
	for _, h := range all {
		if h.err != nil {
			return "", "what translates " + what + " is not proved: on " + h.on + ", " + h.err.Error()
		}
	}
	text := "neither conntrack nor IPVS on the nodes has translated " + what
	if known := where(func(h handled) bool { return h.Tracked > 0 }); known != "" {
		return "", text + ", although conntrack on " + known + " knows such connections: something else does, such as a load balancer outside of the nodes"
	}
	return "", text + ", nor does conntrack know such connections: something else does, such as BPF programs (as Cilium has)"
}
