package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/sampler"
	"nettoll/workload"
)

// clocked is a standing tool that knows clocks.
type clocked struct {
	workload.Standing
	clocks *workload.Clocks
}

func (c clocked) Clocks() *workload.Clocks { return c.clocks }

// called is an endpoint with a name and nothing else.
type called string

func (c called) Name() string        { return string(c) }
func (c called) OnHost() string      { return string(c) }
func (called) Facts() platform.Facts { return platform.Facts{} }
func (called) Start(context.Context, platform.Command) (platform.Process, error) {
	return nil, errors.ErrUnsupported
}

// between returns a network between the machine a, which has the server, and the machine b.
func between(ahead, within, apart time.Duration) *player {
	server := &AgentEndpoint{Endpoint: called("h1"), client: &agent.Client{}}
	client := &AgentEndpoint{Endpoint: called("h2"), client: &agent.Client{}}
	p := &player{attempt: &attempt{proof: &proof{}, watch: &watcher{}, links: []link{{client: client, server: server}}}}
	a, b := &machine{boot: "a", at: server}, &machine{boot: "b", at: client}
	p.at = &machines{
		all: []*machine{b, a}, of: map[*AgentEndpoint]*machine{server: a, client: b},
		origins: map[platform.Endpoint]sampler.Origin{server.Endpoint: {Boot: "a"}, client.Endpoint: {Boot: "b"}},
	}
	p.standing = clocked{clocks: &workload.Clocks{
		Ahead: ahead, Within: within, Apart: apart,
		Of: map[platform.Endpoint]time.Duration{server: ahead, client: ahead + time.Hour},
	}}
	return p
}

// TestTurnsByTheClockThatIsKnownBest has networks with servers on one machine, which know its clock more or
// less precisely: all take their turns by what the most precise one knows. Clocks that are not known well
// enough allow no turns.
func TestTurnsByTheClockThatIsKnownBest(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	well, badly := between(time.Minute, 5*ms, 10*us), between(time.Minute+30*ms, 40*ms, 20*us)
	for _, players := range [][]*player{{badly, nil, well}, {well, badly}} {
		known, err := timesOf(t.Context(), players)
		iferr.Fatal(t, err)
		for _, p := range []*player{well, badly} {
			if p.ahead == nil || *p.ahead != time.Minute {
				t.Errorf("its first server is %v ahead", p.ahead)
			}
		}
		for at, want := range map[*AgentEndpoint]time.Duration{
			badly.links[0].server: time.Minute, badly.links[0].client: time.Minute + time.Hour, well.links[0].client: time.Minute + time.Hour,
		} {
			if got := known[at.client]; got != want {
				t.Errorf("an agent's clock is %v ahead, want %v", got, want)
			}
		}
	}
	elsewhere := between(time.Minute, 5*ms, us)
	elsewhere.at.origins[called("h1")] = sampler.Origin{Boot: "a", Clock: "100 0"} // a time namespace of the same machine
	if _, err := timesOf(t.Context(), []*player{between(time.Minute, 40*ms, us), elsewhere}); err == nil || !strings.Contains(err.Error(), "may be 40ms apart") {
		t.Errorf("servers on two machines: error %v", err)
	}
	here := &player{attempt: &attempt{proof: &proof{}, watch: &watcher{}, at: &machines{}}, standing: clocked{}}
	if _, err := timesOf(t.Context(), []*player{between(time.Minute, us, 2*ms)}); err == nil || !strings.Contains(err.Error(), "it took no turns, since clocks of the machines may be 2ms apart") {
		t.Errorf("the two ends: error %v", err)
	}
	if _, err := timesOf(t.Context(), []*player{between(time.Minute, 2*ms, us), here}); !errors.Is(err, errAlsoHere) {
		t.Errorf("this machine and another one: error %v", err)
	}
	if _, err := timesOf(t.Context(), []*player{between(time.Minute, us, us), here}); err != nil {
		t.Error(err)
	}
}

// TestClocksOfProcesses checks that all processes of a container have its clock, also those that nothing else is asked of.
func TestClocksOfProcesses(t *testing.T) {
	p := between(0, 0, 0)
	if further := (&AgentEndpoint{Endpoint: called("h2")}); p.at.clock(further) != "b" || p.at.clock(p.links[0].server) != "a" {
		t.Errorf("clocks %q and %q", p.at.clock(further), p.at.clock(p.links[0].server))
	}
}

