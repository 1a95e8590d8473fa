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
	all map[seat]*AgentEndpoint
}

type seat struct {
	endpoint platform.Endpoint
	role     string
	process  int // of several clients in one container
}

func newAgents() *agents { return &agents{all: map[seat]*AgentEndpoint{}} }

// AgentEndpoint is an endpoint with an agent in it.
type AgentEndpoint struct {
	platform.Endpoint
	client *agent.Client
}

// in gives the endpoint of a role and process, always the same one.
func (a *agents) in(e platform.Endpoint, role string, process int) *AgentEndpoint {
	k := seat{e, role, process}
	if a.all[k] == nil {
		a.all[k] = &AgentEndpoint{Endpoint: e}
	}
	return a.all[k]
}

// Agent gives the running agent, which belongs to the runner. One that has ended
// is replaced.
func (m *AgentEndpoint) Agent(ctx context.Context) (*agent.Client, error) {
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
func (m *AgentEndpoint) Call(ctx context.Context, method string, in, out any) error {
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
