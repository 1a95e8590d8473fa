package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"nettoll/internal/emulated"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
)

// buildTime bounds the building of one network, and closeTime the taking down, which goes
// on after an interrupt. Both are longer by containerTime for each of its containers: an
// engine on a busy machine starts one in a second.
const (
	buildTime     = 60 * time.Second
	closeTime     = 30 * time.Second
	containerTime = 2 * time.Second
)

// within is a bound for a network with that many containers.
func (r *Runner) within(bound time.Duration, t network.Topology) time.Duration {
	return r.patience(bound + time.Duration(t.Servers+t.Clients+t.Neighbours)*containerTime)
}

// patience is how long may be waited for what takes no longer on ordinary machines.
func (r *Runner) patience(bound time.Duration) time.Duration {
	if r.Machine.Virtual == record.Emulated {
		bound *= emulated.Slowness
	}
	return bound
}

// group builds networks, measures their cells and takes them down again. All stand at once.
// They are built anew in every round, so that what differs from build to build is part of the
// interval.
func (r *Runner) group(ctx context.Context, g plan.Group, place *order) (ran int, err error) {
	stand := map[record.Cell]*session{} // by what their cells have in common
	defer func() { err = errors.Join(err, r.closeAll(ctx, g.Visits, stand)) }()
	save := func(all ...record.Trial) error {
		for _, t := range all {
			if err := r.save(t, place); err != nil {
				return err
			}
			ran++
		}
		return nil
	}
	all := r.buildAll(ctx, g.Visits)
	for i, v := range g.Visits {
		if all[i].network != nil && all[i].err == nil {
			stand[v.Cell] = &session{r: r, network: all[i].network, topo: all[i].topo, agents: newAgents(), rests: len(g.Contests) > 0}
		}
	}
	for i, v := range g.Visits {
		if ctx.Err() != nil {
			return ran, nil
		}
		if err := all[i].err; err != nil {
			if err := save(unusable(v.Cells, all[i].began, err)...); err != nil {
				return ran, err
			}
			continue
		}
		began, s := time.Now(), stand[v.Cell]
		s.settling, s.unheard = s.settle(ctx, v)
		s.took = all[i].took + time.Since(began)
	}
	for _, part := range r.parts(g, place.round) {
		if ctx.Err() != nil || r.hurry() {
			break
		}
		trials, err := r.part(ctx, part, stand, place.round)
		if err != nil {
			return ran, err
		}
		if err := save(trials...); err != nil {
			return ran, err
		}
	}
	return ran, nil
}

// built is what became of the building of a network.
type built struct {
	network *network.Network
	topo    network.Topology
	began   time.Time
	took    time.Duration
	err     error
}

// buildAll builds networks one after the other, but those at once of which only so many can stand:
// for these somebody else is waited for, most of the time.
func (r *Runner) buildAll(ctx context.Context, visits []plan.Visit) []built {
	all := make([]built, len(visits))
	var building sync.WaitGroup
	for i, v := range visits {
		one := &all[i]
		build := func() {
			one.began = time.Now()
			one.network, one.topo, one.err = r.build(ctx, v)
			one.took = time.Since(one.began)
		}
		switch {
		case r.atOnce(v.Network) > 0:
			building.Go(build)
		case ctx.Err() == nil:
			build()
		}
	}
	building.Wait()
	return all
}

// closeAll takes networks down, as they were built.
func (r *Runner) closeAll(ctx context.Context, visits []plan.Visit, stand map[record.Cell]*session) error {
	errs := make([]error, len(visits))
	var closing sync.WaitGroup
	for i, v := range visits {
		s := stand[v.Cell]
		if s == nil {
			continue
		}
		closed := func() {
			if err := s.close(ctx); err != nil {
				errs[i] = fmt.Errorf("%s: take down: %w", v.Network, err)
			}
		}
		if r.atOnce(v.Network) > 0 {
			closing.Go(closed)
		} else {
			closed()
		}
	}
	closing.Wait()
	return errors.Join(errs...)
}