// TestLateIsWhatWasReadLate has agents read the devices of two networks, of which one has its turn next, in time or late.
// Counts of the other can be read until a while later. That nothing is left to read here is never late. A late count of a device
// that the payload need not cross leaves unsure only whether it did.
func TestLateIsWhatWasReadLate(t *testing.T) {
	reader := &agent.Client{}
	of := func(device string) *player {
		hop := network.Hop{Name: device, Kind: network.Device, Asked: &network.Asked{
			Agent: reader, Method: "read", Params: device,
			Count: func(answer func(any) error) (c network.Count, err error) { return c, answer(&c) },
		}}
		p := &player{attempt: &attempt{proof: &proof{hops: []network.Hop{hop}}}}
		p.proof.among(nil)
		return p
	}
	own, other := of("own"), of("other")
	all := []*player{other, own}
	may := of("may").proof.hops[0]
	may.May = true
	own.proof.hops = append(own.proof.hops, may)
	const while = time.Minute
	for what, c := range map[string]struct {
		own, other, may time.Duration // after the beginning of the turn
		late, unsure    bool
	}{
		"all in time":             {-while, -while, -while, false, false},
		"the other in the turn":   {-while, while / 2, -while, false, false},
		"the own in the turn":     {while / 2, -while, -while, true, false},
		"the other too late":      {-while, 2 * while, -while, true, false},
		"what may be in the turn": {-while, -while, while / 2, false, true},
	} {
		const ahead = time.Hour
		a := &farAgent{ahead: ahead, known: map[string]int{}, edges: map[int]int{}}
		for _, h := range []network.Hop{own.proof.hops[0], other.proof.hops[0], may} {
			a.ask(0, hopQuestion(h), 0)
		}
		next, mono := time.Now(), sampler.Monotonic()
		found := func(after time.Duration) sampler.Found {
			return sampler.Found{Result: json.RawMessage(`{"Bytes": 1}`), Over: mono + int64(ahead+after)}
		}
		a.took = []sampler.Reading{{found(c.own), found(c.other), found(c.may)}}
		e, some := edgeBetween(t.Context(), nil, own, all)
		f := &farEdges{agents: map[network.Agent]*farAgent{reader: a}}
		f.add(0, &e, next, next.Add(while), nil, own, all)
		if some || e.late != c.late || e.unsure != c.unsure || e.err != nil || e.hops[own][0].Bytes != 1 || e.firsts[other].Bytes != 1 {
			t.Errorf("%s: left to read here: %v; late: %v, want %v; unsure: %v, want %v; %v, %v, %v", what, some, e.late, c.late, e.unsure, c.unsure, e.err, e.hops[own], e.firsts[other])
		}
	}
	own.proof.hops[0].Asked = nil
	own.proof.hops[0].Read = func(context.Context) (c network.Count, err error) { return c, nil }
	if _, some := edgeBetween(t.Context(), nil, own, all); !some {
		t.Error("a hop is read here, and nothing is said to be left to read here")
	}
}

// askedLater is an agent that is told what to read at which times. What it reads then is the number of the time.
type askedLater struct{ moments []sampler.Moment }

// Call implements network.Agent.
func (a *askedLater) Call(_ context.Context, _ string, in, out any) error {
	a.moments = in.(sampler.Series).Moments
	for i := range a.moments {
		*out.(*[]sampler.Reading) = append(*out.(*[]sampler.Reading), sampler.Reading{{Result: json.RawMessage(fmt.Sprintf(`{"Bytes": %d}`, i))}})
	}
	return nil
}

// TestAgentsReadByTheirOwnClocks has an agent whose clock is an hour ahead.
func TestAgentsReadByTheirOwnClocks(t *testing.T) {
	a := &askedLater{}
	hop := network.Hop{Name: "h2/eth0", Kind: network.Device, Asked: &network.Asked{
		Agent: a, Count: func(answer func(any) error) (c network.Count, err error) {
			err = answer(&c)
			return c, err
		},
	}}
	p := &player{attempt: &attempt{proof: &proof{hops: []network.Hop{hop}}, at: &machines{}, watch: &watcher{}}}
	now, mono := time.Now(), sampler.Monotonic()
	f := farEdgesOf(t.Context(), []*player{p}, []*player{p}, []time.Time{now, now.Add(time.Minute)}, times{a: time.Hour})
	f.taking.Wait()
	for i, want := range []time.Duration{time.Hour, time.Hour + time.Minute} {
		if len(a.moments) != 2 || time.Duration(a.moments[i].At-mono).Round(time.Minute) != want {
			t.Errorf("it reads at %+v, by a clock that was %d", a.moments, mono)
		}
		if c, _, err := f.count(i, hop); err != nil || c.Bytes != uint64(i) {
			t.Errorf("reading %d is %+v, %v", i, c, err)
		}
	}
}

// TestOwnWorkOnAMachineThatAnAgentReads checks that what this process does on its own machine is left out of what the machine's agent
// reads there.
func TestOwnWorkOnAMachineThatAnAgentReads(t *testing.T) {
	p := between(0, 0, 0)
	f := &farEdges{agents: map[network.Agent]*farAgent{}, own: []float64{7}}
	for _, m := range p.at.all {
		m.here = m.boot == "a"
		a := &farAgent{known: map[string]int{}, edges: map[int]int{}, took: []sampler.Reading{{{Result: json.RawMessage(`{"Took": 0.5}`)}}}}
		a.ask(0, p.at.question(m.at, sampler.MethodCPU), 0)
		f.agents[m.at.client] = a
	}
	e := f.use(0, p, time.Now())
	iferr.Fatal(t, e.err)
	for i, m := range p.at.all {
		want := map[string]float64{"a": 7, "b": 0}[m.boot]
		if got := e.machines[i]; got.Own != want || got.Took != 0.5 {
			t.Errorf("machine %s: %+v, want %v s of own work", m.boot, got, want)
		}
	}
}
