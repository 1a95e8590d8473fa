package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/oneline"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// hop returns a hop that reports the given readings, one after the other.
func hop(name string, kind network.HopKind, absent bool, readings ...network.Count) network.Hop {
	return network.Hop{Name: name, Kind: kind, Absent: absent, Read: func(context.Context) (network.Count, error) {
		c := readings[0]
		if len(readings) > 1 {
			readings = readings[1:]
		}
		return c, nil
	}}
}

// bytes is a count of packets of 10 bytes, half of which go each way.
func bytes(n uint64) network.Count {
	return network.Count{Packets: n / 10, Bytes: n, InPackets: n / 20, InBytes: n / 2}
}

func TestJudge(t *testing.T) {
	const base = 1 << 40 // counted before the trial
	for _, c := range []struct {
		name   string
		kind   network.HopKind
		absent bool
		after  network.Count // beyond base
		ok     bool
		said   string
	}{
		{"headers make it more", network.Device, false, bytes(11_000), true, ""},
		{"just the payload", network.Device, false, bytes(10_000), true, ""},
		{"a byte less", network.Device, false, bytes(9_999), false, "path not proved: 9999 bytes crossed h1/br0, the payload was 10000"},
		{"nothing", network.Rule, false, bytes(0), false, "path not proved: 0 bytes crossed h1/br0, the payload was 10000"},
		{"process", network.Proxy, false, network.Count{Bytes: 10_000}, true, ""},
		{"a packet for each connection", network.Connection, false, network.Count{Packets: 3}, true, ""},
		{"a connection less", network.Connection, false, network.Count{Packets: 2, Bytes: 1 << 30}, false, "path not proved: h1/br0 counted 2 new connections of at least 3"},
		{"absent and silent", network.Device, true, bytes(0), true, ""},
		{"absent but for address resolution", network.Device, true, bytes(background), true, ""},
		{"absent with half of the payload", network.Device, true, bytes(5_000 + background), true, ""},
		{"absent with more", network.Device, true, bytes(5_001 + background), false, "wrong path: 70537 bytes crossed h1/br0, which the payload must not cross"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := network.Count{Packets: base, Bytes: base}
			p, err := begin(t.Context(), [][]network.Hop{{hop("h1/br0", c.kind, c.absent, before)}})
			iferr.Fatal(t, err)
			after := network.Count{
				Packets: base + c.after.Packets, Bytes: base + c.after.Bytes, InPackets: c.after.InPackets, InBytes: c.after.InBytes,
			}
			hops, ok := p.judge([]network.Count{after}, []workload.Crossed{{Bytes: 10_000, Conns: 3}})
			if ok != c.ok || len(hops) != 1 || hops[0].OK != c.ok {
				t.Errorf("judged %v, %+v; want %v", ok, hops, c.ok)
			}
			if hops[0].Bytes != c.after.Bytes || hops[0].Packets != c.after.Packets || hops[0].Absent != c.absent {
				t.Errorf("recorded %+v, counted %+v", hops[0], c.after)
			}
			if got := verdict(hops); got != c.said {
				t.Errorf("verdict is %q, want %q", got, c.said)
			}
		})
	}
}

// TestOneOfSeveralPairsStrays has one of two pairs take a path that no payload must take, unless others use it, too.
func TestOneOfSeveralPairsStrays(t *testing.T) {
	const payload = 1 << 20 // of each pair
	for counted, c := range map[uint64]struct{ common, ok bool }{payload: {false, false}, payload / 2: {false, true}, payload + 1: {true, true}} {
		h := hop("h1/br0", network.Device, true, network.Count{})
		h.Common = c.common
		p, err := begin(t.Context(), [][]network.Hop{{h}, {h}})
		iferr.Fatal(t, err)
		if hops, ok := p.judge([]network.Count{{Bytes: counted}}, []workload.Crossed{{Bytes: payload}, {Bytes: payload}}); ok != c.ok {
			t.Errorf("%d bytes, on a device that others use, too: %v: %v, %+v", counted, c.common, ok, hops)
		}
	}
}

