package runner

import (
	"context"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/record"
	"nettoll/workload"
)

// TestTurnThatWentAstray checks that each turn proves its path by itself, and that nothing crosses
// other networks meanwhile.
func TestTurnThatWentAstray(t *testing.T) {
	const payload = 8 << 20
	for _, c := range []struct {
		name     string
		own      []uint64 // counts of the first device: before the first turn, after it, before the second, after it
		other    []uint64 // the same for another network
		late     []int    // indexes of the readings taken after the next turn had begun
		warnings []record.Warning
		want     string
	}{
		{"both turns took the path", []uint64{0, payload, payload, 2 * payload}, []uint64{5, 5, 5, 5}, nil, nil, ""},
		{"the second did not", []uint64{0, 2 * payload, 2 * payload, 2 * payload}, []uint64{5, 5, 5, 5}, nil, nil,
			"in turn 2 of 2: path not proved: 0 bytes crossed h1/v0, the payload was 4194304"},
		{"the first crossed another network, too", []uint64{0, payload, payload, 2 * payload}, []uint64{5, payload + 5, payload + 5, payload + 5}, nil, nil,
			"in turn 1 of 2: 8388608 bytes crossed h1/w0 of veth, although it was not that network's turn"},
		{"daemons talk", []uint64{0, payload, payload, 2 * payload}, []uint64{5, 5000, 5000, 9000}, nil, nil, ""},
		{"looked at too late to know", []uint64{0, payload / 4, payload, payload}, []uint64{5, 5, 5, 5}, []int{0, 2}, nil, ""},
		{"another had its turn before the first was looked at", []uint64{0, payload, payload, 2 * payload}, []uint64{5, payload + 5, payload + 5, payload + 5}, []int{1}, nil, ""},
		{"some was still on its way", []uint64{0, payload / 4, payload, payload}, []uint64{5, 5, 5, 5}, nil, []record.Warning{{Code: workload.WarnOverran}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := &player{attempt: &attempt{t: &record.Trial{Cell: record.Cell{Network: "veth"}}, proof: &proof{hops: []network.Hop{hop("h1/w0", network.Device, false)}}}}
			p := &player{attempt: &attempt{t: &record.Trial{}, proof: &proof{hops: []network.Hop{hop("h1/v0", network.Device, false)}, pairs: [][]int{{0}}}}}
			p.each = []workload.Result{{}} // cold
			at := func(i int) turnEdge {
				return turnEdge{late: slices.Contains(c.late, i), hops: map[*player][]network.Count{p: {bytes(c.own[i])}}, firsts: map[*player]network.Count{other: bytes(c.other[i])}}
			}
			for i := 0; i < len(c.own); i += 2 {
				p.each = append(p.each, workload.Result{Crossed: []workload.Crossed{{Bytes: payload}}, Warnings: c.warnings})
				p.readings = append(p.readings, turnReading{before: at(i), after: at(i + 1)})
			}
			if got, _ := p.astray(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			other.each = []workload.Result{{}, {Warnings: []record.Warning{{Code: workload.WarnOverran}}}}
			if got, _ := p.astray(); strings.Contains(got, "not that network's turn") {
				t.Errorf("%q, although the other network's turns overran", got)
			}
		})
	}
}

// TestWhatASocketHeldProvesNothing has a receiver read payload in its turn that arrived in the turn before.
func TestWhatASocketHeldProvesNothing(t *testing.T) {
	const payload = 32_580
	for transactions, want := range map[uint64]string{
		0:  "", // a stream
		20: "in turn 1 of 1: path not proved: 0 bytes crossed h1/v0, the payload was 16290",
	} {
		p := &player{attempt: &attempt{t: &record.Trial{}, proof: &proof{hops: []network.Hop{hop("h1/v0", network.Device, false)}, pairs: [][]int{{0}}}}}
		at := turnEdge{hops: map[*player][]network.Count{p: {bytes(payload)}}}
		p.readings = []turnReading{{before: at, after: at}}
		p.each = []workload.Result{{}, {Crossed: []workload.Crossed{{Bytes: payload}}, Flows: []record.Flow{{Transactions: transactions}}}}
		if got, _ := p.astray(); got != want {
			t.Errorf("%d transactions: %q, want %q", transactions, got, want)
		}
	}
}

// TestFewTransactionsInATurn has an end of one of two pairs wait for a CPU through most of a turn: all of its transactions but those of the
// middle may be counted in other turns.
func TestFewTransactionsInATurn(t *testing.T) {
	const size = 20_001
	for _, c := range []struct {
		transactions, crossed, streams int
		want                           string
	}{
		{1, 0, 1, ""},
		{2, 0, 1, ""},
		{4, 1, 1, ""},
		{4, 0, 1, "in turn 1 of 1: path not proved: 0 bytes crossed h1/v0, the payload was 20001"},
		{4, 0, 2, ""},
		{100, 49, 1, ""},
		{100, 20, 1, "in turn 1 of 1: path not proved: 400020 bytes crossed h1/v0, the payload was 980049"},
	} {
		hops := []network.Hop{hop("h1/v0", network.Device, false), hop("h1/v1", network.Device, false)}
		p := &player{attempt: &attempt{t: &record.Trial{}, proof: &proof{hops: hops, pairs: [][]int{{0}, {1}}}}}
		p.t.Cell.Options.Streams = c.streams
		crossed := func(n int) workload.Crossed {
			return workload.Crossed{Bytes: size * uint64(n), Transactions: uint64(n)}
		}
		counted := func(n int) network.Count {
			return network.Count{Bytes: size * uint64(n), Packets: 20 * uint64(n), InBytes: size * uint64(n) / 2, InPackets: 10 * uint64(n)}
		}
		edge := func(of ...network.Count) turnEdge { return turnEdge{hops: map[*player][]network.Count{p: of}} }
		p.readings = []turnReading{{before: edge(counted(0), counted(0)), after: edge(counted(c.crossed), counted(1000))}}
		p.each = []workload.Result{{}, {Crossed: []workload.Crossed{crossed(c.transactions), crossed(1000)}, Flows: []record.Flow{{Transactions: 1000}}}}
		if got, _ := p.astray(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestSocketsHoldWhatTheirMachinesAllow checks that a turn of streams proves nothing with as much payload as their sockets hold.
func TestSocketsHoldWhatTheirMachinesAllow(t *testing.T) {
	for rmem, each := range map[string]uint64{"": 6 << 20, "4096 131072 6291456": 6 << 20, "4096 131072 33554432": 32 << 20} {
		p := &player{attempt: &attempt{t: &record.Trial{Endpoints: []record.Endpoint{{}, {Sysctls: map[string]string{"net.ipv4.tcp_rmem": rmem}}, {Sysctls: map[string]string{"net.ipv4.tcp_rmem": "4096 8192 65536"}}}}}}
		for _, flows := range []int{1, 4} {
			turn := workload.Result{Flows: make([]record.Flow, flows)}
			if got, want := p.leastToProve(turn), each*uint64(flows); got != want {
				t.Errorf("tcp_rmem %q, %d streams: %d, want %d", rmem, flows, got, want)
			}
		}
	}
}

// TestPayloadLingers has payload on its way after some turns. The first one, which does not count, is none of them.
func TestPayloadLingers(t *testing.T) {
	late := workload.Result{Warnings: []record.Warning{{Code: workload.WarnOverran}}}
	for want, each := range map[bool][]workload.Result{true: {{}, late, {}, late}, false: {late, late, {}}} {
		if got := (&player{each: each}).lingers(); got != want {
			t.Errorf("after most of %+v: %v", each, got)
		}
	}
}

// TestLittleOfAStreamOnAnothersNetwork checks that a small part of a stream is detected on another network.
func TestLittleOfAStreamOnAnothersNetwork(t *testing.T) {
	const payload = 1 << 20
	other := &player{attempt: &attempt{t: &record.Trial{Cell: record.Cell{Network: "veth"}}, proof: &proof{hops: []network.Hop{hop("h1/w0", network.Device, false)}}}}
	p := &player{attempt: &attempt{t: &record.Trial{}, proof: &proof{hops: []network.Hop{hop("h1/v0", network.Device, false)}, pairs: [][]int{{0}}}}}
	p.each = []workload.Result{{}, {Crossed: []workload.Crossed{{Bytes: payload}}}}
	const said = "in turn 1 of 1: 1048576 bytes crossed h1/w0 of veth, although it was not that network's turn"
	for by, want := range map[string]string{"its device": said, "IP": said, "another device": ""} {
		at := func(n uint64) turnEdge {
			others := bytes(n)
			switch by {
			case "IP":
				others = network.Count{IP: 1 + n}
			case "another device": // in its place; each has counted from its beginning on
				others.At.Index = int(n)
			}
			return turnEdge{hops: map[*player][]network.Count{p: {bytes(n)}}, firsts: map[*player]network.Count{other: others}}
		}
		p.readings = []turnReading{{before: at(0), after: at(payload)}}
		if got, _ := p.astray(); got != want {
			t.Errorf("counted by %s: %q, want %q", by, got, want)
		}
	}
}

// TestDevicesThatSeveralNetworksCross has a turn of a network whose payload also crosses a device of another
// network, as that of a tunnel between two machines crosses the network card, which is the path of processes
// without containers.
func TestDevicesThatSeveralNetworksCross(t *testing.T) {
	const payload = 8 << 20
	card := hop("h1/card", network.Device, false)
	card.Device = "card"
	common := card
	common.Device, common.Common = "", true
	tunnel := hop("h1/tunnel", network.Device, false)
	for _, c := range []struct {
		name       string
		own, other []network.Hop
		want       string
	}{
		{"on its own path", []network.Hop{card, tunnel}, []network.Hop{card}, ""},
		{"that everybody may cross", []network.Hop{tunnel}, []network.Hop{common}, ""},
		{"that it should not cross", []network.Hop{tunnel}, []network.Hop{card}, "in turn 1 of 1: 8388608 bytes crossed h1/card of veth, although it was not that network's turn"},
		{"where the other has one of its own", []network.Hop{card, tunnel}, []network.Hop{card, hop("h1/other", network.Device, false)}, "in turn 1 of 1: 8388608 bytes crossed h1/other of veth, although it was not that network's turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &player{attempt: &attempt{t: &record.Trial{}, proof: &proof{hops: c.own, pairs: [][]int{{0}, {0}}}}}
			other := &player{attempt: &attempt{t: &record.Trial{Cell: record.Cell{Network: "veth"}}, proof: &proof{hops: c.other}}}
			p.proof.among([]*proof{other.proof})
			other.proof.among([]*proof{p.proof})
			at := func(n uint64) turnEdge {
				return turnEdge{hops: map[*player][]network.Count{p: slices.Repeat([]network.Count{bytes(n)}, len(c.own))}, firsts: map[*player]network.Count{other: bytes(n)}}
			}
			p.readings = []turnReading{{before: at(0), after: at(payload)}}
			p.each = []workload.Result{{}, {Crossed: []workload.Crossed{{Bytes: payload}}}}
			if got, _ := p.astray(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	// Of several clients and one server, the server's device tells most.
	several := &proof{hops: []network.Hop{hop("h1/c1", network.Device, false), hop("h1/s", network.Device, false), hop("h1/c2", network.Device, false)}, pairs: [][]int{{0}, {0, 1}, {1}}, ends: []int{0, 2}}
	if several.among(nil); several.first != 1 || several.shareOf(0) != 0.5 {
		t.Errorf("hop %d tells, and the first of half of the pairs: %v", several.first, several.shareOf(0))
	}
	absent := card
	absent.Absent = true
	if (&proof{hops: []network.Hop{absent}}).crosses(card) {
		t.Error("the payload crosses a device that it must not cross")
	}
}

// TestSlowStreamOverAnotherCard has a stream cross another card than the one that its path names and that all networks of the machines
// cross. Each of its turns has too little payload to prove that, but all of them together have enough.
func TestSlowStreamOverAnotherCard(t *testing.T) {
	const payload, turns = 6_250_000, 5 // 500 Mbit/s for 100 ms
	for _, c := range []struct {
		name    string
		crosses uint64 // of the payload of each turn
		oneWay  bool   // nothing crosses back
		common  bool
		apart   []int // turns that are not judged
		want    string
	}{
		{"its own", payload, false, true, nil, ""},
		{"its own in one direction", payload, true, true, nil, "in its turns together: path not proved: 0 packets crossed h1/ens1 in one of the two directions, at least 390620 must have"},
		{"another", 0, false, true, nil, "in its turns together: path not proved: 0 bytes crossed h1/ens1, the payload was 15624800"},
		{"another, and the first device of others, too", 0, false, false, nil, "in its turns together: path not proved: 0 bytes crossed h1/ens1, the payload was 15624800"},
		{"another, and what sockets held may be all", 0, false, true, []int{1, 3}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			card := hop("h1/ens1", network.Device, false)
			card.Common, card.Device = c.common, "card"
			tunnel := hop("h1/vxlan0", network.Device, false)
			other := &player{attempt: &attempt{t: &record.Trial{}, proof: &proof{hops: []network.Hop{tunnel}}}}
			if !c.common {
				other.proof.hops = append(other.proof.hops, card)
			}
			p := &player{attempt: &attempt{t: &record.Trial{}, proof: &proof{hops: []network.Hop{card}, pairs: [][]int{{0}}}}, each: []workload.Result{{}}} // cold
			p.proof.among([]*proof{other.proof})
			counted := uint64(0)
			for i := range turns {
				at := func() turnEdge {
					own := bytes(counted)
					if c.oneWay {
						own.InPackets, own.InBytes = 0, 0
					}
					return turnEdge{late: slices.Contains(c.apart, i), hops: map[*player][]network.Count{p: {own}}, firsts: map[*player]network.Count{other: bytes(5)}}
				}
				before := at()
				counted += c.crosses
				p.readings = append(p.readings, turnReading{before: before, after: at()})
				counted += payload // of the other
				p.each = append(p.each, workload.Result{
					Crossed: []workload.Crossed{{Bytes: payload, Transactions: payload / 40, Fewer: payload / 2}}, Flows: []record.Flow{{}},
				})
			}
			if got, _ := p.astray(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestSlowHops checks that hops which take longer to read than the pause between two turns are not read there. They are judged by
// all turns together, and do not tell what crosses the network in the turns of others.
func TestSlowHops(t *testing.T) {
	const payload = 8 << 20
	var crossed uint64
	reads := map[string]int{}
	of := func(name string, kind network.HopKind) network.Hop {
		return network.Hop{Name: name, Kind: kind, Slow: name != "h1/v0", Read: func(context.Context) (network.Count, error) {
			reads[name]++
			return bytes(crossed), nil
		}}
	}
	may := of("h1/may", network.Device)
	may.May = true
	proof, err := begin(t.Context(), [][]network.Hop{{of("h1/slow", network.Device), of("h1/v0", network.Device), of("h1/rules", network.Rule), may}})
	iferr.Fatal(t, err)
	p := &player{attempt: &attempt{t: &record.Trial{}, proof: proof}, each: []workload.Result{{}}} // cold
	if proof.among(nil); proof.first != 1 {
		t.Errorf("hop %d is read in the turns of others", proof.first)
	}
	for range 2 {
		before, _ := edgeBetween(t.Context(), nil, p, []*player{p})
		crossed += payload
		after, some := edgeBetween(t.Context(), p, nil, []*player{p})
		if !some {
			t.Error("a hop is read here, and nothing is said to be left to read here")
		}
		p.each = append(p.each, workload.Result{Crossed: []workload.Crossed{{Bytes: payload}}})
		p.readings = append(p.readings, turnReading{before: before, after: after})
		proof.spans = append(proof.spans, span{before.hops[p], after.hops[p], 0})
	}
	for name, n := range reads {
		want := 1
		if name == "h1/v0" {
			want = 5
		}
		if n != want {
			t.Errorf("%s was read %d times until the last turn was over, want %d", name, n, want)
		}
	}
	if wrong, _ := p.astray(); wrong != "" {
		t.Error(wrong)
	}
	hops, err := proof.finish(t.Context(), []workload.Crossed{{Bytes: 2 * payload}})
	if err != nil || verdict(hops) != "" || len(hops) != 4 {
		t.Errorf("%v, %q, the path is %v", err, verdict(hops), namesOf(hops))
	}
	for _, h := range hops {
		if h.Bytes != 2*payload {
			t.Errorf("%s counted %d bytes of %d", h.Name, h.Bytes, 2*payload)
		}
	}
}
