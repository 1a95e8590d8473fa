package runner

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/oneline"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// proof reads the hops of a network before and after the traffic, and judges whether the payload
// crossed them.
type proof struct {
	hops      []network.Hop
	before    []network.Count
	after     []network.Count // at the last reading
	pairs     [][]int         // for each hop, the pairs whose payload must cross it
	ends      []int           // for each pair, its first hop
	lasts     []int           // for each pair, its last hop
	from      []string        // for each pair, the client's host; nil: all are on one
	spans     []span          // the turns of the network; nil: it is not measured in turns
	found     []network.Hop   // those with May that the payload crossed
	unsure    []network.Hop   // those with May of which that is not known
	others    []float64       // for each hop with May, what others send over it in bytes/s; nil: not watched
	began     time.Time       // when before was read
	beside    []*proof        // of the other networks with which this one takes turns
	oneWay    bool            // the receivers of the payload send nothing back
	datagrams bool            // the payload is in datagrams, which can be sent in fragments
	first     int             // the hop that tells whether something crosses the network, or -1; see among
}

// span holds what the hops had counted at the beginning and at the end of a turn.
type span struct {
	before, after []network.Count
	length        time.Duration
}

// begin reads the hops on the paths of all pairs. A hop that several pairs share
// is read once.
func begin(ctx context.Context, paths [][]network.Hop) (*proof, error) {
	p := &proof{first: -1}
	known := map[string]int{}
	for pair, hops := range paths {
		if len(hops) == 0 {
			return nil, fmt.Errorf("the network names no hop that could prove its path")
		}
		for n, h := range hops {
			i, ok := known[h.Name]
			if !ok {
				i = len(p.hops)
				known[h.Name] = i
				p.hops, p.pairs = append(p.hops, h), append(p.pairs, nil)
			}
			p.pairs[i] = append(p.pairs[i], pair)
			if n == 0 {
				p.ends = append(p.ends, i)
			}
			if n == len(hops)-1 {
				p.lasts = append(p.lasts, i)
			}
		}
	}
	var err error
	p.before, err = p.read(ctx, nil)
	p.began = time.Now()
	return p, err
}

// sighting is what a hop had counted at a time.
type sighting struct {
	of    *proof
	hop   int
	count network.Count
	at    time.Time
	err   error
}

// sightings are those of the hops that the payload of networks need not cross, and of the ends that tell how much it is.
type sightings []sighting

func sightingsOf(networks []*proof) (all sightings) {
	for _, p := range networks {
		if !slices.ContainsFunc(p.hops, func(h network.Hop) bool { return h.May }) {
			continue
		}
		p.others = make([]float64, len(p.hops))
		for i, h := range p.hops {
			if h.May || slices.Contains(p.ends, i) {
				all = append(all, sighting{of: p, hop: i})
				p.others[i] = math.Inf(1) // until it is known
			}
		}
	}
	return all
}

// read reads all of them again.
func (s sightings) read(ctx context.Context) sightings {
	const atOnce = 16
	all := slices.Clone(s)
	_ = atonce.Each(atOnce, all, func(i int, one sighting) (err error) { // one that cannot be read is left out in the end
		all[i].count, all[i].err = one.of.hops[one.hop].Read(ctx)
		all[i].at = time.Now()
		return nil
	})
	return all
}

// took is how long the longest of them took from one reading to the next.
func (s sightings) took(next sightings) (most time.Duration) {
	for i := range s {
		most = max(most, next[i].at.Sub(s[i].at))
	}
	return most
}

// note notes what others send over hops, from three readings while none of the networks sends. Agents answer over such hops, too:
// what they count from the first to the second is theirs, as much is from the second to the third, and between those there is a
// longer time. What could not be read is not known: any payload may be that of others. Whole trials begin with the third.
func (s sightings) note(first, from, to sightings) {
	const least = 0.02 // seconds: in less, a single packet would seem to be much
	for i, is := range to {
		was, then := from[i], first[i]
		if cmp.Or(is.err, was.err, then.err) != nil || is.count.At != was.count.At || was.count.At != then.count.At {
			continue
		}
		is.of.before[is.hop] = is.count
		bytes, time := growth(was.count, is.count).Bytes, is.at.Sub(was.at).Seconds()
		if longer := time - was.at.Sub(then.at).Seconds(); longer >= least { // otherwise the agents' answers count as others', and less is sure
			bytes, time = more(growth(then.count, was.count).Bytes, bytes), longer
		}
		if time >= least && is.of.hops[is.hop].May {
			is.of.others[is.hop] = float64(bytes) / time
		}
	}
	for _, one := range to {
		one.of.began = one.at
	}
}