// TestPortsUsedAgain: of many connections, a few may be taken for others before, with the same ports.
func TestPortsUsedAgain(t *testing.T) {
	for counted, ok := range map[uint64]bool{3717: true, 3716: true, 3680: true, 3679: false, 0: false} {
		p, err := begin(t.Context(), [][]network.Hop{{hop("h1/rule-dnat", network.Connection, false, network.Count{})}})
		iferr.Fatal(t, err)
		hops, got := p.judge([]network.Count{{Packets: counted}}, []workload.Crossed{{Conns: 3717}})
		if got != ok || hops[0].Need != 3680 {
			t.Errorf("%d of 3717: %v, %+v", counted, got, hops)
		}
	}
}

// TestAstray has containers that send by another device than the one that is on the path.
func TestAstray(t *testing.T) {
	hops := []record.Hop{{Name: "h1c1/eth0", Kind: string(network.Device)}, {Name: "h1/br0", Kind: string(network.Device)}, {Name: "h1c2/lo", Kind: string(network.Device), Absent: true}}
	for _, c := range []struct {
		end  record.Endpoint
		said string
	}{
		{record.Endpoint{Name: "h1c1", Host: "h1", Device: "eth0"}, ""},
		{record.Endpoint{Name: "h1c1", Host: "h1", Device: "x0"}, "wrong path: h1c1 sends by its x0, and not by h1c1/eth0"},
		{record.Endpoint{Name: "h1c1", Host: "h1", Device: "lo"}, ""}, // to itself
		{record.Endpoint{Name: "h1", Host: "h1", Device: "lo"}, ""},   // a host, whose devices lead to containers
		{record.Endpoint{Name: "h1", Host: "h1", Device: "veth1"}, ""},
		{record.Endpoint{Name: "h1c2", Host: "h1", Device: "eth0"}, ""}, // no device of its is on the path
	} {
		if got := astray([]record.Endpoint{c.end}, hops); got != c.said {
			t.Errorf("%+v: %q, want %q", c.end, got, c.said)
		}
	}
}

// TestUnused has a daemon that cannot have carried the payload, and one that can: this process.
func TestUnused(t *testing.T) {
	read := func() sampler.ProcessTime {
		p, err := sampler.Process(os.Getpid())
		iferr.Fatal(t, err)
		return p
	}
	before := read()
	after := read()
	for sampler.Spent(before, after) < 0.01 {
		after = read()
	}
	const window = time.Second
	began := time.Now()
	turn := func(used sampler.ProcessTime, watched time.Duration) turnUse {
		at := func(when time.Time, p sampler.ProcessTime) edge {
			return edge{at: when, daemons: []sampler.ProcessTime{p}}
		}
		return turnUse{from: at(began, before), to: at(began.Add(watched), used)}
	}
	idle, worked, late := turn(before, window), turn(after, window), turn(before, window/3)
	between, rested := idle, turn(after, window) // it has worked after the one and before the other
	rested.from.daemons = rested.to.daemons
	between.crossed, rested.crossed = 1, 1
	const none = "path not proved: the payload should cross daemon 7, and no CPU time was used there"
	const much = 2*heldBySockets + 1
	spent := sampler.Spent(before, after)
	enough := uint64(spent / leastPerTransaction)
	little := fmt.Sprintf("path not proved: the payload should cross daemon 7, and only %s s of CPU time was used there", oneline.Number(spent, 2))
	for name, tt := range map[string]struct {
		payload, transactions uint64
		turns                 []turnUse
		wrong                 string
		unknown               string
	}{
		"worked":              {much, 0, []turnUse{worked}, "", ""},
		"worked once":         {1, 0, []turnUse{idle, worked}, "", ""},
		"nothing to do":       {0, 0, []turnUse{idle}, "", ""},
		"idle":                {much, 0, []turnUse{idle}, none, ""},
		"between turns":       {1, 0, []turnUse{between, rested}, "", ""},
		"answers between":     {1, 1, []turnUse{between, rested}, none, ""},
		"idle in turns":       {1, 0, []turnUse{idle, idle}, none, ""},
		"queued before":       {much - 1, 0, []turnUse{idle}, "", "sockets can hold the 134217728 bytes that arrived"},
		"answers do not wait": {much - 1, 1, []turnUse{idle}, none, ""},
		"watched too late":    {much, 0, []turnUse{late}, "", "that was only 333.333ms"},
		"late, and it used":   {much, 0, []turnUse{turn(after, window/3)}, "", ""},
		"enough":              {1, enough, []turnUse{worked}, "", ""},
		"too little":          {1, 2 * (enough + 1), []turnUse{worked}, little, ""},
		"too little in turns": {1, 2 * (enough + 1), []turnUse{idle, worked}, little, ""},
		"too little of bytes": {uint64(2*spent/leastPerByte) + much, 0, []turnUse{worked}, little, ""},
	} {
		w := &watcher{daemons: []network.Daemon{{Name: "daemon 7"}}, turns: tt.turns}
		wrong, err := w.unused(tt.payload, tt.transactions, 2, window.Seconds())
		if wrong != tt.wrong || (err != nil) != (tt.unknown != "") || err != nil && !strings.Contains(err.Error(), tt.unknown) {
			t.Errorf("%s: %q, %v", name, wrong, err)
		}
	}
	there := &watcher{daemons: []network.Daemon{{Name: "daemon 7", Host: "h1"}, {Name: "daemon 8", Host: "h2"}}, turns: []turnUse{{
		from: edge{at: began, daemons: []sampler.ProcessTime{before, before}}, to: edge{at: began.Add(window), daemons: []sampler.ProcessTime{after, before}},
	}}}
	if wrong, err := there.unused(much, 0, 1, 1); wrong != strings.Replace(none, "7", "8", 1) || err != nil {
		t.Errorf("on one of two hosts: %q, %v", wrong, err)
	}
	if wrong, err := (&watcher{turns: []turnUse{idle}}).unused(much, 0, 1, 1); wrong != "" || err != nil {
		t.Errorf("without daemons: %q, %v", wrong, err)
	}
}

