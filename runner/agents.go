package runner

import (
	"context"
	"errors"

	"nettoll/agent"
	"nettoll/platform"
)

// agents are the agents of one network: one for each endpoint and role, so that
// the CPU time of client and server is told apart even where both run in one
// place. They are kept for all trials of a visit.
type agents struct {
	all map[seat]*Manned
}

type seat struct {
	endpoint platform.Endpoint
	role     string
	process  int // of several clients in one container
}

func newAgents() *agents { return &agents{all: map[seat]*Manned{}} }

// Manned is an endpoint with an agent in it.
type Manned struct {
	platform.Endpoint
	client *agent.Client
}

// man gives the endpoint of a role and process, always the same one.
func (a *agents) man(e platform.Endpoint, role string, process int) *Manned {
	k := seat{e, role, process}
	if a.all[k] == nil {
		a.all[k] = &Manned{Endpoint: e}
	}
	return a.all[k]
}

// Agent gives the running agent, which belongs to the runner. One that has ended
// is replaced.
func (m *Manned) Agent(ctx context.Context) (*agent.Client, error) {
	if m.client != nil {
		select {
		case <-m.client.Done():
			m.client = nil
		default:
			return m.client, nil
		}
	}
	var err error
	m.client, err = agent.Start(ctx, m.Endpoint)
	return m.client, err
}

// Call asks the agent of an endpoint.
func (m *Manned) Call(ctx context.Context, method string, in, out any) error {
	c, err := m.Agent(ctx)
	if err != nil {
		return err
	}
	return c.Call(ctx, method, in, out)
}

func (a *agents) close() error {
	var errs []error
	for _, m := range a.all {
		if m.client != nil {
			errs = append(errs, m.client.Close())
		}
	}
	return errors.Join(errs...)
}
