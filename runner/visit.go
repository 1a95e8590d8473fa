package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nettoll/internal/emulated"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/technique"
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
func (r *Runner) within(bound time.Duration, t technique.Topology) time.Duration {
	return r.patience(bound + time.Duration(t.Servers+t.Clients+t.Neighbours)*containerTime)
}

// patience is how long may be waited for what takes no longer on ordinary machines.
func (r *Runner) patience(bound time.Duration) time.Duration {
	if r.Machine.Virtual == record.Emulated {
		bound *= emulated.Slowness
	}
	return bound
}

// visit builds a network, measures its cells and takes it down again. A network
// is built anew in every round, so that what differs from build to build is part
// of the interval.
func (r *Runner) visit(ctx context.Context, v plan.Visit, place *order) (ran int, err error) {
	began := time.Now()
	n, topo, err := r.build(ctx, v)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil
		}
		for _, t := range unusable(v.Cells, began, err) {
			if err := r.save(t, place); err != nil {
				return ran, err
			}
			ran++
		}
		return ran, nil
	}
	s := &session{r: r, network: n, topo: topo, agents: newAgents()}
	s.settling, s.unheard = s.settle(ctx, v)
	for i, c := range v.Cells {
		if ctx.Err() != nil {
			break
		}
		if r.Watch != nil {
			r.Watch.Begin(c)
		}
		t := s.trial(ctx, c, began)
		if i == 0 {
			t.Settle = s.settling
		}
		if ctx.Err() != nil && t.Status != record.OK {
			break // interrupted: this is no failure of the network
		}
		broke := s.fault(ctx, &t)
		if err := r.save(t, place); err != nil {
			return ran, errors.Join(err, s.close(ctx))
		}
		ran++
		began = time.Now()
		if broke == nil {
			continue
		}
		for _, t := range unusable(v.Cells[i+1:], began, broke) {
			if err := r.save(t, place); err != nil {
				return ran, errors.Join(err, s.close(ctx))
			}
			ran++
		}
		break
	}
	if err := s.close(ctx); err != nil {
		return ran, fmt.Errorf("%s: take down: %w", v.Network, err)
	}
	return ran, nil
}

// gone waits until nothing is left of the network that was visited last: a kernel that
// still removes it has less time for what is measured next, and is not idle when it is
// watched. Where that takes too long, it shows in what is measured.
func (r *Runner) gone(ctx context.Context, v plan.Visit) {
	if l, ok := r.Networks[v.Network].Platform.(platform.Lingerer); ok {
		_ = l.Gone(ctx)
	}
}

func (r *Runner) build(ctx context.Context, v plan.Visit) (n technique.Network, topo technique.Topology, err error) {
	recipe, ok := r.Networks[v.Network]
	if !ok {
		return nil, topo, fmt.Errorf("no network %s", v.Network)
	}
	shape, err := plan.ParseUnderlay(v.Underlay)
	if err == nil && shape.Instance != "" && shape.Rate == 0 && shape.Delay == 0 {
		err = fmt.Errorf("underlay %s has no shape; write its rate, as in %s:rate=1gbit", v.Underlay, v.Underlay)
	}
	if err != nil {
		return nil, topo, err
	}
	topo = technique.Topology{
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
	n, err = recipe.Technique.Connect(ctx, topo, recipe.Platform)
	return n, topo, err
}

// session is a network at work, with the agents in it.
type session struct {
	r       *Runner
	network technique.Network
	topo    technique.Topology
	agents  *agents

	settling    *record.Settle            // what the network did until it was silent; nil: not known
	unheard     error                     // why it is not known
	greeted     map[technique.Family]bool // over which a packet has crossed between all pairs
	conditioned bool                      // the endpoints are what the cells want them to be
	known       map[string]device         // of hosts, by "<host>/<device>", once they have been read
	indexes     map[string]int            // theirs
}

func (s *session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.r.within(closeTime, s.topo))
	defer cancel()
	return errors.Join(s.agents.close(), s.network.Close(ctx))
}

func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(c rune) bool { return c == '\n' }), "; ")
}