// TestUnshaped has a link that lets through more than its rate.
func TestUnshaped(t *testing.T) {
	for _, c := range []struct {
		workload string
		rate     uint64
		hosts    int
		payload  uint64 // bytes, in a second
		windows  int
		said     string
	}{
		{record.TCPStream, 500e6, 2, 94e6, 1, ""},
		{record.TCPStream, 500e6, 2, 95e6, 1, "the link should let through 500 Mbit/s, and 760 Mbit/s of payload crossed it: it is no longer shaped, or its flows were not counted at the same time"},
		{record.TCPStream, 500e6, 2, 95e6, 2, ""},
		{record.TCPStream, 1e6, 2, 250e3, 1, ""}, // a burst
		{record.TCPStream, 500e6, 1, 1e9, 1, ""},
		{record.TCPBidir, 500e6, 2, 125e6, 1, ""},
		{record.TCPBidir, 500e6, 2, 190e6, 1, "the link should let through 500 Mbit/s, and 760 Mbit/s of payload crossed it: it is no longer shaped, or its flows were not counted at the same time"},
		{record.TCPStream, 0, 2, 1e9, 1, ""},
	} {
		tr := record.Trial{Cell: record.Cell{Workload: c.workload, Hosts: c.hosts}, Window: 1}
		if got := unshaped(&tr, platform.Underlay{Rate: c.rate}, c.payload, c.windows); got != c.said {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestTransactionsArePackets has a part of small transactions cross a hop: with headers, these are more bytes than all of them have
// without.
func TestTransactionsArePackets(t *testing.T) {
	const transactions, size, frame = 1000, 2, 67 // bytes
	for _, c := range []struct {
		kind   network.HopKind
		absent bool
		part   uint64 // of the transactions
		ok     bool
		said   string
	}{
		{network.Device, false, transactions, true, ""},
		{network.Device, false, transactions / 2, false, "path not proved: 500 packets crossed h1/br0 in one of the two directions, at least 1000 must have"},
		{network.Rule, false, transactions / 2, true, ""}, // or one of the two packets of each
		{network.Device, false, transactions / 10, false, "path not proved: 200 packets crossed h1/br0, at least 1000 must have"},
		{network.Rule, false, transactions / 10, false, "path not proved: 200 packets crossed h1/br0, at least 1000 must have"},
		{network.Device, false, transactions / 100, false, "path not proved: 1340 bytes crossed h1/br0, the payload was 2000"},
		{network.Device, true, transactions / 10, true, ""},
		{network.Rule, true, transactions * 2 / 5, false, "wrong path: 800 packets crossed h1/br0, which the payload must not cross"},
		{network.Connection, false, transactions / 10, true, ""},
		{network.Proxy, false, transactions / 10, true, ""},
	} {
		p, err := begin(t.Context(), [][]network.Hop{{hop("h1/br0", c.kind, c.absent, bytes(0))}})
		iferr.Fatal(t, err)
		after := network.Count{Packets: 2 * c.part, Bytes: 2 * c.part * frame, InPackets: c.part, InBytes: c.part * frame}
		hops, ok := p.judge([]network.Count{after}, []workload.Crossed{{Bytes: size * transactions, Conns: 1, Transactions: transactions}})
		if got := verdict(hops); ok != c.ok || got != c.said {
			t.Errorf("%d of %d transactions crossed a %s: %v, %q, want %v, %q", c.part, transactions, c.kind, ok, got, c.ok, c.said)
		}
		p.hops[0].Packs = true
		_, ok = p.judge([]network.Count{after}, []workload.Crossed{{Bytes: size * transactions, Conns: 1, Transactions: transactions}})
		if enough := after.Bytes >= size*transactions || c.ok; ok != enough {
			t.Errorf("%d bytes crossed a %s that packs: %v, want %v", after.Bytes, c.kind, ok, enough)
		}
		p.hops[0].Packs, p.hops[0].Common = false, true // if it must not be crossed, the packets may be those of others
		_, ok = p.judge([]network.Count{after}, []workload.Crossed{{Bytes: size * transactions, Conns: 1, Transactions: transactions}})
		if want := c.ok || c.absent; ok != want {
			t.Errorf("%d of %d transactions crossed a %s that others use, too: %v, want %v", c.part, transactions, c.kind, ok, want)
		}
	}
}

// TestOneDirectionCannotStandForTheOther has one direction of the payload cross a device and the other not, or in part, in whole
// trials and in turns.
func TestOneDirectionCannotStandForTheOther(t *testing.T) {
	const mib = 1 << 20
	stream, exchanges := workload.Crossed{Bytes: 640 * mib}, workload.Crossed{Bytes: 400_000, Transactions: 2000, Fewer: 200_000}
	both := workload.Crossed{Bytes: 1000 * mib, Fewer: 500 * mib}
	ofPackets := func(in, out uint64) network.Count {
		return network.Count{Packets: in + out, InPackets: in, Bytes: 200 * (in + out), InBytes: 200 * in}
	}
	ofBytes := func(in, out uint64, acks int) network.Count {
		return network.Count{Packets: in/1000 + out/1000 + uint64(acks), InPackets: in/1000 + uint64(acks), Bytes: in + out, InBytes: in}
	}
	for _, c := range []struct {
		name          string
		crossed       workload.Crossed
		oneWay, packs bool
		after         network.Count
		said          string // of the whole trial
		turn          bool   // whether it holds in a turn
	}{
		{"a stream with acknowledgements", stream, false, false, ofBytes(0, 650*mib, 10), "", true},
		{"a stream without", stream, false, false, ofBytes(0, 650*mib, 4), "path not proved: 4 packets crossed h1/br0 in one of the two directions, at least 10 must have", false},
		{"datagrams are not acknowledged", stream, true, false, ofBytes(0, 650*mib, 0), "", true},
		{"both streams", both, false, false, ofBytes(500*mib, 600*mib, 0), "", true},
		{"one of two streams, with what else there is", both, false, false, ofBytes(100*mib, 1000*mib, 0), "path not proved: 104857600 bytes crossed h1/br0 in one of the two directions, at least 524288000 must have", false},
		{"the other of two streams", both, false, false, ofBytes(1000*mib, 100*mib, 0), "path not proved: 104857600 bytes crossed h1/br0 in one of the two directions, at least 524288000 must have", false},
		{"one of two streams, and half of the other", both, false, false, ofBytes(300*mib, 1000*mib, 0), "path not proved: 314572800 bytes crossed h1/br0 in one of the two directions, at least 524288000 must have", true},
		{"a few of small transactions", workload.Crossed{Bytes: 4000, Transactions: 2000, Fewer: 2000}, false, false, ofPackets(300, 300), "path not proved: 600 packets crossed h1/br0, at least 2000 must have", false},
		{"both requests and responses", exchanges, false, false, ofPackets(2000, 2001), "", true},
		{"requests twice", exchanges, false, false, ofPackets(5000, 100), "path not proved: 100 packets crossed h1/br0 in one of the two directions, at least 2000 must have", false},
		{"responses twice, packed", exchanges, false, true, ofPackets(100, 5000), "", true},
		{"one response in ten elsewhere", exchanges, false, false, ofPackets(1800, 2200), "path not proved: 1800 packets crossed h1/br0 in one of the two directions, at least 2000 must have", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := begin(t.Context(), [][]network.Hop{{hop("h1/br0", network.Device, false, bytes(0))}})
			iferr.Fatal(t, err)
			p.oneWay, p.hops[0].Packs = c.oneWay, c.packs
			hops, ok := p.judge([]network.Count{c.after}, []workload.Crossed{c.crossed})
			if got := verdict(hops); ok != (c.said == "") || got != c.said || hops[0].Bytes != c.after.Bytes {
				t.Errorf("%v, %q, %+v", ok, got, hops[0])
			}
			p.before[0].IP, c.after.IP = 1, 1+c.after.Bytes/2 // the device has counted what IP has
			hops, _ = p.judge([]network.Count{c.after}, []workload.Crossed{c.crossed})
			if got := verdict(hops); got != c.said {
				t.Errorf("where IP counts, too: %q", got)
			}
			turn := &player{attempt: &attempt{t: &record.Trial{}, proof: p}, each: []workload.Result{{}, {
				Crossed: []workload.Crossed{c.crossed}, Flows: []record.Flow{{Transactions: c.crossed.Transactions}},
			}}}
			edge := func(at network.Count) turnEdge { return turnEdge{hops: map[*player][]network.Count{turn: {at}}} }
			turn.readings = []turnReading{{before: edge(bytes(0)), after: edge(c.after)}}
			if wrong, _ := turn.astray(); (wrong == "") != c.turn {
				t.Errorf("in a turn: %q", wrong)
			}
		})
	}
}

// TestDeviceThatDoesNotCountWhatItReceives has a device count only what it sends, in whole trials and in turns. What IP has received
// by it proves the path, if that is known at both readings, and only of hops that have not counted it themselves.
func TestDeviceThatDoesNotCountWhatItReceives(t *testing.T) {
	const payload, own = 10 << 20, 1 << 10 // acknowledgements
	for _, c := range []struct {
		name          string
		before, after network.Count
		bytes         uint64
		about, said   string
	}{
		{"IP has counted it", network.Count{IP: 500}, network.Count{Bytes: own, IP: 500 + own + payload}, own + payload, countedByIP, ""},
		{"both have", network.Count{IP: 500}, network.Count{Packets: 10, InPackets: 5, Bytes: 2 * payload, IP: 500 + own + payload}, 2 * payload, "", ""},
		{"neither has", network.Count{IP: 500}, network.Count{Bytes: own, IP: 500 + own}, own, "", "path not proved: 1024 bytes crossed h1c1/eth0, the payload was 10485760"},
		{"IP has counted too little", network.Count{IP: 500}, network.Count{Bytes: own, IP: 500 + payload/4}, payload / 4, countedByIP, "path not proved: 2621440 bytes crossed h1c1/eth0, the payload was 10485760"},
		{"unknown before", network.Count{}, network.Count{Bytes: own, IP: 2 * payload}, own, "", "path not proved: 1024 bytes crossed h1c1/eth0, the payload was 10485760"},
		{"unknown after", network.Count{IP: 2 * payload}, network.Count{Bytes: own}, own, "", "path not proved: 1024 bytes crossed h1c1/eth0, the payload was 10485760"},
	} {
		t.Run(c.name, func(t *testing.T) {
			crossed := []workload.Crossed{{Bytes: payload}}
			p, err := begin(t.Context(), [][]network.Hop{{hop("h1c1/eth0", network.Device, false, c.before, c.after)}})
			iferr.Fatal(t, err)
			hops, err := p.finish(t.Context(), crossed)
			iferr.Fatal(t, err)
			if got := verdict(hops); got != c.said || hops[0].Bytes != c.bytes || hops[0].About != c.about || (byIP(hops) != "") != (c.about != "") {
				t.Errorf("%+v, %q", hops[0], got)
			}
			turn := &player{attempt: &attempt{t: &record.Trial{}, proof: p}, each: []workload.Result{{}, {Crossed: crossed}}}
			edge := func(at network.Count) turnEdge {
				return turnEdge{hops: map[*player][]network.Count{turn: {at}}}
			}
			turn.readings = []turnReading{{before: edge(c.before), after: edge(c.after)}}
			if wrong, _ := turn.astray(); (wrong != "") != (c.said != "") {
				t.Errorf("in a turn: %q", wrong)
			}
		})
	}
}

func TestNoPayloadProvesNothing(t *testing.T) {
	p, err := begin(t.Context(), [][]network.Hop{{hop("h1/br0", network.Device, false, bytes(0))}})
	iferr.Fatal(t, err)
	if hops, ok := p.judge([]network.Count{bytes(0)}, []workload.Crossed{{}}); ok || verdict(hops) == "" {
		t.Errorf("judged %v, %+v", ok, hops)
	}
}

func TestSharedHopMustCarryThePayloadOfAllItsPairs(t *testing.T) {
	own := func(name string) network.Hop { return hop(name, network.Device, false, bytes(0)) }
	shared := own("h1/br0")
	p, err := begin(t.Context(), [][]network.Hop{{own("h1c1/eth0"), shared}, {own("h1c2/eth0"), shared}})
	iferr.Fatal(t, err)
	pairs := []workload.Crossed{{Bytes: 100, Conns: 1}, {Bytes: 200, Conns: 1}}
	for _, c := range []struct {
		after []network.Count
		want  string
	}{
		{[]network.Count{bytes(100), bytes(300), bytes(200)}, ""},
		{[]network.Count{bytes(100), bytes(299), bytes(200)}, "path not proved: 299 bytes crossed h1/br0, the payload was 300"},
		{[]network.Count{bytes(300), bytes(300), bytes(100)}, "path not proved: 100 bytes crossed h1c2/eth0, the payload was 200"},
	} {
		hops, _ := p.judge(c.after, pairs)
		if len(hops) != 3 {
			t.Fatalf("%d hops, want 3, the shared one once", len(hops))
		}
		if got := verdict(hops); got != c.want {
			t.Errorf("verdict is %q, want %q", got, c.want)
		}
	}
}

func TestFinishWaitsForCountersThatComeLate(t *testing.T) {
	late := hop("h1/proxy", network.Proxy, false, bytes(0), bytes(0), bytes(500), bytes(1000))
	p, err := begin(t.Context(), [][]network.Hop{{late, hop("h1/br0", network.Device, false, bytes(0), bytes(1000))}})
	iferr.Fatal(t, err)
	hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1000}})
	if err != nil || verdict(hops) != "" {
		t.Errorf("%v, %q", err, verdict(hops))
	}
}

