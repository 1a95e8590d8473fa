package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// There are only a few milliseconds between two turns. A request to an agent on another machine might not arrive within
// them, and its answer could cross the network whose turn it is. So these agents are told beforehand when turns end, and
// read their counters then by themselves.

// mostUnsure is how far apart the clocks of other machines may be for turns and, if some of the networks are on this
// machine, how far from its clock. Comparing clocks over a network has an error of up to half of its round-trip time, so
// networks with turns have round-trip times of at most 2 ms, or 1 ms with clients on several machines. There are some seven of these in the time to settle, in
// which connections that have rested grow from their first window to that of 10 Gbit/s.
const mostUnsure = time.Millisecond

// errAlsoHere is the error if some of the networks that take turns are on this machine, and the clocks of the other
// machines are not known well enough by its clock.
var errAlsoHere = errors.New("the clocks of other machines are not known well enough to this one")

// times is how far the clocks of agents on other machines are ahead of this one's.
type times map[network.Agent]time.Duration

// timesOf learns the clocks of other machines from the networks that stand. Networks whose servers are on one machine
// take turns by its clock, and all of them use what the network that knows this clock best has learned: so their turns
// do not overlap, even if that is far from the true difference to this machine's clock. The error says why there can be
// no turns.
func timesOf(ctx context.Context, players []*player) (times, error) {
	players = slices.DeleteFunc(slices.Clone(players), func(p *player) bool { return p == nil })
	best, here, apart := map[string]*workload.Clocks{}, false, time.Duration(0)
	for _, p := range players {
		c := p.standing.Clocks()
		if c == nil {
			here = true
			continue
		}
		first := p.at.clock(p.links[0].server)
		if b := best[first]; b == nil || c.Within < b.Within {
			best[first] = c
		}
		apart = max(apart, c.Apart)
	}
	unsure := time.Duration(0)
	for _, c := range best {
		unsure = max(unsure, c.Within)
	}
	if here && unsure > mostUnsure {
		return nil, errAlsoHere
	}
	if len(best) > 1 {
		apart = max(apart, unsure)
	}
	if apart > mostUnsure {
		return nil, fmt.Errorf("it took no turns, since clocks of the machines may be %v apart", apart.Round(100*time.Microsecond))
	}
	known, all := map[string]time.Duration{}, times{}
	for _, p := range players {
		c := p.standing.Clocks()
		if c == nil {
			continue
		}
		p.ahead = &best[p.at.clock(p.links[0].server)].Ahead
		for end, ahead := range c.Of {
			known[p.at.clock(end)] = ahead + *p.ahead - c.Ahead
		}
	}
	for _, p := range players {
		for _, q := range p.farQuestions(true) {
			if err := all.learn(ctx, q, known); err != nil {
				return nil, fmt.Errorf("it took no turns: %w", err)
			}
		}
	}
	return all, nil
}

// learn finds out which clock an agent has, and notes how far that is ahead. known holds those of the endpoints.
func (t times) learn(ctx context.Context, q farQuestion, known map[string]time.Duration) error {
	if _, done := t[q.agent]; done {
		return nil
	}
	clock := q.clock
	if clock == "" {
		var o sampler.Origin
		if err := q.agent.Call(ctx, sampler.MethodOrigin, nil, &o); err != nil {
			return fmt.Errorf("find out on which machine %s is: %w", q.what, err)
		}
		clock = clockOf(o)
	}
	ahead, ok := known[clock]
	if !ok {
		return fmt.Errorf("%s has the clock of a machine, or of a time namespace, that no endpoint has", q.what)
	}
	t[q.agent] = ahead
	return nil
}

// far reports whether the player's machines are read by agents on them. They are not if its network has daemons, since
// those are read from here.
func (p *player) far() bool { return p.at.of != nil && len(p.watch.daemons) == 0 }

