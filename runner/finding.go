package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nettoll/internal/oneline"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// largestPacket is the largest size that IP can express, in bytes. A loopback device has a larger MTU.
const largestPacket = 65535

// finding is a fault of a network, and what would fix it.
type finding struct {
	code, text, remedy string
}

func (f finding) warning() record.Warning {
	w := record.Warning{Code: f.code, Text: f.text}
	if f.remedy != "" {
		w.Text += ": " + f.remedy
	}
	return w
}

// findings looks for faults of a trial's network. The gravest comes first.
func findings(ev evidence) []finding {
	type look = func(evidence) (finding, bool)
	return record.Found([]look{wrongChecksums, fullTracking, fullNeighbours, wrongMTU, nestedTunnel}, func(find look) (finding, bool) { return find(ev) })
}

// fewChecksums is one in how many segments can have a wrong checksum for other reasons than the network: anybody may send such.
const fewChecksums = 1000

// wrongChecksums finds segments that arrived with wrong checksums. A sender leaves checksums to its
// device, which leaves them to the next one as long as the kernel forwards. A program that takes
// packets out of the kernel has to complete them.
func wrongChecksums(ev evidence) (f finding, ok bool) {
	where, n := greatest(ev.counted, append(endNames(ev.ends), ev.hosts...), "TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors")
	if received := ev.counted[where+"/TcpInSegs"] + ev.counted[where+"/UdpInDatagrams"] + ev.counted[where+"/Udp6InDatagrams"]; n == 0 || n < received/fewChecksums {
		return f, false
	}
	f = finding{code: record.FoundChecksums, text: fmt.Sprintf("%s threw away %d segments that arrived with wrong checksums", where, n)}
	for _, e := range ev.ends {
		if e.Name != where && e.Offloads["tx-checksum"] {
			f.text += ": the sender leaves checksums to its device, and something on the path forwards the packets without completing them"
			f.remedy = fmt.Sprintf("turn the offload off in the containers (ethtool -K %s tx off)", e.Device)
			return f, true
		}
	}
	f.text += ", although the sender completes them: something on the path corrupts packets"
	return f, true
}

// fullTracking finds packets and connections that connection tracking dropped. A packet that was dropped because another had just
// begun the same connection says nothing about its table.
func fullTracking(ev evidence) (f finding, ok bool) {
	var where string
	var packets, connections uint64
	for _, place := range append(endNames(ev.ends), ev.hosts...) {
		of := func(counter string) uint64 { return ev.counted[place+"/"+counter] }
		dropped, evicted := of(sampler.CounterTrackDropped), of(sampler.CounterTrackEvicted)
		if dropped -= min(dropped, of(sampler.CounterTrackClashed)); dropped+evicted > packets+connections {
			where, packets, connections = place, dropped, evicted
		}
	}
	return finding{
		record.FoundTracking, fmt.Sprintf("connection tracking of %s dropped %d packets, and %d connections for new ones, as it does when its table is full", where, packets, connections),
		"raise net.netfilter.nf_conntrack_max there, or measure fewer connections",
	}, packets+connections > 0
}

// fullNeighbours finds packets that were lost because the machine's table of neighbours had no room for whom they were for.
func fullNeighbours(ev evidence) (f finding, ok bool) {
	where, n := greatest(ev.counted, endNames(ev.ends), sampler.CounterFullARP, sampler.CounterFullNDP)
	return finding{
		record.FoundNeighbours, fmt.Sprintf("the table of neighbours of the machine that %s is on, which all its containers share, was full %d times: packets were lost", where, n),
		"raise net.ipv4.neigh.default.gc_thresh3 there (net.ipv6… for IPv6), or measure fewer containers at once",
	}, n > 0
}