// parts are what is measured in a group one after the other, in a random order: contests, and
// cells by themselves, those that are compared one right after the other.
func (r *Runner) parts(g plan.Group, round int) []plan.Contest {
	rnd := plan.Chance(r.Settings, round, "parts of a group")
	var all [][]plan.Contest
	for _, c := range g.Contests {
		all = append(all, []plan.Contest{c})
	}
	for _, alike := range plan.Alike(g.Whole) {
		var one []plan.Contest
		for _, c := range alike.Beside(rnd) {
			one = append(one, plan.Contest{Cells: []record.Cell{c}})
		}
		all = append(all, one)
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return slices.Concat(all...)
}

// part measures the cells of a contest, or one by itself, in networks that stand. Those of a
// network that has broken are given up.
func (r *Runner) part(ctx context.Context, part plan.Contest, stand map[record.Cell]*session, round int) (done []record.Trial, err error) {
	began := time.Now()
	var able plan.Contest
	var in []*session
	for _, c := range part.Cells {
		s := stand[plan.Place(c)]
		switch {
		case s == nil: // it could not be built
		case s.broke != nil:
			done = append(done, unusable([]record.Cell{c}, began, s.broke)...)
		default:
			able.Cells, in = append(able.Cells, c), append(in, s)
		}
	}
	if len(able.Cells) == 0 {
		return done, nil
	}
	if r.Watch != nil {
		r.Watch.Begin(able.Cells)
	}
	var trials []record.Trial
	if len(part.Cells) > 1 {
		trials = r.turns(ctx, able, in, round)
	} else {
		trials = []record.Trial{in[0].trial(ctx, able.Cells[0], began.Add(-in[0].untold()))}
	}
	for i := range trials {
		t, s := &trials[i], in[i]
		if ctx.Err() != nil && t.Status != record.OK {
			continue // interrupted: this is no failure of the network
		}
		if !s.told {
			t.Settle, s.told = s.settling, true
		}
		s.broke = s.fault(ctx, t)
		done = append(done, *t)
	}
	return done, nil
}

// untold is what it took to build the network, once: its first trial tells it.
func (s *session) untold() time.Duration {
	took := s.took
	s.took = 0
	return took
}

// gone waits until nothing is left of the network that was visited last: a kernel that
// still removes it has less time for what is measured next, and is not idle when it is
// watched. Where that takes too long, it shows in what is measured.
func (r *Runner) gone(ctx context.Context, v plan.Visit) {
	if l, ok := r.Networks[v.Network].Platform.(platform.Lingerer); ok {
		_ = l.Gone(ctx)
	}
}

func (r *Runner) build(ctx context.Context, v plan.Visit) (n *network.Network, topo network.Topology, err error) {
	recipe, ok := r.Networks[v.Network]
	if !ok {
		return nil, topo, fmt.Errorf("no network %s", v.Network)
	}
	shape, err := v.Shape()
	if err != nil {
		return nil, topo, err
	}
	topo = network.Topology{
		Hosts: v.Hosts, Servers: v.Servers, Clients: v.Clients,
		Processes: v.Processes, Neighbours: v.Neighbours, Rules: v.Rules,
		Underlay: platform.Underlay{Rate: shape.Rate, Delay: shape.Delay, MTU: v.MTU},
	}
	limit := r.within(buildTime, topo)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the network was not built within %v", limit))
	defer cancel()
	if err := r.probe(ctx, v.Network, recipe); err != nil {
		return nil, topo, err
	}
	n, err = recipe.Driver.Connect(ctx, topo, recipe.Platform)
	return n, topo, err
}

// session is a network at work, with the agents in it.
type session struct {
	r       *Runner
	network *network.Network
	topo    network.Topology
	agents  *agents
	rests   bool // connections rest while others have their turn; the endpoints are nettoll's own

	took        time.Duration           // to build it, until a trial has told
	broke       error                   // what it needs and has lost
	settling    *record.Settle          // what the network did until it was silent; nil: not known
	unheard     error                   // why it is not known
	told        bool                    // a trial has that
	greeted     map[network.Family]bool // over which a packet has crossed between all pairs
	conditioned bool                    // the endpoints are what the cells want them to be
	known       map[string]device       // of hosts, by "<host>/<device>", once they have been read
	indexes     map[string]int          // theirs
}

func (s *session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.r.within(closeTime, s.topo))
	defer cancel()
	return errors.Join(s.agents.close(), s.network.Close(ctx))
}

func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(c rune) bool { return c == '\n' }), "; ")
}