// farEdges holds what agents on other machines read between turns.
type farEdges struct {
	agents map[network.Agent]*farAgent
	own    []float64 // what this process had used at each edge; see machine.leaveOut
	taking sync.WaitGroup
}

// farAgent is an agent that reads between turns.
type farAgent struct {
	ahead  time.Duration
	known  map[string]int // indexes of calls, by their methods and parameters
	edges  map[int]int    // indexes of moments, by those of edges
	series sampler.Series
	took   []sampler.Reading
	err    error
}

// farEdgesOf tells all agents on other machines what to read at which times, and returns at once. whose are the players of
// the turns that are counted.
func farEdgesOf(ctx context.Context, here, whose []*player, when []time.Time, by times) *farEdges {
	f := &farEdges{agents: map[network.Agent]*farAgent{}}
	now, mono := time.Now(), sampler.Monotonic()
	for i, at := range when {
		was, next := beside(whose, i)
		ask := func(own bool) {
			for _, p := range here {
				if own != (p == was || p == next) {
					continue
				}
				for _, q := range p.farQuestions(own) {
					a := f.agents[q.agent]
					if a == nil {
						a = &farAgent{ahead: by[q.agent], known: map[string]int{}, edges: map[int]int{}}
						f.agents[q.agent] = a
					}
					a.ask(i, q, mono+int64(at.Sub(now)+a.ahead))
				}
			}
		}
		ask(true) // first, since the time for it ends with the edge
		ask(false)
	}
	for agent, a := range f.agents {
		f.taking.Go(func() { a.took, a.err = a.series.Take(ctx, agent) })
	}
	return f
}

// beside returns the players before and after an edge, or nil if there is none.
func beside(whose []*player, edge int) (was, next *player) {
	if edge > 0 {
		was = whose[edge-1]
	}
	if edge < len(whose) {
		next = whose[edge]
	}
	return was, next
}

// farQuestion is something that an agent reads.
type farQuestion struct {
	agent  network.Agent
	clock  string // see machines.clock; empty if it has to be found out
	what   string // for errors
	method string
	params any
}

// farQuestions returns what agents on other machines read of a network between turns. Before and after its own turns
// that is everything; otherwise it is the count of the device that tells whether something crosses the network.
func (p *player) farQuestions(own bool) (all []farQuestion) {
	first, ok := p.proof.firstDevice()
	for i, h := range p.proof.hops {
		if h.Asked != nil && (own || ok && i == first) {
			all = append(all, hopQuestion(h))
		}
	}
	if !own || !p.far() {
		return all
	}
	return slices.Concat(all,
		record.Each(p.at.all, func(m *machine) farQuestion { return p.at.question(m.at, sampler.MethodCPU) }),
		record.Each(p.watch.containers, func(c container) farQuestion { return p.at.question(c.at, sampler.MethodCgroup) }),
		record.Each(p.watch.served, served.question))
}

func hopQuestion(h network.Hop) farQuestion {
	return farQuestion{agent: h.Asked.Agent, what: h.Name, method: h.Asked.Method, params: h.Asked.Params}
}

// question returns what the agent of an endpoint is asked.
func (m *machines) question(at *AgentEndpoint, method string) farQuestion {
	return farQuestion{agent: at.client, clock: m.clock(at), what: at.Name(), method: method, params: struct{}{}}
}

// ask adds a question at an edge, at a time of the agent's clock.
func (a *farAgent) ask(edge int, q farQuestion, at int64) {
	key, params := q.key()
	call, ok := a.known[key]
	if !ok {
		call = len(a.series.Calls)
		a.known[key] = call
		a.series.Calls = append(a.series.Calls, sampler.Asked{Method: q.method, Params: params})
	}
	i, ok := a.edges[edge]
	if !ok {
		i = len(a.series.Moments)
		a.edges[edge] = i
		a.series.Moments = append(a.series.Moments, sampler.Moment{At: at})
	}
	if m := &a.series.Moments[i]; !slices.Contains(m.Calls, call) {
		m.Calls = append(m.Calls, call)
	}
}

