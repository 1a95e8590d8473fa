package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/oneline"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// player is a cell that is measured in turns, with its network.
type player struct {
	*attempt
	turn     plan.Turn
	standing workload.Standing
	ahead    *time.Duration // see workload.Turns
	begins   []time.Time
	readings []turnReading // of the turns that count
	each     []workload.Result
	together workload.Result
	err      error
	behind   string // what a device that others use, too, did not prove of a turn; see network.Hop.Common
}

// turns measures a cell in several networks that stand at once, in turns. If one of them breaks,
// the others keep their turns. The times of slices count from since or, if that is zero, from the first slice, whose
// beginning is returned.
func (r *Runner) turns(ctx context.Context, c plan.Contest, in []*session, round int, since time.Time) (trials []record.Trial, first time.Time) {
	began := time.Now()
	for range attempts { // an end that hears of its turns too late has missed some of them
		var late bool
		if trials, first, late = r.takeTurns(ctx, c, in, round, since); !late {
			break
		}
	}
	for i := range trials { // each trial has its share of the common time, and the time to build its network
		if built := in[i].untold(); trials[i].Started.IsZero() {
			trials[i].Started = began.Add(-built)
			trials[i].Elapsed = (built + time.Since(began)/time.Duration(len(trials))).Seconds()
		}
	}
	return trials, first
}

// takeTurns runs the turns once, and reports whether an end heard of them too late.
func (r *Runner) takeTurns(ctx context.Context, c plan.Contest, in []*session, round int, since time.Time) (trials []record.Trial, first time.Time, late bool) {
	outer := ctx
	far := record.Those(in, func(s *session) bool { return s.network.Distant })
	key := c.Key()
	if len(far) < len(in) { // those on other machines may also take turns without the others: see turnsApart
		key += " beside this machine"
	}
	if len(far) > 0 && slices.Contains(r.lingers, key) {
		return r.insteadOfTurns(ctx, c, in, round, errLingers), since, false
	}
	order := c.Order(plan.Slices(c.Workload(), r.Settings), plan.Chance(r.Settings, round, "turns of "+c.Key()))
	longest := plan.TurnOf(c.Workload(), true).Length()
	limit := r.patience(time.Duration(len(c.Cells))*grace) + time.Duration(len(c.Cells)+len(order))*longest
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the turns of %d networks took more than %v", len(c.Cells), limit))
	defer cancel()
	trials = make([]record.Trial, len(c.Cells))
	players := ready(ctx, c, in, trials)
	for i, p := range players {
		if p == nil {
			continue
		}
		defer p.standing.Close()
		if quiet := r.Networks[c.Cells[i].Network].Platform.Info().Quiet; quiet != nil {
			defer quiet()()
		}
	}
	clocks, err := timesOf(ctx, players)
	if err == nil {
		there := record.Those(players, func(p *player) bool { return p != nil })
		err = distinct(players).watchIdle(ctx, record.Each(there, func(p *player) *proof { return p.proof })...)
	}
	if err != nil {
		for _, p := range players {
			if p != nil {
				p.standing.Close()
			}
		}
		if errors.Is(err, errAlsoHere) {
			trials, first = r.turnsApart(outer, c, in, round)
			return trials, first, false
		}
		return r.insteadOfTurns(outer, c, in, round, err), since, false
	}
	first = r.play(ctx, players, order, clocks)
	if !since.IsZero() {
		first = since
	}
	var finishing sync.WaitGroup
	for i, p := range players {
		if p == nil {
			continue
		}
		late = late || errors.Is(p.err, workload.ErrLate)
		finishing.Go(func() {
			p.standing.Close() // so that its counters are final when they are read
			if err := p.finish(ctx, first); err != nil {
				failed(ctx, &trials[i], err)
			}
		})
	}
	finishing.Wait()
	if !late && slices.ContainsFunc(players, func(p *player) bool { return p != nil && p.s.network.Distant && p.lingers() }) {
		r.lingers = append(r.lingers, key)
		return r.insteadOfTurns(outer, c, in, round, errLingers), since, false
	}
	if p, ok := record.First(players, func(p *player) bool { return p != nil && p.behind != "" }); ok && !late && !slices.Contains(r.strays, c.Key()) {
		// Some network cards count late. Whole trials can wait for their counters. If one of them is invalid, that was not the
		// reason, and in further rounds only what strays is.
		why := fmt.Errorf("it has a whole trial, since turns were not proved by a device that others use, too, as network cards that count late: %s", p.behind)
		trials = r.insteadOfTurns(outer, c, in, round, why)
		if slices.ContainsFunc(trials, func(t record.Trial) bool { return t.Status == record.Invalid }) {
			r.strays = append(r.strays, c.Key())
		}
		return trials, since, false
	}
	return trials, first, late
}

