package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"nettoll/agent"
	"nettoll/internal/atonce"
	"nettoll/record"
	"nettoll/workload"
)

// answerLimit bounds how long an agent may take to answer, in addition to the requested work. It is for an
// agent that hangs, or the path to which is lost; that one has ended shows at once. A busy machine, or one whose hypervisor
// pauses it, leaves an agent or its ssh without a CPU for seconds, which is no reason to lose a trial.
const answerLimit = 15 * time.Second

// deathNotice is how long after a failure to wait for news of an agent's death, which explains it
// better. If a connection was closed, an agent has most likely died, and a busy machine may tell of it
// late.
func deathNotice(of error) time.Duration {
	if strings.Contains(of.Error(), otherEndClosed) {
		return 5 * time.Second
	}
	return 250 * time.Millisecond
}

// answerLimit is longer for trials with many flows, which share the agents' CPUs.
func (t *trial) answerLimit() time.Duration {
	return answerLimit + time.Duration(len(t.flows)-1)*flowLimit
}

func (t *trial) handshakeLimit() time.Duration {
	return handshakeLimit + time.Duration(len(t.flows)-1)*flowLimit
}

// summon finds an agent for each party: that of a workload.Agenter, which must serve Handlers, or a
// new one for the trial. A party whose agent already takes part in the trial gets a new one too,
// because the CPU time of two parties in one process cannot be separated.
func (t *trial) summon(ctx context.Context) error {
	var mu sync.Mutex
	taken := map[*agent.Client]bool{}
	return t.each(ctx, t.parties(), func(ctx context.Context, p *party) (err error) {
		if has, ok := p.endpoint.(workload.Agenter); ok {
			c, err := has.Agent(ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			free := !taken[c]
			taken[c] = true
			mu.Unlock()
			if free {
				p.agent = c
				return nil
			}
		}
		p.agent, err = agent.Start(ctx, p.endpoint)
		p.owned = err == nil
		return err
	})
}

func (t *trial) serve(ctx context.Context) error {
	return t.each(ctx, t.servers, func(ctx context.Context, p *party) error {
		return p.call(ctx, t.answerLimit(), methodServe, t.openParams(p), &p.opened)
	})
}

func (t *trial) connect(ctx context.Context) error {
	return t.each(ctx, t.clients, func(ctx context.Context, p *party) error {
		return p.call(ctx, 2*t.handshakeLimit()+t.answerLimit(), methodConnect, t.openParams(p), &p.opened)
	})
}

func (t *trial) openParams(p *party) openParams {
	return openParams{
		Session:  p.session,
		Workload: t.traffic.name,
		Options:  t.options,
		Cookie:   t.cookie,
		Limit:    t.handshakeLimit(),
		Flows:    p.flows,
		Listen:   p.listen,
	}
}

// window starts all parties and returns when all of their windows are over.
func (t *trial) window(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := t.lead()
	begins, opens := nanotime()+int64(ahead), time.Now().Add(ahead+t.job.Warmup)
	var watching sync.WaitGroup
	watching.Go(func() { t.job.Watch.Over(ctx, opens, t.job.Duration) })
	limit := ahead + t.job.Warmup + t.job.Duration + lastWait + t.answerLimit()
	err := t.each(ctx, t.parties(), func(ctx context.Context, p *party) error {
		start := startParams{Session: p.session, Begins: p.at(begins), Warmup: t.job.Warmup, Duration: t.job.Duration}
		return p.start(ctx, limit, start)
	})
	if err != nil {
		cancel()
	}
	watching.Wait()
	return err
}

// stop ends the sessions, the clients' first: a server takes a closed connection for the end of its
// flow.
func (t *trial) stop(ctx context.Context) error {
	return record.Try([][]*party{t.clients, t.servers}, func(parties []*party) error { return t.each(ctx, parties, t.stopParty) })
}

func (t *trial) stopParty(ctx context.Context, p *party) error {
	return p.call(ctx, t.answerLimit(), methodStop, stopParams{Session: p.session}, &p.left)
}

// abandon ends the sessions of a failed trial in agents that continue to live. Their errors add
// nothing to the one that is reported.
func (t *trial) abandon(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	t.all(func(p *party) {
		if p.agent != nil && !p.owned {
			_ = t.stopParty(ctx, p)
		}
	})
}

// dismiss ends the agents that were started for the trial.
func (t *trial) dismiss() {
	t.all(func(p *party) {
		if p.owned {
			p.agent.Close() // an error here does not affect the figures, which the trial has
		}
	})
}

// all runs a function for all parties at once.
func (t *trial) all(do func(*party)) {
	var doing sync.WaitGroup
	for _, p := range t.parties() {
		doing.Go(func() { do(p) })
	}
	doing.Wait()
}

// each runs a function for the given parties at once. The first failure ends the others and is
// returned.
func (t *trial) each(ctx context.Context, parties []*party, do func(context.Context, *party) error) error {
	return atonce.All(ctx, -1, parties, func(inner context.Context, _ int, p *party) error {
		err := do(inner, p)
		ended := inner.Err() != nil && ctx.Err() == nil // by the failure of another
		if err == nil || ended {
			return err
		}
		return t.explain(ctx, fmt.Errorf("%v: %w", p, err))
	})
}

// explain prefers the cause of a failure to its consequence: that the caller gave up, or that an
// agent has ended.
func (t *trial) explain(ctx context.Context, err error) error {
	for deadline := time.Now().Add(deathNotice(err)); ; time.Sleep(10 * time.Millisecond) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, p := range t.parties() {
			if p.agent != nil && p.agent.Err() != nil {
				return fmt.Errorf("%v: %w", p, p.agent.Err())
			}
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// call calls a method of the party's agent, which has to answer within the limit.
func (p *party) call(ctx context.Context, limit time.Duration, method string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	return p.agent.Call(ctx, method, in, out)
}

// start has the party's flows run, and returns when their windows are over, or with a
// workload.ErrLate.
func (p *party) start(ctx context.Context, limit time.Duration, params startParams) error {
	if err := p.call(ctx, limit, methodStart, params, &p.window); err != nil {
		return err
	}
	if p.window.Late > 0 {
		return fmt.Errorf("%w: it was told to start %v after the window had opened", workload.ErrLate, p.window.Late)
	}
	return nil
}
