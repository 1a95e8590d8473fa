package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/emulated"
	"nettoll/internal/oneline"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
)

// buildTime bounds the building of one network. closeTime bounds taking it down, which continues
// after an interrupt. Both are extended by containerTime for each container, since an engine on a
// busy machine takes a second to start one, and by twice what conditions take.
const (
	buildTime     = 2 * time.Minute // longer than any of its parts may take, whose errors say more
	closeTime     = time.Minute
	containerTime = 2 * time.Second
)

// within returns a time limit, extended for the containers and the conditions of a network.
func (r *Runner) within(bound time.Duration, t network.Topology) time.Duration {
	bound += time.Duration(t.Servers+t.Clients+t.Neighbours) * containerTime
	for _, d := range record.Dimensions(record.Condition) {
		bound += 2 * d.Longer(record.Cell{Setup: t.Setup})
	}
	return r.patience(bound)
}

// patience returns a time limit that is adequate for ordinary machines, extended on emulated ones.
func (r *Runner) patience(bound time.Duration) time.Duration {
	if r.Machine.Virtual == record.Emulated {
		bound *= emulated.Slowness
	}
	return bound
}

// group builds networks, measures their cells and takes the networks down again. All stand at the
// same time. They are built anew in every round, so that differences between builds are part of
// the interval.
func (r *Runner) group(ctx context.Context, g plan.Group, place *order) (ran int, err error) {
	stand := map[record.Cell]*session{} // by what their cells have in common
	defer func() { err = errors.Join(err, r.closeAll(ctx, g.Visits, stand)) }()
	save := func(all ...record.Trial) (err error) {
		for _, t := range all { // also after an error: there may be room for another one
			t.Part = g.Part(t.Cell)
			fault := r.save(t, place)
			if err = cmp.Or(err, fault); fault == nil {
				ran++
			}
		}
		return err
	}
	all := r.buildAll(ctx, g)
	for i, v := range g.Visits {
		if s := all[i]; s.network != nil && s.broke == nil {
			stand[v.Cell] = s
		}
	}
	work := record.Most(all, func(s *session) time.Duration { return s.took }) // building the network that took longest
	patience := patienceAfter(max(work, r.work))
	r.work = work
	each(g.Visits, func(i int, v plan.Visit) { // all at the same time, as they have to be silent together
		if s := all[i]; s.broke == nil && s.unheard == nil && ctx.Err() == nil {
			began := time.Now()
			s.settling, s.unheard = s.settle(ctx, v, patience)
			s.took += time.Since(began)
		}
	})
	for i, v := range g.Visits {
		if s := all[i]; s.broke != nil && ctx.Err() == nil {
			if err := save(unusable(v.Cells, s.began, s.broke)...); err != nil {
				return ran, err
			}
		}
	}
	for _, c := range r.contests(g, place.round) {
		if ctx.Err() != nil || r.hurry() {
			break
		}
		if err := save(r.contest(ctx, c, stand, place.round)...); err != nil {
			return ran, err
		}
	}
	if len(stand) == 0 {
		return ran, nil
	}
	return ran, r.watchStanding(ctx, g)
}

// builtAtOnce is how many networks are built, or taken down, at the same time. Most of that time is
// spent waiting: for the kernel, for daemons, for an engine. With more, some would wait for a CPU for
// longer than they should take.
const builtAtOnce = 8

// each calls do for every network, for several at the same time.
func each(visits []plan.Visit, do func(i int, v plan.Visit)) {
	atonce.Each(builtAtOnce, visits, func(i int, v plan.Visit) error {
		do(i, v) // it reports errors itself
		return nil
	})
}

