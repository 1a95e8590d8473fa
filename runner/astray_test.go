package runner

import (
	"slices"
	"testing"

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
			p := &player{attempt: &attempt{proof: &proof{hops: []network.Hop{hop("h1/v0", network.Device, false)}, pairs: [][]int{{0}}}}}
			p.each = []workload.Result{{}} // cold
			at := func(i int) turnEdge {
				return turnEdge{late: slices.Contains(c.late, i), hops: map[*player][]network.Count{p: {bytes(c.own[i])}}, firsts: map[*player]network.Count{other: bytes(c.other[i])}}
			}
			for i := 0; i < len(c.own); i += 2 {
				p.each = append(p.each, workload.Result{Crossed: []workload.Crossed{{Bytes: payload}}, Warnings: c.warnings})
				p.readings = append(p.readings, turnReading{before: at(i), after: at(i + 1)})
			}
			if got := p.astray(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
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
		p := &player{attempt: &attempt{proof: &proof{hops: []network.Hop{hop("h1/v0", network.Device, false)}, pairs: [][]int{{0}}}}}
		at := turnEdge{hops: map[*player][]network.Count{p: {bytes(payload)}}}
		p.readings = []turnReading{{before: at, after: at}}
		p.each = []workload.Result{{}, {Crossed: []workload.Crossed{{Bytes: payload}}, Flows: []record.Flow{{Transactions: transactions}}}}
		if got := p.astray(); got != want {
			t.Errorf("%d transactions: %q, want %q", transactions, got, want)
		}
	}
}

// TestLittleOfAStreamOnAnothersNetwork checks that a small part of a stream is detected on another network.
func TestLittleOfAStreamOnAnothersNetwork(t *testing.T) {
	const payload = 1 << 20
	other := &player{attempt: &attempt{t: &record.Trial{Cell: record.Cell{Network: "veth"}}, proof: &proof{hops: []network.Hop{hop("h1/w0", network.Device, false)}}}}
	p := &player{attempt: &attempt{proof: &proof{hops: []network.Hop{hop("h1/v0", network.Device, false)}, pairs: [][]int{{0}}}}}
	at := func(n uint64) turnEdge {
		return turnEdge{hops: map[*player][]network.Count{p: {bytes(n)}}, firsts: map[*player]network.Count{other: bytes(n)}}
	}
	p.readings = []turnReading{{before: at(0), after: at(payload)}}
	p.each = []workload.Result{{}, {Crossed: []workload.Crossed{{Bytes: payload}}}}
	if got, want := p.astray(), "in turn 1 of 1: 1048576 bytes crossed h1/w0 of veth, although it was not that network's turn"; got != want {
		t.Errorf("%q, want %q", got, want)
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
			p := &player{attempt: &attempt{proof: &proof{hops: c.own, pairs: [][]int{{0}, {0}}}}}
			other := &player{attempt: &attempt{t: &record.Trial{Cell: record.Cell{Network: "veth"}}, proof: &proof{hops: c.other}}}
			p.proof.among([]*proof{other.proof})
			other.proof.among([]*proof{p.proof})
			at := func(n uint64) turnEdge {
				return turnEdge{hops: map[*player][]network.Count{p: slices.Repeat([]network.Count{bytes(n)}, len(c.own))}, firsts: map[*player]network.Count{other: bytes(n)}}
			}
			p.readings = []turnReading{{before: at(0), after: at(payload)}}
			p.each = []workload.Result{{}, {Crossed: []workload.Crossed{{Bytes: payload}}}}
			if got := p.astray(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