// TestFinishWaitsForNetworkCards has a card whose driver renews its counters only now and then, and a process that gets no CPU before.
func TestFinishWaitsForNetworkCards(t *testing.T) {
	const renewed = lateDevice + 300*time.Millisecond
	var began time.Time
	read := func(context.Context) (network.Count, error) {
		if began.IsZero() || time.Since(began) < renewed {
			return bytes(0), nil
		}
		return bytes(1000), nil
	}
	card := network.Hop{Name: "h1/ens1", Kind: network.Device, Common: true, Read: read}
	p, err := begin(t.Context(), [][]network.Hop{{card, {Name: "h1/proxy", Kind: network.Proxy, Read: read}}})
	iferr.Fatal(t, err)
	began = time.Now()
	hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1000}})
	if err != nil || verdict(hops) != "" {
		t.Errorf("%v, %q", err, verdict(hops))
	}
}

// TestFinishLooksAgainAfterAPause checks that time in which the machine stands still is not taken for patience.
func TestFinishLooksAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		read := func(context.Context) (network.Count, error) {
			if reads++; reads == 2 {
				time.Sleep(time.Minute)
			}
			if reads < 4 {
				return bytes(0), nil
			}
			return bytes(1000), nil
		}
		p, err := begin(t.Context(), [][]network.Hop{{{Name: "h1/proxy", Kind: network.Proxy, Read: read}}})
		iferr.Fatal(t, err)
		hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1000}})
		if err != nil || verdict(hops) != "" {
			t.Errorf("%v, %q", err, verdict(hops))
		}
	})
}