// buildAll builds networks and starts their agents, unless ctx has ended.
func (r *Runner) buildAll(ctx context.Context, g plan.Group) []*session {
	all := make([]*session, len(g.Visits))
	build := func(i int, v plan.Visit) {
		s := &session{r: r, agents: agents{}, had: map[string]string{}, began: time.Now()}
		if all[i] = s; ctx.Err() == nil {
			if s.network, s.topo, s.broke = r.build(ctx, v); s.broke == nil {
				s.unheard = s.wake(ctx, v)
			}
			s.took = time.Since(s.began)
		}
	}
	timed := func(v plan.Visit) bool { return v.Timed(r.Networks[v.Network].Driver.Has) }
	each(g.Visits, func(i int, v plan.Visit) {
		if !timed(v) {
			build(i, v)
		}
	})
	for i, v := range g.Visits {
		if timed(v) {
			build(i, v)
		}
	}
	return all
}

// closeAll takes networks down, in the same way as buildAll builds them.
func (r *Runner) closeAll(ctx context.Context, visits []plan.Visit, stand map[record.Cell]*session) error {
	return errors.Join(atonce.Each(builtAtOnce, visits, func(_ int, v plan.Visit) error {
		s := stand[v.Cell]
		if s == nil {
			return nil
		}
		return wrap.Error(s.close(ctx), "%s: take down", v.Network)
	})...)
}

// contests returns what is measured one after the other in a group, in random order: contests and
// single cells. Single cells that are compared with each other are measured in direct succession.
func (r *Runner) contests(g plan.Group, round int) []plan.Contest {
	rnd := plan.Chance(r.Settings, round, "parts of a group")
	all := record.Each(g.Contests, func(c plan.Contest) []plan.Contest { return []plan.Contest{c} })
	for _, alike := range plan.Alike(g.Whole) {
		all = append(all, record.Each(alike.Beside(rnd), func(c record.Cell) plan.Contest { return plan.Contest{Cells: []record.Cell{c}} }))
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return slices.Concat(all...)
}

// errRelayed is why networks take no turns if it is known only when they stand that one of them cannot: see plan.Able.
var errRelayed = errors.New("no turns were taken, since a process on the path of one of the networks uses the machine's own congestion control")

// contest measures the cells of a contest, or a single cell, in networks that stand. A cell of a
// network that has broken gets a trial that says why.
func (r *Runner) contest(ctx context.Context, of plan.Contest, stand map[record.Cell]*session, round int) (done []record.Trial) {
	began := time.Now()
	var able plan.Contest
	var in []*session
	for _, c := range of.Cells {
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
		return done
	}
	if r.Watch != nil {
		r.Watch.Begin(able.Cells)
	}
	var trials []record.Trial
	switch {
	case len(of.Cells) == 1:
		trials = []record.Trial{in[0].trial(ctx, able.Cells[0], began.Add(-in[0].untold()))}
	case slices.ContainsFunc(in, func(s *session) bool { return s.network.Relays }):
		trials = r.insteadOfTurns(ctx, able, in, round, errRelayed)
	default:
		trials, _ = r.turns(ctx, able, in, round, time.Time{})
	}
	for i := range trials {
		t, s := &trials[i], in[i]
		if ctx.Err() != nil && t.Status != record.OK {
			continue // interrupted: this is not a failure of the network
		}
		if !s.told {
			t.Settle, s.told = s.settling, true
			if in := s.network.InForce; in != (record.InForce{}) {
				t.InForce = &in
			}
		}
		s.broke = s.fault(ctx, t)
		done = append(done, *t)
	}
	return done
}

// untold returns the time it took to build and settle the network at its first call, for the first
// trial to include, and 0 after that.
func (s *session) untold() time.Duration {
	took := s.took
	s.took = 0
	return took
}

// gone waits until nothing is left of the networks that were visited last: while the kernel still
// removes it, the next measurement has less CPU time, and the machine is not idle when it is watched.
// If waiting takes too long, the effect shows in the measurements.
func (r *Runner) gone(ctx context.Context, g plan.Group) {
	for _, on := range record.Distinct(g.Visits, func(v plan.Visit) platform.Platform { return r.Networks[v.Network].Platform }) {
		if on == nil {
			continue
		}
		if gone := on.Info().Gone; gone != nil {
			_ = gone(ctx)
		}
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
		Processes: v.Processes, Setup: v.Setup,
		Underlay: platform.Underlay{Rate: shape.Rate, Delay: shape.Delay, MTU: v.MTU},
	}
	limit := r.within(buildTime+recipe.Platform.Info().Starts, topo)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the network was not built within %v", limit))
	defer cancel()
	if err := r.probe(ctx, v.Network, recipe); err != nil {
		return nil, topo, err
	}
	n, err = recipe.Driver.Connect(ctx, topo, recipe.Platform)
	if err == nil {
		topo.FirstPort = n.FirstPort
	}
	return n, topo, err
}

// session is a network in use, with the agents in it.
type session struct {
	r       *Runner
	network *network.Network
	topo    network.Topology
	agents  agents

	began       time.Time               // when building it began
	took        time.Duration           // building and settling it; 0 once a trial includes that
	broke       error                   // why it could not be built, or what it needs and has lost
	born        moment                  // when it had been built
	settling    *record.Settle          // what the network did until it was silent; nil: not known
	unheard     error                   // why that is not known
	told        bool                    // a trial has recorded settling, and what was measured when the network was built
	greeted     map[network.Family]bool // families over which a packet has crossed between all pairs
	conditioned bool                    // the endpoints are in the state that the cells require
	restores    []func() error          // of devices of hosts that were changed for that
	had         map[string]string       // settings that must stay as they were; see altered
	known       map[string]device       // of hosts, by "<host>/<device>", once they have been read
	indexes     map[string]int          // of the known devices
}

func (s *session) close(ctx context.Context) error {
	limit := s.r.within(closeTime, s.topo)
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, fmt.Errorf("it took more than %v", limit))
	defer cancel()
	errs := []error{s.agents.close()}
	for _, restore := range s.restores {
		errs = append(errs, restore())
	}
	return errors.Join(append(errs, s.network.Close(ctx))...)
}