// ready makes the connections of all networks at the same time. A network that fails has no player.
func ready(ctx context.Context, c plan.Contest, in []*session, trials []record.Trial) []*player {
	players := make([]*player, len(c.Cells))
	var readying sync.WaitGroup
	for i, cell := range c.Cells {
		trials[i] = record.Trial{Cell: cell}
		readying.Go(func() {
			var err error
			if players[i], err = in[i].player(ctx, &trials[i]); err != nil {
				failed(ctx, &trials[i], err)
			}
		})
	}
	readying.Wait()
	for _, p := range players {
		if p != nil {
			others := record.Those(players, func(o *player) bool { return o != nil && o != p })
			p.proof.among(record.Each(others, func(o *player) *proof { return o.proof }))
		}
	}
	return players
}

// errLingers says why networks have whole trials between machines whose link is slower than they are: what sockets and queues
// hold when a turn ends takes long to cross such a link, and would cross it in the turns of others. In the lab, links are known
// beforehand: see plan.Contest.
var errLingers = errors.New("it has a whole trial, since payload was still on its way when most turns had ended, as where the link is what limits a stream")

// lingers reports whether payload was still on its way after most turns.
func (p *player) lingers() bool {
	counted := p.each[min(plan.Cold, len(p.each)):]
	return p.err == nil && 2*len(record.Those(counted, overran)) > len(counted)
}

// turnsApart has networks on this machine take turns with each other, and those on others with each other.
func (r *Runner) turnsApart(ctx context.Context, c plan.Contest, in []*session, round int) (trials []record.Trial, first time.Time) {
	trials = make([]record.Trial, len(c.Cells))
	for _, distant := range []bool{false, true} {
		var part plan.Contest
		var of []*session
		var places []int
		for i, s := range in {
			if s.network.Distant == distant {
				part.Cells, of, places = append(part.Cells, c.Cells[i]), append(of, s), append(places, i)
			}
		}
		if len(of) == 0 {
			continue
		}
		var half []record.Trial
		half, first = r.turns(ctx, part, of, round, first)
		for k, t := range half {
			if t.Status == record.OK && len(t.Slices) > 0 { // whole trials say why they are
				remark(&t, "turns were taken only with networks on the same machines, since "+errAlsoHere.Error())
			}
			trials[places[k]] = t
		}
	}
	return trials, first
}

// remark adds a note on how a trial went.
func remark(t *record.Trial, text string) {
	t.Warnings = append(t.Warnings, record.Warning{Code: record.WarnRemark, Text: text})
}

// insteadOfTurns measures the cells by whole trials.
func (r *Runner) insteadOfTurns(ctx context.Context, c plan.Contest, in []*session, round int, why error) []record.Trial {
	trials := make([]record.Trial, len(c.Cells))
	for _, cell := range c.Beside(plan.Chance(r.Settings, round, "instead of turns of "+c.Key())) {
		i := slices.Index(c.Cells, cell)
		t := in[i].trial(ctx, cell, time.Now().Add(-in[i].untold()))
		t.Elapsed = time.Since(t.Started).Seconds() // they are saved together
		if t.Status == record.OK {
			remark(&t, oneline.Errors(why.Error()))
		}
		trials[i] = t
	}
	return trials
}

