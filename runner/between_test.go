package runner

import (
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/workload"
)

// both counts packets of the given sizes in bytes, received and sent.
func both(in, inSize, out, outSize uint64) network.Count {
	return network.Count{Packets: in + out, Bytes: in*inSize + out*outSize, InPackets: in, InBytes: in * inSize}
}

// TestBetweenTheEnds has a stream of 1000 segments and 500 acknowledgements arrive at both ends, and devices between them count something
// else.
func TestBetweenTheEnds(t *testing.T) {
	const segments, acks, segment, ack = 1000, 500, 60_000, 66
	client, server := both(acks, ack, segments, segment), both(segments, segment, acks, ack)
	for _, c := range []struct {
		name   string
		change func(*proof, *network.Hop)
		count  network.Count
		said   string
	}{
		{"as the client's port", nil, both(segments, segment, acks, ack), ""},
		{"as the server's port", nil, both(acks, ack, segments, segment), ""},
		{"one packet in 20 less", nil, both(segments*95/100, segment, acks*95/100, ack), ""},
		{"merged to half as many", nil, both(segments/2, 2*segment, acks, ack), ""},
		{"split", nil, both(segments*40, segment/40+66, acks, ack), ""},
		{"without Ethernet headers", nil, both(segments, segment-14, acks, ack-14), ""},
		{"half of the acknowledgements elsewhere", nil, both(segments, segment, acks/2, ack),
			"path not proved: 250 packets crossed h1/br0 in one of the two directions, at least 454 must have"},
		{"the other way round", nil, both(acks/2, ack, segments, segment),
			"path not proved: 250 packets crossed h1/br0 in one of the two directions, at least 454 must have"},
		{"some segments elsewhere, which were lost", nil, both(segments*85/100, segment, acks, ack),
			"path not proved: 850 packets crossed h1/br0 in one of the two directions, at least 929 must have"},
		{"several in one", func(_ *proof, h *network.Hop) { h.Packs = true }, both(segments/40, 40*segment, 5, ack), ""},
		{"in a tunnel", func(_ *proof, h *network.Hop) { h.Adds = 50 }, both(segments, segment+50, acks, ack+50), ""},
		{"past the tunnel", func(_ *proof, h *network.Hop) { h.Adds = 50 }, both(segments, segment, acks, ack),
			"path not proved: 33000 bytes crossed h1/br0 in one of the two directions, at least 51255 must have"},
		{"rules for all", func(_ *proof, h *network.Hop) { h.Kind = network.Rule }, network.Count{Packets: segments + acks, Bytes: segments * segment}, ""},
		{"rules that see whole datagrams", func(_ *proof, h *network.Hop) { h.Kind = network.Rule }, network.Count{Packets: segments / 20, Bytes: segments * (segment - 34)},
			"path not proved: 50 packets crossed h1/br0, at least 1404 must have"},
		{"rules that see datagrams whose fragments connection tracking put together", func(p *proof, h *network.Hop) { h.Kind, p.datagrams = network.Rule, true },
			network.Count{Packets: segments / 20, Bytes: segments * (segment - 34)}, ""},
		{"rules past which answers go", func(_ *proof, h *network.Hop) { h.Kind = network.Rule }, network.Count{Packets: segments, Bytes: segments * segment},
			"path not proved: 1000 packets crossed h1/br0, at least 1404 must have"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := begin(t.Context(), [][]network.Hop{{
				hop("h2c1/eth0", network.Device, false, network.Count{}), hop("h1/br0", network.Device, false, network.Count{}), hop("h1c1/eth0", network.Device, false, network.Count{}),
			}})
			iferr.Fatal(t, err)
			if c.change != nil {
				c.change(p, &p.hops[1])
			}
			hops, ok := p.judge([]network.Count{client, c.count, server}, []workload.Crossed{{Bytes: segments * 50_000}})
			if got := verdict(hops); got != c.said || ok != (c.said == "") {
				t.Errorf("%v, %q, want %q", ok, got, c.said)
			}
			p.hops[0].Common, p.hops[2].Common = true, true // what the ends count can be others'
			if hops, _ := p.judge([]network.Count{client, c.count, server}, []workload.Crossed{{Bytes: segments * 50_000}}); verdict(hops) != "" {
				t.Errorf("between ends that others use, too: %q", verdict(hops))
			}
		})
	}
}