// wrongMTU finds packets that are larger than their path carries, by counters of fragments and TCP's
// path MTU or, if these show nothing, by the devices on the path.
func wrongMTU(ev evidence) (f finding, ok bool) {
	wide := ev.widest()
	by, size := ev.narrowest()
	remedy := "lower the containers' MTU by the size of the encapsulation"
	if size > 0 && size < wide.IPMTU() {
		remedy = setMTU(wide, size)
	}
	if wide.Device == "lo" { // of a host, whose processes reach containers through it
		remedy = "measure with --normalize to rule this out"
	}
	const cut, cut6 = "IpFragCreates", "Ip6FragCreates"
	smaller := fmt.Sprintf("send smaller datagrams (%s), unless fragmentation is what you want to measure", strings.Join(ev.sizes, ", "))
	switch where, n := greatest(ev.counted, endNames(ev.ends), cut, cut6); {
	case n > 0 && len(ev.sizes) == 0:
		return finding{
			record.FoundFragmentation, fmt.Sprintf("%s sent %d fragments of packets, as TCP itself does not: something else there sent them", where, n),
			"find out what sends them (tcpdump), and measure again without it",
		}, true
	case n > 0:
		return finding{
			record.FoundFragmentation, fmt.Sprintf("%s sent its datagrams in %d fragments: with headers they are larger than the MTU of %d", where, n, ev.tightest(where).IPMTU()),
			smaller,
		}, true
	}
	switch where, n := greatest(ev.counted, ev.hosts, cut, cut6); {
	case n <= ev.probes:
	case ev.relayed && len(ev.sizes) > 0:
		return finding{record.FoundFragmentation, fmt.Sprintf("%s sent datagrams that a process there relays in %d fragments: they are larger than its MTU", where, n), smaller}, true
	default:
		return finding{
			record.FoundFragmentation, fmt.Sprintf("%s sent packets in %d fragments: packets of the containers' MTU of %d are too large for the underlay once they are encapsulated", where, n, wide.IPMTU()),
			remedy,
		}, true
	}
	tight := ev.tightest(endNames(ev.ends)...)
	for _, flow := range ev.flows {
		if flow.TCP != nil && flow.TCP.PMTU > 0 && int(flow.TCP.PMTU) < min(tight.IPMTU(), largestPacket) {
			return finding{
				record.FoundMTU, fmt.Sprintf("%s has an MTU of %d, but TCP found that its path carries only %d", narrowed(tight), tight.IPMTU(), flow.TCP.PMTU),
				setMTU(tight, int(flow.TCP.PMTU)),
			}, true
		}
	}
	if size > 0 && size < wide.IPMTU() && !ev.relayed {
		return finding{
			record.FoundMTU, fmt.Sprintf("%s has an MTU of %d, but %s on the path carries %d: larger packets are lost or fragmented, unless offloads make up for it", narrowed(wide), wide.IPMTU(), by, size),
			remedy,
		}, true
	}
	return f, false
}

// setMTU returns how to have endpoints such as one send packets of a size at most.
func setMTU(one record.Endpoint, size int) string {
	if one.Routed() {
		return fmt.Sprintf("set the MTU of the containers' routes to %d", size)
	}
	return fmt.Sprintf("set the containers' MTU to %d", size)
}

// narrowed names what limits the size of an endpoint's packets.
func narrowed(e record.Endpoint) string {
	device := e.Name + "'s " + e.Device
	if e.Routed() {
		return "the route at " + device
	}
	return device
}

// nestedTunnel finds packets that are wrapped twice.
func nestedTunnel(ev evidence) (f finding, ok bool) {
	inner, outer, ok := ev.nested()
	if !ok {
		return f, false
	}
	return finding{
		record.FoundNested, fmt.Sprintf("%s (%s) is a tunnel inside the tunnel %s (%s): each packet is encapsulated twice, pays for both tunnels, and has room for less payload", inner, inner.kind, outer, outer.kind),
		"connect the hosts without the outer tunnel, or route through it without the inner one",
	}, true
}

// blackHole judges from a probe after a failed trial whether large packets vanish. announced means
// that a host on the path reported packets that are too large. carried is the size that the devices on the path let through,
// 0 if that is not known.
func blackHole(client, server record.Endpoint, r sampler.Reached, announced bool, carried int) (f finding, ok bool) {
	if r.There == 0 || r.Back == 0 {
		return f, false // nothing crosses at all: that is another fault
	}
	size, from, to := r.There, client, server
	if r.Back < r.There {
		size, from, to = r.Back, server, client
	}
	if size >= from.IPMTU() {
		return f, false
	}
	most := size
	if carried > 0 {
		most = min(carried, r.There, r.Back)
	}
	f.code, f.remedy = record.FoundBlackHole, setMTU(from, most)
	f.text = fmt.Sprintf("MTU black hole: nothing larger than %d bytes crosses from %s, whose MTU is %d, to %s", size, from.Name, from.IPMTU(), to.Name)
	if announced {
		f.text += ", although a host on the path reports that packets are too large"
	}
	return f, true
}

