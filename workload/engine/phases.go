package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nettoll/agent"
	"nettoll/workload"
)

// Limits of how long an agent may take to answer, over what it was asked to do.
const (
	answerLimit = 5 * time.Second
	// deathNotice is how long after a failure the death of an agent, which
	// explains it better, may become known.
	deathNotice = 250 * time.Millisecond
)

// answerLimit is longer for trials whose many flows share the agents' CPUs.
func (t *trial) answerLimit() time.Duration {
	return answerLimit + time.Duration(len(t.flows)-1)*flowLimit
}

func (t *trial) handshakeLimit() time.Duration {
	return handshakeLimit + time.Duration(len(t.flows)-1)*flowLimit
}

// summon finds an agent for each party: that of a workload.Agenter, which must serve
// Handlers, or a new one for the trial. A party whose agent has a part in the trial
// already gets a new one too, as the CPU time of two parts of one process cannot be
// told apart.
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

// window starts everybody and returns when everybody's window is over.
func (t *trial) window(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := t.lead()
	begins := nanotime() + int64(ahead)
	var watching sync.WaitGroup
	watching.Go(func() { watch(ctx, t.job, begins+int64(t.job.Warmup)) })
	limit := ahead + t.job.Warmup + t.job.Duration + lastWait + t.answerLimit()
	err := t.each(ctx, t.parties(), func(ctx context.Context, p *party) error {
		start := startParams{Session: p.session, Begins: p.clock.at(begins), Warmup: t.job.Warmup, Duration: t.job.Duration}
		return p.call(ctx, limit, methodStart, start, &p.window)
	})
	if err != nil {
		cancel()
	}
	watching.Wait()
	return err
}

// stop ends the sessions, the clients' first: a server takes a closed connection
// for the end of its flow.
func (t *trial) stop(ctx context.Context) error {
	for _, parties := range [][]*party{t.clients, t.servers} {
		if err := t.each(ctx, parties, t.stopParty); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) stopParty(ctx context.Context, p *party) error {
	return p.call(ctx, t.answerLimit(), methodStop, stopParams{Session: p.session}, &p.left)
}

// abandon ends what a failed trial has left in agents that live on. Their errors
// add nothing to the one that is reported.
func (t *trial) abandon(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	together(ctx, t.parties(), func(ctx context.Context, p *party) error {
		if p.agent == nil || p.owned {
			return nil
		}
		return t.stopParty(ctx, p)
	}, func(error) {})
}

// dismiss ends the agents that were started for the trial.
func (t *trial) dismiss() {
	together(context.Background(), t.parties(), func(_ context.Context, p *party) error {
		if p.owned {
			p.agent.Close() // the trial has its figures; a slow end changes none
		}
		return nil
	}, func(error) {})
}

// each does something with all parties at once. The first failure ends the others
// and is returned.
func (t *trial) each(ctx context.Context, parties []*party, do func(context.Context, *party) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var first error
	together(inner, parties, do, func(err error) {
		if first == nil {
			first = t.explain(ctx, err)
			cancel()
		}
	})
	return first
}

// together does something with all parties at once and hands over what failed,
// one error after the other.
func together(ctx context.Context, parties []*party, do func(context.Context, *party) error, failed func(error)) {
	errs := make(chan error, len(parties))
	for _, p := range parties {
		go func() {
			err := do(ctx, p)
			if err != nil {
				err = fmt.Errorf("%v: %w", p, err)
			}
			errs <- err
		}()
	}
	for range parties {
		if err := <-errs; err != nil {
			failed(err)
		}
	}
}

// explain prefers the reason of a failure to its consequence: that the caller gave
// up, or that an agent has ended.
func (t *trial) explain(ctx context.Context, err error) error {
	for deadline := time.Now().Add(deathNotice); ; time.Sleep(deathNotice / 25) {
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

// call asks the party's agent, which has to answer within the limit.
func (p *party) call(ctx context.Context, limit time.Duration, method string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	return p.agent.Call(ctx, method, in, out)
}