func TestCounterThatBeganAnewIsAnError(t *testing.T) {
	for name, after := range map[string]network.Count{
		"bytes": {Packets: 10, Bytes: 900}, "packets": {Packets: 9, Bytes: 1000},
	} {
		for _, absent := range []bool{false, true} {
			p, err := begin(t.Context(), [][]network.Hop{{hop("h1/vxlan0", network.Device, absent, bytes(1000), after)}})
			iferr.Fatal(t, err)
			hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1}})
			if err == nil || !strings.Contains(err.Error(), "h1/vxlan0 counts less than before") {
				t.Errorf("%s: hops %+v, error %v", name, hops, err)
			}
		}
	}
}

func TestHopThatCannotBeReadIsNamed(t *testing.T) {
	broken := errors.New("no such device")
	unreadable := network.Hop{Name: "h1/br0", Read: func(context.Context) (network.Count, error) { return network.Count{}, broken }}
	if _, err := begin(t.Context(), [][]network.Hop{{unreadable}}); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "read h1/br0: ") {
		t.Errorf("error is %v", err)
	}
	if _, err := begin(t.Context(), [][]network.Hop{{hop("a", network.Device, false, bytes(0))}, nil}); err == nil {
		t.Error("a pair without hops is no error")
	}
}

func TestVerdictNamesTheFirstThatIsWrong(t *testing.T) {
	hops := []record.Hop{
		{Name: "fine", OK: true},
		{Name: "first", Bytes: 1, Need: 2, Unit: "bytes"},
		{Name: "second", Bytes: 1, Need: 2, Unit: "bytes"},
	}
	if got := verdict(hops); !strings.Contains(got, "first") || strings.Contains(got, "second") {
		t.Errorf("verdict is %q", got)
	}
	if got := verdict(nil); got != "" {
		t.Errorf("verdict of nothing is %q", got)
	}
}