// evidence holds the facts and counters of a trial in which findings are looked for.
type evidence struct {
	sizes   []string // the flags of the sizes of its datagrams; nil if the payload is in none
	ends    []record.Endpoint
	flows   []record.Flow
	counted map[string]uint64 // growth of counters, by "<where>/<counter>"
	hosts   []string          // hosts that are not endpoints
	path    []device          // devices of hosts that the payload crosses
	paths   [][]device        // the same, for each pair
	uplinks map[string]device // by host, if there are several hosts
	relayed bool              // a process on the path ends the clients' packets and sends others, of whatever size
	probes  uint64            // fragments that the network sends by itself, at most, from each host
}

// device is a network device of a host.
type device struct {
	host, name, kind string
	mtu              int
}

func (d device) String() string { return d.host + "/" + d.name }

// devices returns the devices of all hosts that can be read, which it reads once per network.
func (s *session) devices() (map[string]device, error) {
	if s.known != nil {
		return s.known, nil
	}
	all, indexes := map[string]device{}, map[string]int{}
	for host, path := range s.readable() {
		list, err := sampler.Devices(path)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			one := device{host, d.Name, d.Kind, d.MTU}
			all[one.String()], indexes[one.String()] = one, d.Index
		}
	}
	s.known, s.indexes = all, indexes
	return all, nil
}

// evidence collects the evidence of a trial. It leaves out hosts whose namespaces cannot be read.
func (s *session) evidence(t *record.Trial, links []link) (evidence, error) {
	sizes := map[string][]string{record.UDPStream: {"--message-size"}, record.UDPRR: {"--request-size", "--response-size"}}
	ev := evidence{sizes: sizes[t.Cell.Workload], ends: t.Endpoints, flows: t.Flows, counted: t.Counters, uplinks: map[string]device{}, probes: s.network.Fragments}
	ev.relayed = s.network.Relays || s.network.Relay != nil || s.r.Networks[t.Cell.Network].Driver.Relays
	known, err := s.devices()
	if err != nil {
		return ev, err
	}
	ends := names(links)
	hosts := slices.Concat(slices.Collect(maps.Keys(s.readable())), s.ownMachine())
	ev.hosts = record.Those(hosts, func(host string) bool { return !slices.Contains(ends, host) })
	slices.Sort(ev.hosts)
	for _, l := range links {
		var own []device
		for _, h := range l.hops {
			d, ok := known[h.Name]
			if !ok || h.Kind != network.Device || h.Absent {
				continue
			}
			own = append(own, d)
			ev.path = record.AddNew(ev.path, d)
		}
		ev.paths = append(ev.paths, own)
	}
	if s.topo.Hosts > 1 {
		for _, h := range s.network.Hosts {
			if d, ok := known[h.Name()+"/"+h.Uplink().Device]; ok {
				ev.uplinks[h.Name()] = d
			}
		}
	}
	return ev, nil
}

// greatest sums some counters at each place, and returns the largest sum and its place.
func greatest(counted map[string]uint64, places []string, counters ...string) (where string, n uint64) {
	for _, place := range places {
		sum := record.Sum(counters, func(c string) uint64 { return counted[place+"/"+c] })
		if sum > n {
			where, n = place, sum
		}
	}
	return where, n
}

// endNames returns the names of endpoints, each once.
func endNames(ends []record.Endpoint) []string {
	return record.Distinct(ends, func(e record.Endpoint) string { return e.Name })
}

// widest returns the endpoint that sends the largest packets.
func (ev evidence) widest() (e record.Endpoint) {
	for _, one := range ev.ends {
		if one.IPMTU() > e.IPMTU() {
			e = one
		}
	}
	return e
}

// tightest returns which endpoint of some names sends the smallest packets.
func (ev evidence) tightest(names ...string) (e record.Endpoint) {
	for _, one := range ev.ends {
		if slices.Contains(names, one.Name) && (e.MTU == 0 || one.IPMTU() < e.IPMTU()) {
			e = one
		}
	}
	return e
}

// narrowest returns the device that limits the size of endpoints' packets the most, and the size
// that it lets through. 0 means not known.
func (ev evidence) narrowest() (by device, size int) {
	wide := func(d device, mtu int) {
		if mtu > 0 && (size == 0 || mtu < size) {
			by, size = d, mtu
		}
	}
	for _, d := range ev.path {
		wide(d, d.mtu)
		if up, ok := ev.uplinks[d.host]; ok && up != d && network.Overheads[d.kind] > 0 {
			wide(d, up.mtu-network.Overheads[d.kind])
		}
	}
	for _, e := range ev.ends {
		if up, ok := ev.uplinks[e.Host]; ok {
			wide(up, up.mtu)
		}
	}
	return by, size
}

