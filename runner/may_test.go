package runner

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/workload"
)

// mayBe returns a hop that the payload may cross.
func mayBe(name string, readings ...network.Count) network.Hop {
	h := hop(name, network.Device, false, readings...)
	h.May, h.About = true, "about "+name
	return h
}

// namesOf returns the names of hops of a record.
func namesOf(hops []record.Hop) (all []string) {
	for _, h := range hops {
		all = append(all, h.Name)
	}
	return all
}

// TestHopsThatMayBeCrossed checks that devices are on the path if they counted about as much as the endpoints' own, or half of it, as
// where transactions cross them one way only, and are left out otherwise, also if they cannot be read, or are made anew.
func TestHopsThatMayBeCrossed(t *testing.T) {
	gone := mayBe("h1/tun0")
	gone.Read = func(context.Context) (network.Count, error) { return network.Count{}, errors.New("no such device") }
	anew := network.Count{Bytes: 50, At: network.Joint{Index: 8}}
	p, err := begin(t.Context(), [][]network.Hop{
		{hop("h2c1/eth0", network.Device, false, bytes(1000), bytes(3000)), mayBe("h2/flannel.1", bytes(0), bytes(2100)), mayBe("h2/docker0", bytes(0), bytes(799)), mayBe("h2/veth", bytes(0), bytes(980)),
			mayBe("h2/both", bytes(0), bytes(1100)), gone, mayBe("h1/anew", network.Count{Bytes: 5000, At: network.Joint{Index: 7}}, anew)},
		{hop("h2c2/eth0", network.Device, false, bytes(0), bytes(1000)), mayBe("h2/both")},
	})
	iferr.Fatal(t, err)
	hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1900}, {Bytes: 900}})
	if err != nil || verdict(hops) != "" {
		t.Fatalf("%v, %s", err, verdict(hops))
	}
	if want := []string{"h2c1/eth0", "h2/flannel.1", "h2/veth", "h2c2/eth0"}; !slices.Equal(namesOf(hops), want) { // both counted 1100 of 3000
		t.Errorf("the path is %v, want %v", namesOf(hops), want)
	}
	if len(p.found) != 2 || p.found[0].Name != "h2/flannel.1" || hops[1].Need != 800 || hops[1].Bytes != 2100 || hops[1].About != "about h2/flannel.1" {
		t.Errorf("found %+v, recorded %+v", p.found, hops[1])
	}
	if what := changed(p, reading{}, reading{}, nil); what != "" {
		t.Errorf("what is not on the path has changed it: %s", what)
	}
}

// TestTunnelForEachPeer has clients on three hosts, and a node with a tunnel to each of them: none carries two fifths of all payload.
func TestTunnelForEachPeer(t *testing.T) {
	var paths [][]network.Hop
	for _, client := range []string{"h2c1", "h3c1", "h4c1"} {
		path := []network.Hop{hop(client+"/eth0", network.Device, false, bytes(0))}
		for _, device := range []string{"h1/tun2", "h1/tun3", "h1/tun4", "h1/idle"} {
			path = append(path, mayBe(device, bytes(0)))
		}
		paths = append(paths, path)
	}
	for hosts, want := range map[int]int{1: 0, 3: 3} {
		p, err := begin(t.Context(), paths)
		iferr.Fatal(t, err)
		if hosts > 1 {
			p.from = []string{"h2", "h3", "h4"}
		}
		p.before = make([]network.Count, len(p.hops))
		after := slices.Repeat([]network.Count{bytes(1000)}, len(p.hops))
		after[len(after)-3] = bytes(390) // h1/idle, before the ends of the other two
		crossed := 0
		for i, h := range p.hops {
			if h.May && p.maybe(i, after).OK {
				crossed++
			}
		}
		if crossed != want {
			t.Errorf("clients on %d hosts: %d devices carried the payload, want %d", hosts, crossed, want)
		}
	}
}

