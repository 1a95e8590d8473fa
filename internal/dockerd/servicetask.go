package dockerd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"nettoll/agent"
)

// taskTime is how long a task may take until it runs: seconds, but for an emulated machine.
const taskTime = 2 * time.Minute

// running waits for the service's task, and gives its container.
func (s *Swarm) running(ctx context.Context, service string) (string, error) {
	filters := make(client.Filters).Add("service", service)
	for deadline := time.Now().Add(taskTime); ; {
		res, err := s.Manager.Engine.Client.TaskList(ctx, client.TaskListOptions{Filters: filters})
		if err != nil {
			return "", brief(err)
		}
		state := "no task was made"
		for _, t := range res.Items {
			state = fmt.Sprintf("its task is %s", t.Status.State)
			if t.Status.Err != "" {
				state += ": " + t.Status.Err
			}
			switch t.Status.State {
			case swarm.TaskStateRunning:
				if t.Status.ContainerStatus != nil {
					return t.Status.ContainerStatus.ContainerID, nil
				}
			case swarm.TaskStateFailed, swarm.TaskStateRejected, swarm.TaskStateComplete, swarm.TaskStateShutdown, swarm.TaskStateOrphaned:
				return "", brief(errors.New(state))
			}
		}
		if time.Now().After(deadline) {
			return "", brief(fmt.Errorf("after %v %s", taskTime, state))
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%s: %w", state, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// adopt makes a container of one that the swarm has started.
func (h *Host) adopt(ctx context.Context, name, id, net string) (*Container, error) {
	c := &Container{engine: h.Engine, name: name, host: h.name, id: id, shown: h.reachable()}
	state, err := h.Engine.Client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return nil, brief(err)
	}
	c.pid, c.nets = state.Container.State.Pid, state.Container.NetworkSettings.Networks
	maps.DeleteFunc(c.nets, func(on string, _ *network.EndpointSettings) bool { return on != net })
	c.first, err = agent.Start(ctx, c)
	return c, err
}

// removeService removes a service. Its tasks are told to end, and their containers
// stay with their engines.
func (e *Engine) removeService(ctx context.Context, id string) error {
	_, err := e.Client.ServiceRemove(ctx, id, client.ServiceRemoveOptions{})
	if err == nil || gone(err) {
		return nil
	}
	return fmt.Errorf("docker: remove service: %w", brief(err))
}

// removeTasks removes the containers of a service.
func (e *Engine) removeTasks(ctx context.Context, service string) error {
	res, err := e.Client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", "com.docker.swarm.service.id="+service),
	})
	if err != nil {
		return fmt.Errorf("docker: list the containers of a service: %w", brief(err))
	}
	var errs []error
	for _, c := range res.Items {
		errs = append(errs, (&Container{engine: e, name: "of a service", id: c.ID}).remove(ctx))
	}
	return errors.Join(errs...)
}

// vip is the service's own address on a network.
func (s *Swarm) vip(ctx context.Context, service, net string) (netip.Addr, error) {
	cl := s.Manager.Engine.Client
	on, err := cl.NetworkInspect(ctx, net, client.NetworkInspectOptions{})
	if err != nil {
		return netip.Addr{}, brief(err)
	}
	res, err := cl.ServiceInspect(ctx, service, client.ServiceInspectOptions{})
	if err != nil {
		return netip.Addr{}, brief(err)
	}
	for _, v := range res.Service.Endpoint.VirtualIPs {
		if v.NetworkID == on.Network.ID {
			return v.Addr.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("the swarm gave it no address on %s", net)
}