// nested returns a tunnel on the path of a pair and the tunnel that wraps it, if any. Several
// tunnels of a host that lead to different hosts are not nested.
func (ev evidence) nested() (inner, outer device, ok bool) {
	for _, path := range ev.paths {
		for i, d := range path {
			if !network.Tunnels(d.kind) {
				continue
			}
			if up := ev.uplinks[d.host]; network.Tunnels(up.kind) && up != d {
				return d, up, true
			}
			for _, other := range path[i+1:] {
				if other.host == d.host && other != d && network.Tunnels(other.kind) {
					return d, other, true
				}
			}
		}
	}
	return inner, outer, false
}

// diagnoseTime bounds the search for the cause of a failed trial.
const diagnoseTime = 4 * time.Second

// explained is a failure with a known cause.
type explained struct {
	finding
	error // the symptom
}

func (e *explained) Unwrap() error { return e.error }

// Error states the cause before the symptom.
func (e *explained) Error() string { return joined(e.text, oneline.Errors(e.error.Error())) }

// diagnose looks for the cause of a failed trial, notes it on the trial and returns the failure, with
// its cause if that is known. It does not look for a cause if the trial was interrupted or is not
// supported here.
func (s *session) diagnose(ctx context.Context, t *record.Trial, links []link, before map[string]uint64, failure error) error {
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(failure, platform.ErrUnsupported) {
		return failure
	}
	if ctx.Err() != nil { // the trial's time is up
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, diagnoseTime)
	defer cancel()
	after, err := s.count(ctx, links)
	if err != nil {
		return failure // the fault that broke the trial also prevents reading its network
	}
	t.Counters = sampler.Delta(before, after)
	ev, err := s.evidence(t, links)
	if err != nil {
		return failure
	}
	all := findings(ev)
	found := func(codes ...string) *finding {
		if i := slices.IndexFunc(all, func(f finding) bool { return slices.Contains(codes, f.code) }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	cause := found(record.FoundChecksums)
	if cause == nil {
		cause = found(record.FoundTracking, record.FoundNeighbours) // unless a probe finds more: the table may have been full for others
		between := func(l link) [2]string { return [2]string{l.client.OnHost(), l.server.OnHost()} }
		for _, alike := range record.Gather(links, between) {
			if hole, ok := s.probe(ctx, ev, alike[0]); ok {
				// A black hole says more than that packets may be too large.
				all = append([]finding{hole}, slices.DeleteFunc(all, func(f finding) bool { return f.code == record.FoundMTU })...)
				cause = &hole
				break
			}
		}
	}
	for _, f := range all {
		t.Warnings = append(t.Warnings, f.warning())
	}
	if cause == nil {
		return failure
	}
	return &explained{*cause, failure}
}

// mostProbed is the largest MTU that is probed, that of jumbo frames. Probing larger ones, such as
// a loopback device's, is pointless.
const mostProbed = 9216 // bytes

// probe measures how large packets may be to cross between two endpoints.
func (s *session) probe(ctx context.Context, ev evidence, l link) (f finding, ok bool) {
	client, server := ev.end(l.client.Name(), "client"), ev.end(l.server.Name(), "server")
	if most := max(client.IPMTU(), server.IPMTU()); most > mostProbed || client.IPMTU() == 0 || server.IPMTU() == 0 {
		return f, false
	}
	for _, m := range []*AgentEndpoint{l.client, l.server} { // one may have died from the same fault
		if _, err := m.Agent(ctx); err != nil {
			return f, false
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	cookie := sampler.NewCookie()
	echoing := make(chan struct{})
	go func() {
		defer close(echoing)
		_ = l.server.Call(ctx, sampler.MethodEcho, sampler.Echo{At: netip.AddrPortFrom(l.atServer, uint16(l.own[0])), Cookie: cookie}, nil)
	}()
	var r sampler.Reached
	err := l.client.Call(ctx, sampler.MethodReach, sampler.Reach{
		To: netip.AddrPortFrom(l.toServer, uint16(l.own[0])), Cookie: cookie, MTU: max(client.IPMTU(), server.IPMTU()),
	}, &r)
	cancel()
	<-echoing
	if err != nil {
		return f, false
	}
	_, announced := greatest(ev.counted, ev.hosts, "IcmpOutDestUnreachs", "Icmp6OutPktTooBigs")
	_, carried := ev.narrowest()
	return blackHole(client, server, r, announced > 0, carried)
}

// end returns the endpoint with a name and a role.
func (ev evidence) end(name, role string) record.Endpoint {
	e, _ := record.First(ev.ends, func(e record.Endpoint) bool { return e.Name == name && e.Role == role })
	return e
}