// TestWhatOthersSend has others send 500 bytes per second over devices, also when no network does. What they send makes none of these
// a part of the path; where it hides whether the payload crosses a device, that is not known.
func TestWhatOthersSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := begin(t.Context(), [][]network.Hop{{
			hop("h2c1/eth0", network.Device, false, bytes(0), bytes(0), bytes(0), bytes(0), bytes(1000)),
			mayBe("h2/tunnel", bytes(0), bytes(0), bytes(0), bytes(0), bytes(1000)),
			mayBe("h2/others", bytes(0), bytes(100), bytes(150), bytes(700), bytes(1200)),
			mayBe("h2/both", bytes(0), bytes(100), bytes(150), bytes(700), bytes(2200)),
			mayBe("h2/neither", bytes(0), bytes(100), bytes(350), bytes(600), bytes(700)), // agents answer over it
		}})
		iferr.Fatal(t, err)
		all := sightingsOf([]*proof{p})
		first := all.read(t.Context())
		time.Sleep(50 * time.Millisecond) // in which agents answer
		from := all.read(t.Context())
		time.Sleep(1050 * time.Millisecond)
		all.note(first, from, all.read(t.Context()))
		time.Sleep(time.Second)
		hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 900}})
		if want := []string{"h2c1/eth0", "h2/tunnel", "h2/both"}; err != nil || !slices.Equal(namesOf(hops), want) {
			t.Errorf("the path is %v, %v, want %v", namesOf(hops), err, want)
		}
		if len(p.unsure) != 1 || p.unsure[0].Name != "h2/others" {
			t.Errorf("it is not known of %+v", p.unsure)
		}
		p.spans = []span{{p.before, p.after, 4 * time.Second}} // in which others sent 2000 bytes
		if p.find([]record.Hop{{}, p.maybe(1, nil), p.maybe(2, nil), p.maybe(3, nil), p.maybe(4, nil)}); len(p.found) != 1 || len(p.unsure) != 2 {
			t.Errorf("in a longer turn: found %+v, not known %+v", p.found, p.unsure)
		}
	})
}

// TestOthersWhereReadingsStall has agents answer so late that the machines were hardly watched for longer than that takes: what agents
// answer then counts as well, so that less is proved, and what cannot be read is not known.
func TestOthersWhereReadingsStall(t *testing.T) {
	p := &proof{hops: []network.Hop{mayBe("h2/a"), mayBe("h2/b")}, before: make([]network.Count, 2)}
	began := time.Now()
	at := func(after time.Duration, n int, err error) sightings {
		return sightings{{of: p, hop: 0, count: bytes(uint64(n)), at: began.Add(after)}, {of: p, hop: 1, at: began.Add(after), err: err}}
	}
	p.others = []float64{math.Inf(1), math.Inf(1)}
	first, from := at(0, 0, nil), at(200*time.Millisecond, 1000, errors.New("gone"))
	first.note(first, from, at(250*time.Millisecond, 1100, nil))
	if !slices.Equal(p.others, []float64{2000, math.Inf(1)}) || p.before[0].Bytes != 1100 || first.took(from) != 200*time.Millisecond {
		t.Errorf("others send %v B/s, from %+v on", p.others, p.before)
	}
}

// TestEndThatDoesNotCountWhatItReceives has the device of an endpoint count its acknowledgements only. What IP has received there
// tells how much must have crossed a device on the path.
func TestEndThatDoesNotCountWhatItReceives(t *testing.T) {
	const payload, acks = 10 << 20, 1 << 10
	end := hop("h2c1/eth0", network.Device, false, network.Count{IP: 500}, network.Count{Bytes: acks, IP: 500 + acks + payload})
	p, err := begin(t.Context(), [][]network.Hop{{end, mayBe("h2/tunnel", bytes(0), bytes(payload)), mayBe("h2/other", bytes(0), bytes(payload/4))}})
	iferr.Fatal(t, err)
	hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: payload}})
	if want := []string{"h2c1/eth0", "h2/tunnel"}; err != nil || !slices.Equal(namesOf(hops), want) {
		t.Errorf("the path is %v, %v, want %v", namesOf(hops), err, want)
	}
}

// TestCardThatMayBeCrossedCountsLate has a network card count the payload when all other devices have, as with drivers that renew
// counters once a second, and another one not at all.
func TestCardThatMayBeCrossedCountsLate(t *testing.T) {
	card, other := mayBe("h2/eth0"), mayBe("h2/eth1", bytes(0))
	card.Common, other.Common = true, true
	var began time.Time
	card.Read = func(context.Context) (c network.Count, err error) {
		if !began.IsZero() && time.Since(began) > 20*time.Millisecond {
			c = bytes(2000)
		}
		return c, nil
	}
	p, err := begin(t.Context(), [][]network.Hop{{hop("h2c1/eth0", network.Device, false, bytes(0), bytes(2000)), card, other}})
	iferr.Fatal(t, err)
	began = time.Now()
	hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1900}})
	if want := []string{"h2c1/eth0", "h2/eth0"}; err != nil || !slices.Equal(namesOf(hops), want) {
		t.Errorf("the path is %v, %v, want %v", namesOf(hops), err, want)
	}
}