func TestDevicesThatAreJoinedToOthers(t *testing.T) {
	name := func(host string, index int) string { return host + "'s " + map[int]string{7: "br0", 9: "br1"}[index] }
	was := network.Joint{Kind: "veth", Index: 3, Peer: 5, Home: 1, Master: 7}
	for want, is := range map[string]network.Joint{
		"":                       was,
		"h1/veth1 was recreated": {Kind: "veth", Index: 8, Peer: 5, Home: 1, Master: 7},
		"the other end of h1/veth1 is now a different device":                    {Kind: "veth", Index: 3, Peer: 6, Home: 1, Master: 7},
		"h1/veth1 was a port of h1's br0, and is now a port of h1's br1":         {Kind: "veth", Index: 3, Peer: 5, Home: 1, Master: 9},
		"h1/veth1 was a port of h1's br0, and is no longer a port of any bridge": {Kind: "veth", Index: 3, Peer: 5, Home: 1},
	} {
		before := network.Count{Packets: 10, Bytes: 1000, At: was}
		after := network.Count{Packets: 20, Bytes: 3000, At: is}
		if is.Index != was.Index {
			after.Packets, after.Bytes = 1, 1
		}
		p, err := begin(t.Context(), [][]network.Hop{{hop("h1/veth1", network.Device, false, before, after)}})
		iferr.Fatal(t, err)
		if _, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1000}}); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got := moved(p.hops, p.before, p.after, name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	other := was
	other.Home = 2
	hops := []network.Hop{hop("h1/veth1", network.Device, false, network.Count{})}
	if got := moved(hops, []network.Count{{At: was}}, []network.Count{{At: other}}, name); got != "the other end of h1/veth1 is now a different device" {
		t.Errorf("%q", got)
	}
	other = was
	other.Kind = "macvlan"
	if got := moved(hops, []network.Count{{At: was}}, []network.Count{{At: other}}, name); got != "h1/veth1 was recreated" {
		t.Errorf("%q", got)
	}
	was.Master = 0
	if got := moved(hops, []network.Count{{At: was}}, []network.Count{{At: network.Joint{Kind: "veth", Index: 3, Peer: 5, Home: 1, Master: 9}}}, name); got != "h1/veth1 has become a port of h1's br1" {
		t.Errorf("%q", got)
	}
}