// read reads the hops that some accepts; nil accepts all.
func (p *proof) read(ctx context.Context, some func(network.Hop) bool) ([]network.Count, error) {
	counts := make([]network.Count, len(p.hops))
	for i, h := range p.hops {
		if some != nil && !some(h) {
			continue
		}
		var err error
		if counts[i], err = h.Read(ctx); err != nil && !h.May {
			return nil, fmt.Errorf("read %s: %w", h.Name, err)
		}
	}
	return counts, nil
}

// keep has the hops of the proof keep open what they need to be read, until release is called.
func (p *proof) keep() (release func()) {
	var kept []func()
	for i, h := range p.hops {
		if h.Keep == nil {
			continue
		}
		if read, closes, err := h.Keep(); err == nil { // an error will show up when the hop is read
			p.hops[i].Read = read
			kept = append(kept, func() { p.hops[i].Read = h.Read; closes() })
		}
	}
	return func() {
		for _, undo := range kept {
			undo()
		}
	}
}

// These are how long counters may take to show the packets that crossed. Those of a user-space process
// are late, on a busy machine until it gets a CPU; they contain nothing but payload, however long they
// are waited for. Those of some network cards are renewed once a second (drivers bnxt_en and atlantic), and contain what
// others send anyway. If the payload need not cross such a card, it may also be that it never shows it.
const (
	lateDevice  = 500 * time.Millisecond
	lateProcess = 5 * time.Second
	lateCard    = 1500 * time.Millisecond
)

// leastLooks is how often counters are read at least before packets are missing: if the machine is paused, the time above can pass
// without anything having run.
const leastLooks = 10

