package runner_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload/engine"
	"nettoll/workload/workloadtest"
)

// watched is a lab that remembers the agents of its containers.
type watched struct {
	*lab.Lab
	mu     sync.Mutex
	agents map[string]platform.Process // the latest, by container
}

func (w *watched) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	h, err := w.Lab.Hosts(ctx, req)
	return watchedHosts{h, w}, err
}

type watchedHosts struct {
	platform.Hosts
	w *watched
}

func (h watchedHosts) All() (all []platform.Host) {
	for _, one := range h.Hosts.All() {
		all = append(all, watchedHost{one, h.w})
	}
	return all
}

type watchedHost struct {
	platform.Host
	w *watched
}

func (h watchedHost) Containers(ctx context.Context, n int) ([]platform.Endpoint, error) {
	all, err := h.Host.Containers(ctx, n)
	for i := range all {
		all[i] = watchedContainer{all[i], h.w}
	}
	return all, err
}

type watchedContainer struct {
	platform.Endpoint
	w *watched
}

func (c watchedContainer) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	p, err := c.Endpoint.Start(ctx, cmd)
	if err == nil {
		c.w.mu.Lock()
		c.w.agents[c.Name()] = p
		c.w.mu.Unlock()
	}
	return p, err
}

func TestAgentThatDiesFailsItsTrialOnly(t *testing.T) {
	for _, victim := range []string{"h1c1", "h1c2"} { // server, client
		t.Run(victim, func(t *testing.T) {
			p := &watched{Lab: lab.New(), agents: map[string]platform.Process{}}
			var first, second record.Trial
			// On a busy machine the next trial may fail as well, or the first one begin again with another agent.
			for range 3 {
				tool := workloadtest.Disturbed(engine.New(), func() {
					p.mu.Lock()
					defer p.mu.Unlock()
					iferr.Error(t, p.agents[victim].Kill())
				})
				trials := measure(t, p, tool, kernel.Bridge(), 4, 6)
				if first, second = trials[0], trials[1]; first.Status == record.Failed && second.Status == record.OK {
					break
				}
			}
			if first.Status != record.Failed || !strings.Contains(first.Reason, victim) || !strings.Contains(first.Reason, "killed") || strings.Contains(first.Reason, "\n") {
				t.Errorf("%s with reason %q, want failed with one line that says that the agent in %s was killed", first.Status, first.Reason, victim)
			}
			if first.Metrics != nil {
				t.Errorf("the failed trial has figures: %v", first.Metrics)
			}
			if second.Status != record.OK {
				t.Errorf("the next trial: %s: %s", second.Status, second.Reason)
			}
		})
	}
}