// player readies a network for its turns.
func (s *session) player(ctx context.Context, t *record.Trial) (*player, error) {
	a, err := s.approach(ctx, t)
	if err != nil {
		return nil, err
	}
	if a.tool.Stand == nil {
		return nil, fmt.Errorf("tool %s cannot take turns", a.tool.Name)
	}
	p := &player{attempt: a, turn: plan.TurnOf(t.Cell.Workload, s.r.Networks[t.Cell.Network].Driver.Carried)}
	a.job.Warmup, a.job.Duration = p.turn.Settle, p.turn.Slice
	if p.standing, err = a.tool.Stand(ctx, a.job); err != nil {
		return nil, a.diagnose(ctx, err)
	}
	return p, nil
}

// telling is the additional notice that each network requires to learn of its turns. All are told at the
// same time, and only the first has its turn right away. One that learns of its turns late misses part of a
// cold turn.
const telling = time.Millisecond

// play runs all turns, and reads the counters between them. It returns when the window of the first turn that counts
// opens; the zero time if there are no players.
func (r *Runner) play(ctx context.Context, players []*player, order []int, clocks times) (first time.Time) {
	there := func(p *player) bool { return p != nil }
	here := record.Those(players, there)
	if len(here) == 0 {
		return first
	}
	for _, p := range here {
		defer p.proof.keep()()
	}
	counted := record.Those(record.Each(order, func(i int) *player { return players[i] }), there)
	t := timetableOf(here, counted)
	var running sync.WaitGroup
	for _, p := range here {
		running.Go(func() {
			p.each, p.together, p.err = p.standing.Turns(ctx, workload.Turns{
				Begins: p.begins, Cold: plan.Cold, ColdFor: p.turn.Cold, Drain: p.turn.Rest - t.usual.Rest, Over: t.begins[len(counted)], Ahead: p.ahead,
			})
		})
	}
	far := farEdgesOf(ctx, here, counted, t.look, clocks)
	edges := r.readEdges(ctx, t, far)
	running.Wait()
	far.taking.Wait()
	t.join(edges, far)
	r.spent += t.begins[len(counted)].Sub(t.began)
	return t.begins[0].Add(counted[0].turn.Settle)
}

// timetable says when turns begin, as player.begins also does. Each network has one that does not count, before those that do.
type timetable struct {
	here    []*player
	counted []*player // whose the turns that count are
	usual   plan.Turn // of networks without daemons that carry their payload
	began   time.Time
	begins  []time.Time // when turns that count begin, and when the last is over
	look    []time.Time // when the counters are read between them, before the first and after the last
}

func timetableOf(here, counted []*player) timetable {
	t := timetable{here: here, counted: counted, usual: plan.TurnOf(here[0].t.Cell.Workload, false)}
	notice := time.Duration(len(here)) * telling
	notice += record.Most(here, func(p *player) time.Duration { return p.standing.Notice() })
	t.began = time.Now().Add(notice)
	at := t.began
	for _, p := range here {
		p.begins = append(p.begins, at)
		at = at.Add(p.turn.ColdLength())
	}
	for _, p := range counted {
		p.begins, t.begins = append(p.begins, at), append(t.begins, at)
		at = at.Add(p.turn.Length())
	}
	t.begins = append(t.begins, at)
	late := here[0].standing.Gap() - t.usual.Rest
	t.look = record.Each(t.begins, func(begins time.Time) time.Time { return begins.Add(late) })
	return t
}