// TestLostDatagrams has datagrams dropped before a device that those of one of two clients cross, and before the server.
func TestLostDatagrams(t *testing.T) {
	const sent, arrived, size = 1000, 300, 1000
	path := func(client, port string) []network.Hop {
		return []network.Hop{
			hop(client, network.Device, false, network.Count{}), hop(port, network.Device, false, network.Count{}),
			hop("h1/eth0", network.Device, false, network.Count{}), hop("h1c1/eth0", network.Device, false, network.Count{}),
		}
	}
	p, err := begin(t.Context(), [][]network.Hop{path("h2c1/eth0", "h2/eth0"), path("h3c1/eth0", "h3/eth0")})
	iferr.Fatal(t, err)
	p.oneWay = true
	crossed := []workload.Crossed{{Bytes: arrived * size}, {Bytes: arrived * size}}
	for crossing, said := range map[uint64]string{
		2 * arrived: "", // half of what arrived took another way if it is less
		arrived:     "path not proved: 300000 bytes crossed h1/eth0, the payload was 600000",
	} {
		each := both(0, 0, arrived, size)
		hops, _ := p.judge([]network.Count{both(0, 0, sent, size), each, both(0, 0, crossing, size), both(2*arrived, size, 0, 0), both(0, 0, sent, size), each}, crossed)
		if got := verdict(hops); got != said {
			t.Errorf("%d of %d: %q, want %q", crossing, 2*arrived, got, said)
		}
	}
}

// TestTrafficOfOthers has a device between the ends count more than they do.
func TestTrafficOfOthers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*proof)
		count  network.Count
		said   string
	}{
		{"as much", nil, both(10_000, 1000, 10_000, 1000), ""},
		{"split", nil, both(100_000, 110, 10_000, 1000), ""},
		{"with long headers", nil, both(10_000, 1700, 10_000, 1700), ""},
		{"twice", nil, both(20_000, 1000, 20_000, 1000), "wrong path: 40000 packets crossed h1/br0, and only 20000 the devices at the ends of its paths: other traffic crosses it"},
		{"which others use, too", func(p *proof) { p.hops[1].Common = true }, both(20_000, 1000, 20_000, 1000), ""},
		{"which other networks use, too", func(p *proof) {
			p.hops[1].Device = "br0"
			p.beside = []*proof{{hops: []network.Hop{{Device: "br0"}}}}
		}, both(20_000, 1000, 20_000, 1000), ""},
		{"an end that does not count all", func(p *proof) { p.before[0].IP, p.after[0].IP = 1, 1+30_000_000 }, both(20_000, 1000, 20_000, 1000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := begin(t.Context(), [][]network.Hop{{
				hop("h2c1/eth0", network.Device, false, network.Count{}), hop("h1/br0", network.Device, false, network.Count{}), hop("h1c1/eth0", network.Device, false, network.Count{}),
			}})
			iferr.Fatal(t, err)
			p.after = []network.Count{both(10_000, 1000, 10_000, 1000), c.count, both(10_000, 1000, 10_000, 1000)}
			if c.change != nil {
				c.change(p)
			}
			if got := p.crowded(); got != c.said {
				t.Errorf("%q, want %q", got, c.said)
			}
		})
	}
}

// TestMisfit has devices that are not what the network says of them.
func TestMisfit(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(end, port *network.Joint, mtu *int)
		said   string
	}{
		{"as they should be", func(_, _ *network.Joint, _ *int) {}, ""},
		{"another kind", func(end, _ *network.Joint, _ *int) { end.Kind = "macvlan" }, "wrong path: h1c1/eth0 is of the kind macvlan, and should be of the kind veth"},
		{"another pair", func(end, _ *network.Joint, _ *int) { end.Peer = 9 }, "wrong path: h1c1/eth0 is not connected to h1/veth0"},
		{"another end", func(_, port *network.Joint, _ *int) { port.Peer = 9 }, "wrong path: h1/veth0 is not connected to h1c1/eth0"},
		{"another bridge", func(_, port *network.Joint, _ *int) { port.Master = 9 }, "wrong path: h1/veth0 is not a port of its bridge"},
		{"another MTU", func(_, _ *network.Joint, mtu *int) { *mtu = 1280 }, "wrong path: the MTU of h1/veth0 is 1280, and should be 1500"},
		{"that cannot be read", func(end, port *network.Joint, _ *int) { *end, *port = network.Joint{}, network.Joint{} }, ""},
	} {
		end, port, mtu := network.Joint{Kind: "veth", Index: 2, Peer: 5}, network.Joint{Kind: "veth", Index: 5, Peer: 2, Master: 3}, 1500
		c.change(&end, &port, &mtu)
		p := &proof{
			hops: []network.Hop{{Name: "h1c1/eth0", Link: "veth", Meets: "h1/veth0"}, {Name: "h1/veth0", Link: "veth", Meets: "h1c1/eth0", Master: 3, MTU: 1500}},
		}
		p.before, p.pairs, p.ends, p.lasts = []network.Count{{At: end}, {At: port, MTU: mtu}}, [][]int{nil, {0}}, []int{1}, []int{1}
		if got := p.misfit(0); got != c.said {
			t.Errorf("%s: %q, want %q", c.name, got, c.said)
		}
		if got := p.misfit(1280); got != c.said && mtu == 1500 || got != "" && mtu != 1500 {
			t.Errorf("%s, normalized: %q", c.name, got)
		}
	}
}