func TestRoutesThatChange(t *testing.T) {
	for want, now := range map[string]map[string]string{
		"": {"h1: default": "via 198.18.0.2 dev eth0 (2)"},
		"the route of h1 to default led via 198.18.0.2 dev eth0 (2), and now leads via 198.18.0.3 dev eth0 (2)": {"h1: default": "via 198.18.0.3 dev eth0 (2)"},
		"h1 has lost its route to default, which led via 198.18.0.2 dev eth0 (2)":                               {},
		"h1 has a new route to 198.19.0.0/20, which leads dev wg0 (9)":                                          {"h1: default": "via 198.18.0.2 dev eth0 (2)", "h1: 198.19.0.0/20": "dev wg0 (9)"},
	} {
		if got := rerouted(map[string]string{"h1: default": "via 198.18.0.2 dev eth0 (2)"}, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSettingsThatChange has a setting of an end, or of a device on the path, be another one after a trial.
func TestSettingsThatChange(t *testing.T) {
	ends := func(qdisc string) []record.Endpoint {
		return []record.Endpoint{{Name: "h1c1", Device: "eth0", MTU: 1500, Qdisc: qdisc}}
	}
	for _, c := range []struct {
		qdisc string
		mtu   int
		want  string
	}{
		{"noqueue", 1500, ""},
		{"fq", 1500, "the network was changed: the qdisc of h1c1/eth0 was noqueue at first, and is fq now"},
		{"noqueue", 1400, "the network was changed: the MTU of h1/br0 was 1500 at first, and is 1400 now"},
	} {
		s := &session{had: map[string]string{}}
		p := &proof{hops: []network.Hop{{Name: "h1/br0"}}, before: []network.Count{{MTU: 1500}}, after: []network.Count{{MTU: c.mtu}}}
		if got := s.altered(p, ends("noqueue"), ends(c.qdisc)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Turns read hops that are kept open; before and after, they are read as always.
func TestHopsAreKeptOpen(t *testing.T) {
	closed := 0
	open := func() (func(context.Context) (network.Count, error), func(), error) {
		return func(context.Context) (network.Count, error) { return bytes(200), nil }, func() { closed++ }, nil
	}
	broken := func() (func(context.Context) (network.Count, error), func(), error) {
		return nil, nil, errors.New("no socket")
	}
	hops := []network.Hop{hop("h1/a", network.Device, false, bytes(100)), hop("h1/b", network.Device, false, bytes(100)), hop("h1/c", network.Device, false, bytes(100))}
	hops[0].Keep, hops[1].Keep = open, broken
	p, err := begin(t.Context(), [][]network.Hop{hops})
	iferr.Fatal(t, err)
	read := func(what string, first uint64) {
		t.Helper()
		counts, err := p.read(t.Context(), nil)
		iferr.Fatal(t, err)
		if counts[0] != bytes(first) || counts[1] != bytes(100) || counts[2] != bytes(100) {
			t.Errorf("%s: %v", what, counts)
		}
	}
	release := p.keep()
	read("kept", 200)
	release()
	read("released", 100)
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}

// TestToolsThatCannotChooseTheCongestionControl are told where streams have another one than the run.
func TestToolsThatCannotChooseTheCongestionControl(t *testing.T) {
	end := func(role, own string) record.Endpoint {
		return record.Endpoint{Role: role, Sysctls: map[string]string{"net.ipv4.tcp_congestion_control": own}}
	}
	known := []record.Flow{{TCP: &record.TCPInfo{Congestion: "bbr"}}}
	for _, c := range []struct {
		name, workload, wanted string
		reverse                bool
		flows                  []record.Flow
		want                   string
	}{
		{"another", record.TCPStream, "cubic", false, nil, "nuttcp cannot choose the congestion control: its connections had the senders' own, bbr, and those of tools that can had cubic"},
		{"the same", record.TCPStream, "bbr", false, nil, ""},
		{"the server sends", record.TCPStream, "cubic", true, nil, "nuttcp cannot choose the congestion control: its connections had the senders' own, reno, and those of tools that can had cubic"},
		{"both send", record.TCPBidir, "cubic", false, nil, "nuttcp cannot choose the congestion control: its connections had the senders' own, bbr and reno, and those of tools that can had cubic"},
		{"no stream", record.TCPRR, "cubic", false, nil, ""},
		{"the machine's own is asked for", record.TCPStream, record.MachinesOwn, false, nil, ""},
		{"it is known", record.TCPStream, "cubic", false, known, ""},
	} {
		tr := &record.Trial{Cell: record.Cell{Tool: "nuttcp", Workload: c.workload, Options: record.Options{Reverse: c.reverse}}, Flows: c.flows,
			Endpoints: []record.Endpoint{end("client", "bbr"), end("server", "reno")}}
		got := ""
		for _, w := range ownControl(tr, c.wanted) {
			got += w.Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