// readEdges reads the counters between turns, as many times as there is time for before ctx ends. Those of other machines are read
// by their agents.
func (r *Runner) readEdges(ctx context.Context, t timetable, far *farEdges) (edges []turnEdge) {
	for i, look := range t.look {
		if await.Sleep(ctx, time.Until(look)) != nil {
			break
		}
		far.own = append(far.own, sampler.OwnTime())
		was, then := beside(t.counted, i)
		e, some := edgeBetween(ctx, was, then, t.here)
		e.late = some && time.Now().After(t.begins[i])
		edges = append(edges, e)
		seen := sync.OnceValue(func() sight { return r.here().look(ctx) })
		var to, from edge
		var reading sync.WaitGroup // at the same time, since containers may take longer to answer than there is until the next turn
		if was != nil {
			reading.Go(func() { to = was.readBy(ctx, t.begins[i], seen) })
		}
		if then != nil && then != was {
			reading.Go(func() { from = then.readBy(ctx, t.begins[i], seen) })
		}
		reading.Wait()
		if then == was {
			from = to
		}
		if was != nil {
			last := &was.readings[len(was.readings)-1]
			last.use.to, last.over = to, true
		}
		if then != nil {
			then.readings = append(then.readings, turnReading{use: turnUse{from: from}})
		}
	}
	return edges
}

// join gives each turn what was read before and after it, here and by the agents of other machines.
func (t timetable) join(edges []turnEdge, far *farEdges) {
	turns := map[*player]int{}
	for i := range edges {
		was, then := beside(t.counted, i)
		// In a quarter of a turn less crosses a network than turns are faulted for.
		far.add(i, &edges[i], t.begins[i], t.begins[i].Add(t.usual.Length()/4), was, then, t.here)
		if was != nil {
			last := &was.readings[turns[was]-1]
			if last.after = edges[i]; was.far() {
				last.use.to = far.use(i, was, t.begins[i])
			}
		}
		if then != nil {
			turns[then]++
			now := &then.readings[turns[then]-1]
			if now.before = edges[i]; then.far() {
				now.use.from = far.use(i, then, t.begins[i])
			}
		}
	}
}

// readBy samples between two turns; the next one starts at begins. here reads this machine, once for the networks of both turns.
// Other machines are read by their agents.
func (p *player) readBy(ctx context.Context, begins time.Time, here func() sight) edge {
	if p.far() {
		return edge{}
	}
	if p.at.of != nil {
		here = func() sight { return p.at.look(ctx) }
	}
	e := p.watch.read(ctx, here)
	e.lateBy(e.at.Sub(begins))
	return e
}

// turnReading holds the readings before and after a turn.
type turnReading struct {
	before, after turnEdge
	use           turnUse
	over          bool
}

// turnEdge holds the counters read between two turns.
type turnEdge struct {
	hops   map[*player][]network.Count // of the networks of the previous and the next turn; slow ones are not read
	firsts map[*player]network.Count   // of the first device of every other network
	late   bool                        // something was read when it was too late: see edgeBetween and farEdges.add
	unsure bool                        // a device that the payload need not cross was read when it was too late
	err    error
}

// edgeBetween reads the counters between the turns of two players, either of which may be nil, except those that agents on
// other machines read. It reports whether that left some.
func edgeBetween(ctx context.Context, was, next *player, all []*player) (e turnEdge, some bool) {
	e = turnEdge{hops: map[*player][]network.Count{}, firsts: map[*player]network.Count{}}
	for _, p := range all {
		if p == was || p == next {
			here := func(h network.Hop) bool { return h.Asked == nil && !h.Slow }
			some = some || slices.ContainsFunc(p.proof.hops, here)
			counts, err := p.proof.read(ctx, here)
			if e.hops[p] = counts; err != nil {
				e.err = err
			}
			continue
		}
		if i, ok := p.proof.firstDevice(); ok && p.proof.hops[i].Asked == nil {
			some = true
			if c, err := p.proof.hops[i].Read(ctx); err == nil { // an error will show up in its own turn
				e.firsts[p] = c
			}
		}
	}
	return e, some
}

// first returns the count of a network's first device.
func (e turnEdge) first(p *player) (c network.Count, ok bool) {
	i, ok := p.proof.firstDevice()
	if counts := e.hops[p]; ok && i < len(counts) {
		return counts[i], true
	}
	c, ok = e.firsts[p]
	return c, ok
}