// TestHopsThatOthersCrossInTheirTurns checks that only turns of the network itself tell what its payload crosses.
func TestHopsThatOthersCrossInTheirTurns(t *testing.T) {
	const index = 3
	port := network.Joint{Index: index, Master: 9}
	p, err := begin(t.Context(), [][]network.Hop{{
		hop("h2c1/eth0", network.Device, false, bytes(0), bytes(2000)), mayBe("h2/own", network.Count{At: port}, network.Count{Bytes: 2000, At: network.Joint{Index: index}}),
		mayBe("h2/others", bytes(0), bytes(9000)),
	}})
	iferr.Fatal(t, err)
	for _, turn := range []uint64{0, 1} {
		at := func(eth0, others uint64) []network.Count {
			return []network.Count{bytes(eth0), bytes(eth0), bytes(others)}
		}
		p.spans = append(p.spans, span{at(1000*turn, 4000*turn), at(1000*turn+1000, 4000*turn+10), time.Second})
	}
	// In this one, the node's devices could not be read at first.
	p.spans = append(p.spans, span{[]network.Count{bytes(2000), {}, {}}, []network.Count{bytes(7000), {Bytes: 7000, At: port}, {Bytes: 8000, At: network.Joint{Index: 5}}}, time.Second})
	hops, err := p.finish(t.Context(), []workload.Crossed{{Bytes: 1900}})
	if want := []string{"h2c1/eth0", "h2/own"}; err != nil || !slices.Equal(namesOf(hops), want) {
		t.Errorf("the path is %v, %v, want %v", namesOf(hops), err, want)
	}
	name := func(host string, index int) string { return host + "'s cni0" }
	if got, want := changed(p, reading{}, reading{}, name), "the path changed during the trial: h2/own was a port of h2's cni0, and is no longer a port of any bridge"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLateReadingsOfWhatMayBeCrossed checks that turns in which another network sent already do not tell what the payload crosses.
func TestLateReadingsOfWhatMayBeCrossed(t *testing.T) {
	p := &player{attempt: &attempt{}}
	at := func(n uint64, late bool, err error) turnEdge {
		return turnEdge{hops: map[*player][]network.Count{p: {bytes(n)}}, late: late, err: err}
	}
	turn := func(n uint64, late bool, err error) turnReading {
		return turnReading{before: at(n, false, nil), after: at(n+1, late, err)}
	}
	unsure := func(n uint64) turnReading {
		r := turn(n, false, nil)
		r.before.unsure = true
		return r
	}
	lateFirst := func(n uint64) turnReading {
		r := turn(n, false, nil)
		r.before.late = true
		return r
	}
	unread := errors.New("no such device")
	for name, c := range map[string]struct {
		turns []turnReading
		empty int      // the first turns, in which nothing was received
		want  []uint64 // at the beginnings
	}{
		"one late":       {[]turnReading{turn(1, false, nil), turn(3, true, nil), turn(5, false, nil)}, 0, []uint64{1, 5}},
		"all late":       {[]turnReading{turn(1, true, nil), turn(3, true, nil)}, 0, []uint64{1, 3}},
		"not read":       {[]turnReading{turn(1, true, nil), turn(3, false, unread)}, 0, []uint64{1}},
		"nothing in one": {[]turnReading{turn(1, false, nil), turn(3, true, nil)}, 1, []uint64{3}},
		"late at first":  {[]turnReading{lateFirst(1), turn(3, false, nil)}, 0, []uint64{3}},
		"none":           {nil, 0, nil},
		"one unsure":     {[]turnReading{turn(1, true, nil), unsure(3), turn(5, false, nil)}, 0, []uint64{5}},
		"unsure or late": {[]turnReading{turn(1, true, nil), unsure(3)}, 0, []uint64{3}},
	} {
		p.readings, p.each = c.turns, make([]workload.Result, plan.Cold+len(c.turns))
		for i := range c.turns[c.empty:] {
			p.each[plan.Cold+c.empty+i].Crossed = []workload.Crossed{{Bytes: 1}}
		}
		spans := p.spans()
		if got := record.Each(spans, func(s span) uint64 { return s.before[0].Bytes }); spans == nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: turns that begin with %v, want %v", name, got, c.want)
		}
	}
}