// Recipe is how a network is built: by which driver, on which platform.
type Recipe struct {
	Platform platform.Platform
	Driver   network.Driver
}

// probe finds out whether a network can be built here. Its platform is probed until it has
// succeeded or reported that it is not supported, its driver until it has succeeded.
func (r *Runner) probe(ctx context.Context, name string, recipe Recipe) error {
	r.probing.Lock()
	defer r.probing.Unlock()
	on := recipe.Platform.Info().Name
	err, asked := r.usable[on]
	if !asked {
		err = recipe.Platform.Probe(ctx)
		if err == nil || errors.Is(err, platform.ErrUnsupported) {
			r.usable[on] = err // any other error may be gone in the next round
		}
	}
	if err != nil || r.probed[name] {
		return err
	}
	if err := recipe.Driver.Probe(ctx, recipe.Platform); err != nil {
		return err
	}
	r.probed[name] = true
	return nil
}

// faultTime bounds the search for a fault of a network.
const faultTime = 15 * time.Second

// fault asks the network whether something that it needs has broken, and notes that on the trial:
// as the reason if the trial failed, as a warning otherwise. A network that carries its payload in
// another way than it claims makes the trial invalid. The error is returned if the trial failed
// with it: any further trial in this network would fail, too.
func (s *session) fault(ctx context.Context, t *record.Trial) error {
	if t.Status == record.Skipped {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), faultTime)
	defer cancel()
	err := s.network.Broken(ctx)
	var wrong *network.WrongPath
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		t.Reason = joined(wrong.Finding, t.Reason)
		if t.Status == record.OK {
			t.Status = record.Invalid
		}
		return nil
	case t.Status == record.Failed:
		t.Reason = joined(oneline.Errors(err.Error()), t.Reason)
		return err
	default:
		t.Warnings = append(t.Warnings, record.Warning{Code: record.WarnFault, Text: oneline.Errors(err.Error())})
		return nil
	}
}

// joined puts the cause before its symptom.
func joined(cause, seen string) string {
	if seen == "" {
		return cause
	}
	return cause + " (seen as: " + seen + ")"
}