// among notes the networks that take turns with this one, and chooses the hop that tells between turns
// whether something crosses this network: of the devices that its payload crosses and that of no other network does the
// first that most of it crosses, such as that of the only server; or, if there is none, the first device.
func (p *proof) among(others []*proof) {
	p.beside, p.first = others, -1
	first, most := -1, 0.0
	for i, h := range p.hops {
		if h.Kind != network.Device || h.Absent || h.May || h.Slow {
			continue
		}
		if first < 0 {
			first = i
		}
		if share := p.shareOf(i); share > most && !h.Common && !slices.ContainsFunc(others, func(o *proof) bool { return o.crosses(h) }) {
			p.first, most = i, share
		}
	}
	if p.first < 0 {
		p.first = first
	}
}

// shareOf returns the share of the pairs whose payload must cross a hop.
func (p *proof) shareOf(hop int) float64 {
	if len(p.ends) == 0 {
		return 1
	}
	return float64(len(p.pairs[hop])) / float64(len(p.ends))
}

// firstDevice returns the index of the hop that among has chosen, if there is one.
func (p *proof) firstDevice() (at int, ok bool) { return p.first, p.first >= 0 }

// crosses reports whether the payload crosses the device that a hop of another network counts: networks on
// one machine can share a device.
func (p *proof) crosses(device network.Hop) bool {
	return device.Device != "" && slices.ContainsFunc(p.hops, func(h network.Hop) bool { return h.Device == device.Device && !h.Absent })
}

// finish computes the trial's figures from its turns, and makes the trial invalid if the payload left its
// path in one of them. The times of its slices count from first.
func (p *player) finish(ctx context.Context, first time.Time) error {
	switch {
	case errors.Is(p.err, workload.ErrLate): // nothing is broken
		return p.err
	case p.err != nil:
		return p.diagnose(ctx, p.err)
	}
	total, crossed := make([]workload.Crossed, len(p.links)), make([]uint64, len(p.each))
	for i, one := range p.each {
		for n, c := range one.Crossed {
			total[n].Add(c)
			crossed[i] += c.Bytes
		}
	}
	n := len(p.readings)
	if n == 0 || n != len(p.each)-plan.Cold || !p.readings[n-1].over {
		return fmt.Errorf("%d of %d turns were watched", n, len(p.each)-plan.Cold)
	}
	p.proof.spans = p.spans()
	for i, s := range p.readings {
		one := p.each[plan.Cold+i]
		s.use.crossed, s.use.counted, s.use.window = crossed[plan.Cold+i], one.Bytes, one.Window.Seconds()
		p.watch.turns = append(p.watch.turns, s.use)
	}
	if crossedIn(p.watch.turns) == 0 {
		return fmt.Errorf("nothing crossed in %d turns", n)
	}
	if err := p.complete(ctx, p.together, total); err != nil {
		return err
	}
	p.t.Slices = p.slicesFrom(first)
	if wrong, common := p.astray(); p.t.Status == record.OK && wrong != "" {
		p.t.Status, p.t.Reason = record.Invalid, wrong
		if common {
			p.behind = wrong
		}
	}
	return nil
}

// slicesFrom returns what was measured in each turn that counts. Times count from first.
func (p *player) slicesFrom(first time.Time) (all []record.Slice) {
	timely, known := p.watch.timely()
	known = known && p.t.CPU.Machine.Known()
	for i, one := range p.each[plan.Cold:] {
		s := record.Slice{At: p.begins[plan.Cold+i].Add(p.job.Warmup).Sub(first).Seconds(), Window: one.Window.Seconds()}
		for _, f := range one.Flows {
			s.Bytes += f.Bytes
			s.Transactions += f.Transactions
		}
		if use := p.watch.turns[i]; known && timely(use) {
			s.CPU = p.watch.spent(use, p.t.CPU.Idle)
		}
		all = append(all, s)
	}
	return all
}

