package runner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"nettoll/network"
	"nettoll/record"
)

// The payload alone says little of a device between the ends of a path: acknowledgements, handshakes and datagrams that were lost are no
// payload, and must take the path as well. So each device is also judged by what the devices at the ends have counted.

const (
	// Of what the ends have counted in a direction, a device between them must have counted so much: in packets or, where packets
	// are merged and split again on their way, in bytes, of which a tenth can be headers. In networks that were as they should
	// be it was all but a few packets; 0.98 while datagrams still arrived, after which devices are read again.
	leastPackets, leastBytes = 0.95, 0.9
	// A rule does not count the headers of Ethernet, 14, nor those of IP of fragments but the first, 20 or more.
	fragmentHeaders = 34
	// fewPackets differ because of address resolution, and because devices are read one after the other; pairs add to that.
	fewPackets = 20
	// More than so many times what the ends have counted, both in packets and in bytes, is the traffic of others.
	mostCounted = 1.5
	morePackets = 1000 // that may be others' even so
	moreBytes   = 1 << 20
)

// traffic is what crossed devices in one direction.
type traffic struct{ packets, bytes float64 }

func (t traffic) plus(o traffic) traffic { return traffic{t.packets + o.packets, t.bytes + o.bytes} }

// least returns the smaller of both, each of its numbers by itself.
func (t traffic) least(o traffic) traffic {
	return traffic{min(t.packets, o.packets), min(t.bytes, o.bytes)}
}

// ways returns what crossed a device in each direction, as its namespace sees it.
func ways(c network.Count) (in, out traffic) {
	in = traffic{float64(c.InPackets), float64(c.InBytes)}
	return in, traffic{float64(c.Packets - c.InPackets), float64(c.Bytes - c.InBytes)}
}

// between judges a hop between the ends of paths by what the devices at their ends have counted.
func (p *proof) between(r *record.Hop, hop int, after []network.Count) {
	h := p.hops[hop]
	if h.Absent || h.Packs || h.Slow || p.isEnd(hop) {
		return
	}
	grown := growth(p.before[hop], after[hop])
	toServer, toClient := p.atEnds(hop, after)
	few := fewPackets + float64(len(p.pairs[hop]))
	switch in, out := ways(grown); {
	case h.Kind == network.Rule: // it has no directions
		all := toServer.plus(toClient)
		reassembled := p.datagrams && float64(grown.Bytes) >= leastBytes*(all.bytes-all.packets*fragmentHeaders) // rules with connection tracking meet no fragments
		if need := leastPackets*all.packets - few; float64(grown.Packets) < need && !reassembled {
			r.OK, r.Unit, r.Need = false, "packets", uint64(need)
		}
	case h.Kind == network.Device && grown.IP <= grown.Bytes:
		// Which direction is which is not known.
		least := func(a, b traffic) *shortage {
			return cmp.Or(a.short(toServer, h.Adds, few), b.short(toClient, h.Adds, few))
		}
		one, other := least(in, out), least(out, in)
		if one == nil || other == nil {
			return
		}
		if (in.packets < out.packets) != (toServer.packets < toClient.packets) {
			one = other
		}
		r.OK, r.Unit, r.Need, r.Fewer = false, one.unit, uint64(one.need), &one.got
	}
}

// shortage is less than what must have crossed a device in a direction.
type shortage struct {
	unit string
	got  uint64
	need float64
}

// short returns how t is less than what the ends have counted, to each packet of which a tunnel adds some bytes, or nil.
func (t traffic) short(of traffic, adds int, few float64) *shortage {
	packets, wrapped := leastPackets*of.packets-few, leastBytes*(of.bytes+float64(adds)*(of.packets-few))
	switch {
	case t.packets < packets && t.bytes < leastBytes*of.bytes:
		return &shortage{"packets", uint64(t.packets), packets}
	case adds > 0 && t.bytes < wrapped:
		return &shortage{"bytes", uint64(t.bytes), wrapped}
	}
	return nil
}

// isEnd reports whether a hop is the end of a path across it.
func (p *proof) isEnd(hop int) bool {
	return slices.ContainsFunc(p.pairs[hop], func(pair int) bool { return pair >= len(p.lasts) || p.ends[pair] == hop || p.lasts[pair] == hop })
}

// atEnds returns what crossed a hop at least, by what the devices at the ends of the paths across it have counted. What one end sent
// and the other received is the smaller of both: some may be lost on its way, and some that an end counts need not come from the other.
// If only one end is known, what it sent may have been lost before the hop.
func (p *proof) atEnds(hop int, after []network.Count) (toServer, toClient traffic) {
	clientsIn, clientsOut, clients := p.counts(hop, p.ends, after)
	serversIn, serversOut, servers := p.counts(hop, p.lasts, after)
	switch {
	case clients && servers:
		return clientsOut.least(serversIn), serversOut.least(clientsIn)
	case servers:
		return serversIn, traffic{}
	case clients:
		return traffic{}, clientsIn
	}
	return traffic{}, traffic{}
}

// counts returns what the devices at one end of the paths across a hop have received and sent. They are known if all of these paths,
// and no others, end there, and nothing else crosses the devices.
func (p *proof) counts(hop int, ends []int, after []network.Count) (in, out traffic, known bool) {
	for _, end := range record.Distinct(p.pairs[hop], func(pair int) int { return ends[pair] }) {
		alone := !slices.ContainsFunc(p.pairs[end], func(pair int) bool { return !slices.Contains(p.pairs[hop], pair) })
		if !alone || !p.measures(p.hops[end]) {
			return in, out, false
		}
		received, sent := ways(growth(p.before[end], after[end]))
		in, out = in.plus(received), out.plus(sent)
	}
	return in, out, true
}

// measures reports whether a device counts the traffic of its network, and no other.
func (p *proof) measures(h network.Hop) bool {
	return h.Kind == network.Device && !h.Absent && !h.Common && !h.Packs && !h.May && !h.Slow &&
		!slices.ContainsFunc(p.beside, func(o *proof) bool { return o.crosses(h) })
}

// crowded names a device between the ends that has counted much more than they have, or returns "": traffic of others crosses it.
func (p *proof) crowded() string {
	for i, h := range p.hops {
		if !p.measures(h) || p.isEnd(i) {
			continue
		}
		grown, most := growth(p.before[i], p.after[i]), traffic{}
		for _, ends := range [][]int{p.ends, p.lasts} {
			sum := traffic{}
			for _, end := range record.Distinct(p.pairs[i], func(pair int) int { return ends[pair] }) {
				one := growth(p.before[end], p.after[end])
				in, out := ways(one)
				sum = sum.plus(in).plus(out)
				if !p.measures(p.hops[end]) || one.IP > one.Bytes { // what it counts is not known to be all
					sum.packets = math.Inf(1)
				}
			}
			most = traffic{max(most.packets, sum.packets), max(most.bytes, sum.bytes)}
		}
		if float64(grown.Packets) > mostCounted*most.packets+morePackets && float64(grown.Bytes) > mostCounted*most.bytes+moreBytes {
			return fmt.Sprintf("wrong path: %d packets crossed %s, and only %.0f the devices at the ends of its paths: other traffic crosses it", grown.Packets, h.Name, most.packets)
		}
	}
	return ""
}