// finish reads the hops again and judges them.
func (p *proof) finish(ctx context.Context, pairs []workload.Crossed) ([]record.Hop, error) {
	began := time.Now()
	for looks := 1; ; looks++ {
		after, err := p.read(ctx, nil)
		if err != nil {
			return nil, err
		}
		p.after = after
		for i, h := range p.hops {
			if h.May || after[i].At != p.before[i].At {
				continue // the counts of different devices cannot be compared
			}
			if after[i].Bytes < p.before[i].Bytes || after[i].Packets < p.before[i].Packets {
				return nil, fmt.Errorf("%s counts less than before the trial: it was recreated", h.Name)
			}
		}
		hops, ok := p.judge(after, pairs)
		within := lateProcess
		if ok {
			within = 0
		}
		for i, h := range p.hops {
			switch {
			case hops[i].OK:
			case h.May && h.Common && ok && p.spans == nil:
				within = lateCard
			case !h.May && h.Kind != network.Proxy && (!h.Common || h.Absent):
				within = lateDevice
			}
		}
		if within == 0 || time.Since(began) >= within && looks >= leastLooks || ctx.Err() != nil {
			return p.find(hops), nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// find leaves out the hops that may be crossed and were not, and notes the others of these.
func (p *proof) find(all []record.Hop) (hops []record.Hop) {
	p.found, p.unsure = nil, nil
	for i, h := range p.hops {
		switch {
		case !h.May:
		case all[i].OK:
			p.found = append(p.found, h)
		case all[i].Need > 0 && all[i].Bytes >= all[i].Need:
			p.unsure = append(p.unsure, h)
		}
		if !h.May || all[i].OK {
			hops = append(hops, all[i])
		}
	}
	return hops
}

// counted returns the turns of the network in which a hop was read or, if it is not measured in turns or not read between them, the
// time until after was read. Other networks can cross the same devices in their turns.
func (p *proof) counted(i int, after []network.Count) []span {
	all := p.spans
	if all == nil || p.hops[i].Slow {
		all = []span{{p.before, after, time.Since(p.began)}}
	}
	return record.Those(all, func(s span) bool {
		return i < len(s.before) && i < len(s.after) && s.before[i].At.Index == s.after[i].At.Index
	})
}

// grown returns how much a hop has counted in all of them.
func grown(i int, in []span) (packets, bytes uint64) {
	for _, s := range in {
		one := growth(s.before[i], s.after[i])
		packets, bytes = packets+one.Packets, bytes+max(one.Bytes, one.IP)
	}
	return packets, bytes
}

// host returns the host of a pair's client.
func (p *proof) host(pair int) string {
	if p.from == nil {
		return ""
	}
	return p.from[pair]
}

// maybe judges whether the payload crossed a hop that it need not cross.
func (p *proof) maybe(i int, after []network.Count) record.Hop {
	h := p.hops[i]
	r := record.Hop{Name: h.Name, Kind: string(h.Kind), Unit: "bytes", About: h.About}
	in := p.counted(i, after)
	r.Packets, r.Bytes = grown(i, in)
	for _, end := range record.Distinct(p.pairs[i], func(pair int) int { return p.ends[pair] }) {
		_, bytes := grown(end, in)
		r.Need += bytes * 2 / 5 // less than half: some devices are crossed one way only, by half of what transactions send
	}
	if hosts := record.Distinct(p.pairs[i], p.host); len(hosts) > 1 && !h.Common { // a node can have a tunnel for each of them
		r.Need /= uint64(len(hosts))
	}
	others := 0.0
	if p.others != nil {
		others = p.others[i] * record.Sum(in, func(s span) float64 { return s.length.Seconds() })
	}
	r.OK = r.Need > 0 && float64(r.Bytes) >= float64(r.Need)+others
	return r
}

// more returns the growth between two readings, or 0 if the second is smaller: then it is of another
// device, and the trial is invalid.
func more(before, after uint64) uint64 { return after - min(before, after) }

// growth returns how much a hop has counted between two readings.
func growth(before, after network.Count) network.Count {
	c := network.Count{Packets: more(before.Packets, after.Packets), Bytes: more(before.Bytes, after.Bytes)}
	c.InPackets, c.InBytes = more(before.InPackets, after.InPackets), more(before.InBytes, after.InBytes)
	if before.IP > 0 && after.IP > 0 {
		c.IP = more(before.IP, after.IP)
	}
	return c
}

// countedByIP is what is said of a device that has not counted the payload that IP has received by it.
const countedByIP = "device, counted by IP"

// byIP is the remark on a path with such devices; "" if there are none.
func byIP(path []record.Hop) string {
	if !slices.ContainsFunc(path, func(h record.Hop) bool { return h.About == countedByIP }) {
		return ""
	}
	return "some devices of endpoints have not counted what they received, as before Linux 6.7 where programs in the kernel bring it there (bpf_redirect_peer); " +
		"there the path is proved by what IP has received in the endpoint's network namespace, except over lo"
}

// background is how many bytes may cross a hop that the payload must not cross, in addition to half
// of the payload: room for address resolution. Traffic that took this path would have left all of
// the payload, with headers, in both directions.
const background = 64 << 10 // bytes

// backgroundPackets is how many packets may cross such a hop in addition to half as many as there were transactions, whose bytes
// may be fewer than background.
const backgroundPackets = 50

// reopened is one in how many connections rules of NAT need not count. Where ports are used again within the 10 s for which connection
// tracking knows a connection that was reset, it can take the new one for the old one: if the last packet that it saw was the server's,
// not the client's reset (tcp_packet in the kernel's nf_conntrack_proto_tcp.c). Then it translates as before, and consults no rule. With
// tcp_crr, one of several thousand was such.
const reopened = 100

// judge judges each hop by the payload of the pairs that must cross it. With small transactions that says little: of those of a
// byte each way, two in a hundred have as many bytes with their headers as all have without. So as many packets as transactions
// must have crossed, too. Each has at least two, but some kernels do not count what a container receives: before Linux 6.7, what
// programs in the kernel redirect there (bpf_redirect_peer).
func (p *proof) judge(after []network.Count, pairs []workload.Crossed) ([]record.Hop, bool) {
	out, all := make([]record.Hop, len(p.hops)), true
	for i, h := range p.hops {
		if h.May {
			out[i] = p.maybe(i, after)
			continue
		}
		var sum workload.Crossed
		least := workload.Crossed{Bytes: math.MaxUint64, Transactions: math.MaxUint64} // of a pair
		for _, pair := range p.pairs[i] {
			sum.Add(pairs[pair])
			least.Bytes, least.Transactions = min(least.Bytes, pairs[pair].Bytes), min(least.Transactions, pairs[pair].Transactions)
		}
		// What may cross a hop that the payload must not cross. One of several pairs alone could take that path.
		most, mostPackets := sum.Bytes/2+background, sum.Transactions/2+backgroundPackets
		if h.Kind == network.Rule && !h.Common { // it sees packets of endpoints alone
			most, mostPackets = background, backgroundPackets
		}
		if n := uint64(len(p.pairs[i])); !h.Common && n > 1 {
			most, mostPackets = min(most, least.Bytes/2+n*background), min(mostPackets, least.Transactions/2+n*backgroundPackets)
		}
		grown := growth(p.before[i], after[i])
		r := record.Hop{
			Name: h.Name, Kind: string(h.Kind), Absent: h.Absent, Unit: "bytes", Packets: grown.Packets, Bytes: grown.Bytes, Need: sum.Bytes,
		}
		if r.Bytes < r.Need && r.Bytes < grown.IP {
			r.Bytes, r.About = grown.IP, countedByIP
		}
		got := r.Bytes
		if h.Kind == network.Connection {
			r.Unit, r.Need, got = "packets", sum.Conns-sum.Conns/reopened, r.Packets
		}
		switch {
		case h.Absent && !h.Common && !h.Packs && got <= most && r.Packets > mostPackets && sum.Transactions > 0:
			r.Unit, r.Need = "packets", mostPackets
		case h.Absent:
			r.Need = most
			r.OK = got <= r.Need
		case got >= r.Need && !h.Packs && (h.Kind == network.Device || h.Kind == network.Rule) && r.Packets < sum.Transactions:
			r.Unit, r.Need = "packets", sum.Transactions
		default:
			r.OK = got >= r.Need && got > 0
		}
		if r.OK && h.Kind == network.Device && !h.Absent && !h.Packs {
			p.eachWay(&r, grown, sum)
		}
		if r.OK {
			p.between(&r, i, after)
		}
		out[i], all = r, all && r.OK
	}
	return out, all
}

// acknowledged is how many bytes of a stream one packet of its receiver acknowledges at most: it sends another one at least
// whenever its window has been used up, and Linux lets windows grow to 32 MiB (tcp_rmem, since 6.16).
const acknowledged = 64 << 20

// eachWay judges by what a device has counted in the direction in which that was less: what crosses it the other way could
// otherwise stand for it. Which direction is which need not be known for that. A device that programs in the kernel bypass (see
// judge) does not count what it receives.
func (p *proof) eachWay(r *record.Hop, grown network.Count, sum workload.Crossed) {
	if grown.IP > grown.Bytes {
		return
	}
	need := sum.Transactions
	if sum.Conns >= sum.Transactions && sum.Transactions > 1 { // each has a connection of its own, with a packet each way that opens it
		need += sum.Transactions
	}
	if !p.oneWay {
		need = max(need, (sum.Bytes+acknowledged-1)/acknowledged)
	}
	packets, bytes := min(grown.InPackets, grown.Packets-grown.InPackets), min(grown.InBytes, grown.Bytes-grown.InBytes)
	switch {
	case packets < need:
		r.OK, r.Unit, r.Need, r.Fewer = false, "packets", need, &packets
	case bytes < sum.Fewer:
		r.OK, r.Need, r.Fewer = false, sum.Fewer, &bytes
	}
}

// astray names a container that sends to its peer by another device than the one of its that the payload must cross, or returns "".
// The counters of that one would be satisfied by what it receives.
func astray(ends []record.Endpoint, hops []record.Hop) string {
	for _, e := range ends {
		own := record.Those(hops, func(h record.Hop) bool {
			return h.Kind == string(network.Device) && !h.Absent && strings.HasPrefix(h.Name, e.Name+"/")
		})
		there := slices.ContainsFunc(own, func(h record.Hop) bool { return h.Name == e.Name+"/"+e.Device })
		if len(own) > 0 && !there && e.Name != e.Host && e.Device != "" && e.Device != "lo" {
			return fmt.Sprintf("wrong path: %s sends by its %s, and not by %s", e.Name, e.Device, own[0].Name)
		}
	}
	return ""
}

// unshaped says that more payload crossed a link that has a rate, in a number of windows, than it lets through, or returns "".
func unshaped(t *record.Trial, link platform.Underlay, payload uint64, windows int) string {
	const tolerance = 1.5 // in addition to a burst for each window
	if link.Rate == 0 || t.Cell.Hosts < 2 {
		return ""
	}
	if t.Cell.Workload == record.TCPBidir {
		payload /= 2
	}
	if float64(payload) <= tolerance*float64(link.Rate)/8*t.Window+float64(link.Burst()*uint64(max(1, windows))) {
		return ""
	}
	return fmt.Sprintf("the link should let through %s Mbit/s, and %s Mbit/s of payload crossed it: it is no longer shaped, or its flows were not counted at the same time",
		oneline.Number(float64(link.Rate)/1e6, 3), oneline.Number(float64(payload)*8/1e6/t.Window, 3))
}

// verdict describes what is wrong with a path, or returns "".
func verdict(hops []record.Hop) string {
	for _, h := range hops {
		switch {
		case h.OK:
		case h.Absent && h.Unit == "packets":
			return fmt.Sprintf("wrong path: %d packets crossed %s, which the payload must not cross", h.Packets, h.Name)
		case h.Absent:
			return fmt.Sprintf("wrong path: %d bytes crossed %s, which the payload must not cross", h.Bytes, h.Name)
		case h.Kind == string(network.Connection):
			return fmt.Sprintf("path not proved: %s counted %d new connections of at least %d", h.Name, h.Packets, h.Need)
		case h.Fewer != nil:
			return fmt.Sprintf("path not proved: %d %s crossed %s in one of the two directions, at least %d must have", *h.Fewer, h.Unit, h.Name, h.Need)
		case h.Unit == "packets":
			return fmt.Sprintf("path not proved: %d packets crossed %s, at least %d must have", h.Packets, h.Name, h.Need)
		default:
			return fmt.Sprintf("path not proved: %d bytes crossed %s, the payload was %d", h.Bytes, h.Name, h.Need)
		}
	}
	return ""
}