// spans returns what the hops had counted at the edges of the turns, without those that were read when a turn had begun, unless
// all were. Turns in which nothing was received, as on a busy machine, tell nothing.
func (p *player) spans() []span {
	timely, unsure, all := []span{}, []span{}, []span{}
	for i, s := range p.readings {
		if s.before.err != nil || s.after.err != nil || (turnProof{crossed: p.each[plan.Cold+i].Crossed}).payload() == 0 {
			continue
		}
		one := span{s.before.hops[p], s.after.hops[p], p.turn.Length()}
		all = append(all, one)
		switch {
		case s.before.late || s.after.late:
		case s.before.unsure || s.after.unsure:
			unsure = append(unsure, one)
		default:
			timely = append(timely, one)
		}
	}
	for _, some := range [][]span{timely, unsure} {
		if len(some) > 0 {
			return some
		}
	}
	return all
}

// astray returns in which turn the payload did not take its path, or crossed another network, or
// "". Some cases are judged only by the counters of all turns together: hops that count late or
// count only connections, hops that are slow to read, turns that overran, and turns that were read too late.
//
// Devices that other networks cross, too, such as a machine's network card, are also judged by what they counted in all of the
// network's own turns: from the first turn to the last they have counted the payload of all networks, and a single turn of a slow
// stream proves nothing.
//
// common says that it was a device that others use, too, which did not count the payload.
func (p *player) astray() (wrong string, common bool) {
	var all turnProof
	var held uint64 // what the sockets may have held when those turns began
	follows := false
	for i, s := range p.readings {
		one := p.each[plan.Cold+i]
		if s.before.err != nil || s.after.err != nil || s.before.late || s.after.late || overran(one) {
			follows = false
			continue
		}
		t := turnProof{turns: 1, crossed: one.Crossed, before: s.before.hops[p], after: s.after.hops[p]}
		least := p.leastToProve(one)
		if !follows { // otherwise what they held had crossed in one of those turns
			held += least
		}
		follows = true
		all.add(t)
		sum := t.payload()
		if sum < leastExchanged {
			continue
		}
		in := fmt.Sprintf("in turn %d of %d: ", i+1, len(p.readings))
		if wrong, h := p.unproved(t, nil); sum >= least && wrong != "" {
			return in + wrong, h.Common && !h.Absent
		}
		for _, o := range s.before.others(p) {
			if at, ok := o.proof.firstDevice(); ok && (o.proof.hops[at].Common || p.proof.crosses(o.proof.hops[at])) {
				continue // such as lo of the machine, or its network card
			}
			if slices.ContainsFunc(o.each, overran) {
				continue // on a busy machine it was still sending what belonged to its own turn
			}
			was, _ := s.before.first(o)
			is, ok := s.after.first(o)
			grown := growth(was, is)
			at, _ := o.proof.firstDevice()
			if bytes := max(grown.Bytes, grown.IP); ok && is.At == was.At && float64(bytes) > o.proof.shareOf(at)*float64(sum)/2+background {
				return fmt.Sprintf("%s%d bytes crossed %s of %s, although it was not that network's turn", in, bytes, o.proof.hops[at].Name, o.t.Cell.Network), false
			}
		}
	}
	if sum := all.payload(); sum == 0 || sum < held {
		return "", false
	}
	if wrong, h := p.unproved(all, p.shared); wrong != "" {
		return "in its turns together: " + wrong, h.Common && !h.Absent
	}
	return "", false
}

// shared reports whether the payload of other networks may cross the device that a hop counts.
func (p *player) shared(h network.Hop) bool {
	return !h.Absent && (h.Common || slices.ContainsFunc(p.proof.beside, func(o *proof) bool { return o.crosses(h) }))
}

// turnProof is the payload of one or several turns, and what the hops of their network had counted before and after.
type turnProof struct {
	turns         uint64
	crossed       []workload.Crossed
	before, after []network.Count
}

