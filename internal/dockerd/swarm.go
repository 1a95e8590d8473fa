package dockerd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
)

// Swarm is the swarm that engines are nodes of.
type Swarm struct {
	// Manager is an engine that takes orders for the whole swarm.
	Manager *Host

	nodes map[*Host]string // ids
}

// SwarmHosts are hosts whose engines are nodes of one swarm.
type SwarmHosts interface {
	Hosts
	Swarm() *Swarm
}

// FindSwarm asks engines for the swarm that they are part of. The error says in one line
// which of them is in none, in another one or not ready, or that none of them is a
// manager.
func FindSwarm(ctx context.Context, hosts []*Host) (*Swarm, error) {
	s := &Swarm{nodes: map[*Host]string{}}
	names := map[*Host]string{}
	for _, h := range hosts {
		res, err := h.info(ctx)
		if err != nil {
			return nil, fmt.Errorf("docker: ask engine %s for its swarm: %w", h.name, brief(err))
		}
		i := res.Info.Swarm
		names[h] = fmt.Sprintf("engine %s (on %s)", h.name, res.Info.Name)
		if err := active(i); err != nil {
			return nil, fmt.Errorf("docker: %s %w", names[h], err)
		}
		s.nodes[h] = i.NodeID
		if s.Manager == nil && i.ControlAvailable {
			s.Manager = h
		}
	}
	if s.Manager == nil {
		return nil, errors.New("docker: none of the engines is a manager of its swarm, which alone makes networks and services")
	}
	return s, s.ready(ctx, hosts, names)
}

// info asks the engine of itself. One that does not answer is given up on.
func (h *Host) info(ctx context.Context) (client.SystemInfoResult, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTime)
	defer cancel()
	return h.Engine.Client.Info(ctx, client.InfoOptions{})
}

// active says what keeps an engine from being a node.
func active(i swarm.Info) error {
	switch i.LocalNodeState {
	case swarm.LocalNodeStateActive:
		return nil
	case swarm.LocalNodeStateInactive, "":
		return errors.New("is not part of a swarm")
	case swarm.LocalNodeStateLocked:
		return errors.New("is part of a swarm that is locked")
	}
	if i.Error != "" {
		return fmt.Errorf("is not at work in its swarm: %w", brief(errors.New(i.Error)))
	}
	return fmt.Errorf("is not at work in its swarm: its state is %s", i.LocalNodeState)
}

// ready says what is wrong with nodes by what their manager knows of them.
func (s *Swarm) ready(ctx context.Context, hosts []*Host, names map[*Host]string) error {
	known, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		switch n, ok := known[s.nodes[h]]; {
		case !ok:
			return fmt.Errorf("docker: %s is part of another swarm than %s", names[h], names[s.Manager])
		case n.Status.State != swarm.NodeStateReady:
			return fmt.Errorf("docker: the swarm's manager says that %s is %s", names[h], describe(n.Status))
		}
	}
	return nil
}

// describe is the state of a node in words.
func describe(s swarm.NodeStatus) string {
	if s.Message == "" {
		return string(s.State)
	}
	return fmt.Sprintf("%s: %s", s.State, s.Message)
}

// managerTime is how long a manager may take to answer: one whose swarm has lost its
// leader waits long.
const managerTime = 10 * time.Second

// list gives the swarm's nodes by their ids.
func (s *Swarm) list(ctx context.Context) (map[string]swarm.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTime)
	defer cancel()
	res, err := s.Manager.Engine.Client.NodeList(ctx, client.NodeListOptions{})
	if err != nil {
		return nil, fmt.Errorf("docker: ask the swarm's manager for its nodes: %w", brief(err))
	}
	all := map[string]swarm.Node{}
	for _, n := range res.Items {
		all[n.ID] = n
	}
	return all, nil
}

// Node is the id that the swarm knows a host's engine by.
func (s *Swarm) Node(h *Host) string { return s.nodes[h] }

// Forget leaves what was made on the host to the end of its engine.
func (h *Host) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holdings, h.outside = holdings{}, nil
}

// Settle returns when the engines have let go the networks of a run, which they do some
// time after the manager has.
func Settle(ctx context.Context, hosts []*Host) error {
	for _, h := range hosts {
		ours := make(client.Filters).Add("label", Label+"="+h.Engine.Run).Add("scope", "swarm")
		for {
			res, err := h.Engine.Client.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
			if err != nil {
				return fmt.Errorf("docker: list networks of %s: %w", h.name, brief(err))
			}
			if len(res.Items) == 0 {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("docker: %s has still the network %s: %w", h.name, res.Items[0].Name, context.Cause(ctx))
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}