func (q farQuestion) key() (string, json.RawMessage) {
	params, _ := json.Marshal(q.params) // names and paths
	return q.method + string(params), params
}

// errUnread is the error of what was not read between turns.
var errUnread = errors.New("it was not read between turns")

// answer decodes what an agent read at an edge, and returns when it had read it by this machine's clock.
func (f *farEdges) answer(edge int, q farQuestion, into any) (over time.Time, err error) {
	a := f.agents[q.agent]
	if a == nil {
		return over, errUnread
	}
	if a.err != nil {
		return over, a.err
	}
	key, _ := q.key()
	i, asked := a.edges[edge]
	call, known := a.known[key]
	if !asked || !known || i >= len(a.took) {
		return over, errUnread
	}
	at := slices.Index(a.series.Moments[i].Calls, call)
	r := a.took[i]
	if at < 0 || at >= len(r) {
		return over, errUnread
	}
	now, mono := time.Now(), sampler.Monotonic()
	return now.Add(time.Duration(r[at].Over-mono) - a.ahead), r[at].Decode(into)
}

// count returns what a hop had counted at an edge.
func (f *farEdges) count(edge int, h network.Hop) (c network.Count, over time.Time, err error) {
	c, err = h.Asked.Count(func(into any) error {
		over, err = f.answer(edge, hopQuestion(h), into)
		return err
	})
	return c, over, err
}

// add completes an edge with the counts of hops that agents on other machines read. The next turn begins at next. Networks
// that have no turn beside the edge rest, and may be read until rested, early in that turn: if its payload crosses one of them
// all the same, at most that part of it is counted to the turn before.
func (f *farEdges) add(edge int, e *turnEdge, next, rested time.Time, was, then *player, all []*player) {
	note := func(over, limit time.Time, err error) {
		e.late = e.late || over.After(limit)
		if err != nil {
			e.err = err
		}
	}
	for _, p := range all {
		if p == was || p == then {
			counts := slices.Clone(e.hops[p])
			for i, h := range p.proof.hops {
				if h.Asked != nil && i < len(counts) {
					c, over, err := f.count(edge, h)
					counts[i] = c
					if h.May { // such a device need not be there, and half of the payload tells
						e.unsure = e.unsure || over.After(next)
						continue
					}
					note(over, next, err)
				}
			}
			e.hops[p] = counts
			continue
		}
		if i, ok := p.proof.firstDevice(); ok && p.proof.hops[i].Asked != nil {
			if c, over, err := f.count(edge, p.proof.hops[i]); err == nil { // an error will show up in its own turn
				e.firsts[p] = c
				note(over, rested, nil)
			}
		}
	}
}

// use returns what a network's machines and containers had used at an edge. The next turn begins at next.
func (f *farEdges) use(edge int, p *player, next time.Time) (e edge) {
	for _, m := range p.at.all {
		var s sampler.Snapshot
		over, err := f.answer(edge, p.at.question(m.at, sampler.MethodCPU), &s)
		m.leaveOut(&s, f.own[edge])
		if e.machines = append(e.machines, s); err != nil {
			e.err = err
		}
		e.at = over
		e.lateBy(over.Sub(next))
	}
	for _, c := range p.watch.containers {
		var used time.Duration
		over, err := f.answer(edge, p.at.question(c.at, sampler.MethodCgroup), &used)
		if e.containers = append(e.containers, sampler.Used(over, used)); err != nil {
			e.uncounted = err
		}
	}
	for _, s := range p.watch.served { // in the next turn they do the same
		var each []time.Duration
		over, err := f.answer(edge, s.question(), &each)
		used, err := s.used(over, each, err)
		if e.nodes = append(e.nodes, used); err != nil {
			e.unserved = err
		}
	}
	return e
}