// add adds another turn: from then on before is nothing, and after is what was counted in all of them.
func (t *turnProof) add(o turnProof) {
	if t.crossed == nil {
		t.crossed, t.before, t.after = make([]workload.Crossed, len(o.crossed)), make([]network.Count, len(o.before)), make([]network.Count, len(o.after))
	}
	t.turns += o.turns
	for i, c := range o.crossed {
		t.crossed[i].Add(c)
	}
	for i := range t.after {
		grown := growth(o.before[i], o.after[i])
		t.after[i].Packets += grown.Packets
		t.after[i].Bytes += grown.Bytes
		t.after[i].InPackets += grown.InPackets
		t.after[i].InBytes += grown.InBytes
		t.before[i].IP, t.after[i].IP = 1, max(1, t.after[i].IP)+max(grown.Bytes, grown.IP) // 0 would be unknown
	}
}

func (t turnProof) payload() uint64 {
	return record.Sum(t.crossed, func(c workload.Crossed) uint64 { return c.Bytes })
}

// unproved says of which hop that some accepts the counts do not prove that half of the payload took its path, and returns the hop;
// wrong is "" if there is none. nil accepts all. At the edges of turns, a transaction can be counted in the turn before or after, so half
// of the payload is enough there, without the first and the last transaction of each flow, which on a busy machine may be the only ones: from
// the first turn to the last every byte must have crossed.
func (p *player) unproved(t turnProof, some func(network.Hop) bool) (wrong string, at network.Hop) {
	edges := float64(2 * t.turns * uint64(max(1, p.t.Cell.Options.Streams)))
	half := record.Each(t.crossed, func(c workload.Crossed) workload.Crossed {
		share := 0.5
		if c.Transactions > 0 {
			share *= 1 - min(1, edges/float64(c.Transactions))
		}
		of := func(n uint64) uint64 { return uint64(share * float64(n)) }
		return workload.Crossed{Bytes: of(c.Bytes), Transactions: of(c.Transactions), Fewer: of(c.Fewer)}
	})
	hops, _ := (&proof{hops: p.proof.hops, before: t.before, pairs: p.proof.pairs, ends: p.proof.ends, oneWay: p.proof.oneWay}).judge(t.after, half)
	for n, h := range p.proof.hops {
		if some != nil && !some(h) || h.May || h.Slow || h.Kind != network.Device && h.Kind != network.Rule {
			continue
		}
		if !h.Absent && record.Sum(p.proof.pairs[n], func(pair int) uint64 { return half[pair].Bytes }) == 0 {
			continue
		}
		if wrong := verdict(hops[n : n+1]); wrong != "" {
			return wrong, h
		}
	}
	return "", at
}

// With streams, receivers that had no CPU may read in their turn what filled their sockets in the turn before.
const (
	leastExchanged = 256     // bytes of payload with which a turn proves anything about its path and other networks
	leastHeld      = 6 << 20 // what a socket is taken to hold, in bytes, unless tcp_rmem allows more, as it does by default since Linux 6.16
)

// leastToProve returns the bytes of payload with which a turn proves anything about its own path.
func (p *player) leastToProve(turn workload.Result) uint64 {
	if slices.ContainsFunc(turn.Flows, func(f record.Flow) bool { return f.Transactions > 0 }) {
		return leastExchanged
	}
	held := uint64(leastHeld)
	for _, e := range p.t.Endpoints {
		if sizes := strings.Fields(e.Sysctls["net.ipv4.tcp_rmem"]); len(sizes) == 3 { // least, default and greatest
			most, _ := strconv.ParseUint(sizes[2], 10, 32) // 0 is unknown
			held = max(held, most)
		}
	}
	return held * uint64(max(1, len(turn.Flows)))
}

// others returns all players that were read, except one.
func (e turnEdge) others(p *player) []*player {
	all := slices.AppendSeq(slices.Collect(maps.Keys(e.firsts)), maps.Keys(e.hops))
	return slices.DeleteFunc(all, func(o *player) bool { return o == p })
}

// overran reports whether part of a turn's payload was still in flight at its end.
func overran(r workload.Result) bool {
	return slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == workload.WarnOverran })
}
