package runner

import (
	"fmt"

	"nettoll/record"
	"nettoll/sampler"
)

// Codes of findings: what is wrong with a network that works, or why it does not.
const (
	FoundChecksums     = "wrong-checksums" // offload of checksums breaks the network
	FoundBlackHole     = "mtu-black-hole"  // large packets vanish
	FoundFragmentation = "fragmentation"   // packets are sent in pieces
	FoundMTU           = "mtu-too-large"   // packets may be larger than what their path carries
	FoundNested        = "nested-tunnel"   // a tunnel inside a tunnel
)

// largestPacket is what IP can express, in bytes. A loopback device has a larger MTU.
const largestPacket = 65535

// finding is something wrong with a network, and what would fix it.
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

// findings looks for what is wrong with the network of a trial, the gravest first.
func findings(sc scene) (all []finding) {
	for _, look := range []func(scene) (finding, bool){wrongChecksums, wrongMTU, nestedTunnel} {
		if f, ok := look(sc); ok {
			all = append(all, f)
		}
	}
	return all
}

// wrongChecksums finds segments that arrived with checksums that do not fit. A sender
// leaves them to its device, which leaves them to the next, as long as the kernel
// forwards: what takes packets out of the kernel has to complete them.
func wrongChecksums(sc scene) (f finding, ok bool) {
	where, n := sc.most(append(sc.endNames(), sc.hosts...), "TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors")
	if n == 0 {
		return f, false
	}
	f = finding{code: FoundChecksums, text: fmt.Sprintf("%s threw away %d segments that arrived with wrong checksums", where, n)}
	for _, e := range sc.ends {
		if e.Name != where && e.Offloads["tx-checksum"] {
			f.text += ": the sender leaves them to its device, and something on the path sends them on unfinished"
			f.remedy = fmt.Sprintf("turn the offload off in the containers (ethtool -K %s tx off)", e.Device)
			return f, true
		}
	}
	f.text += ", although the sender completes them: something on the path corrupts packets"
	return f, true
}

// wrongMTU finds packets that are larger than what their path carries, by what became of
// them or, where that is not counted, by the devices on the path.
func wrongMTU(sc scene) (f finding, ok bool) {
	wide := sc.widest()
	by, size := sc.narrowest()
	remedy := "lower the containers' MTU by what the encapsulation adds"
	if size > 0 && size < wide.MTU {
		remedy = setMTU(size)
	}
	const cut, cut6 = "IpFragCreates", "Ip6FragCreates"
	if where, n := sc.most(sc.endNames(), cut, cut6); n > 0 {
		return finding{
			FoundFragmentation, fmt.Sprintf("%s sent its datagrams in %d fragments: with headers they are larger than the MTU of %d", where, n, wide.MTU),
			"send smaller ones (--message-size), unless this is what is to be measured",
		}, true
	}
	if where, n := sc.most(sc.hosts, cut, cut6); n > sc.probes {
		return finding{
			FoundFragmentation, fmt.Sprintf("%s sent packets in %d fragments: those of the containers' MTU of %d are too large for the underlay with what is added to them", where, n, wide.MTU),
			remedy,
		}, true
	}
	tight := sc.tightest()
	for _, flow := range sc.flows {
		if flow.TCP != nil && flow.TCP.PMTU > 0 && int(flow.TCP.PMTU) < min(tight.MTU, largestPacket) {
			return finding{
				FoundMTU, fmt.Sprintf("%s's %s has an MTU of %d, but TCP had to find out that its path carries %d", tight.Name, tight.Device, tight.MTU, flow.TCP.PMTU),
				setMTU(int(flow.TCP.PMTU)),
			}, true
		}
	}
	if size > 0 && size < wide.MTU {
		return finding{
			FoundMTU, fmt.Sprintf("%s's %s has an MTU of %d, but %s on the path carries %d: larger packets are lost or sent in pieces, unless offloads make up for it", wide.Name, wide.Device, wide.MTU, by, size),
			remedy,
		}, true
	}
	return f, false
}

func setMTU(size int) string { return fmt.Sprintf("set the containers' MTU to %d", size) }

// nestedTunnel finds packets that are wrapped twice.
func nestedTunnel(sc scene) (f finding, ok bool) {
	inner, outer, ok := sc.nested()
	if !ok {
		return f, false
	}
	return finding{
		FoundNested, fmt.Sprintf("%s (%s) is a tunnel inside the tunnel %s (%s): each packet is wrapped twice, pays for both, and has room for less", inner, inner.kind, outer, outer.kind),
		"let the hosts talk without the outer one, or route through it without the inner one",
	}, true
}

// blackHole reads off what was tried after a trial that failed whether large packets
// vanish. announced says that somebody on the path told of packets that are too large.
func blackHole(client, server record.Endpoint, r sampler.Reached, announced bool) (f finding, ok bool) {
	if r.There == 0 || r.Back == 0 {
		return f, false // nothing crosses at all: that is another fault
	}
	size, from, to := r.There, client, server
	if r.Back < r.There {
		size, from, to = r.Back, server, client
	}
	if size >= from.MTU {
		return f, false
	}
	f.code, f.remedy = FoundBlackHole, setMTU(size)
	f.text = fmt.Sprintf("nothing larger than %d bytes crosses from %s to %s, whose MTU is %d: MTU black hole", size, from.Name, to.Name, from.MTU)
	if announced {
		f.text += ", although the path tells that packets are too large"
	}
	return f, true
}
