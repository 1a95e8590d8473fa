package dockerd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"nettoll/agent"
)

// Ingress is the network of every swarm that published ports lead over.
const Ingress = "ingress"

// ServiceSpec says what service is wanted: one task, on one node.
type ServiceSpec struct {
	Host    *Host  // whose engine is to run the task
	Network string // as Network has given it, or Ingress
	// VIP gives the service an address of its own, in front of its task's.
	VIP bool
	// Publish is the first and the last port, TCP and UDP, that all nodes lead to the
	// service (the routing mesh); zero publishes nothing.
	Publish [2]int
}

// Service is a service with its task at work.
type Service struct {
	Task *Container
	Name string     // that containers of its network know it by
	VIP  netip.Addr // on its network; the zero value where it has none
}

// Serve makes services, several at a time. Images are those that the nodes have: no
// registry is asked. All go with the hosts, also those of a call that failed.
func (s *Swarm) Serve(ctx context.Context, specs ...ServiceSpec) ([]*Service, error) {
	all, errs := make([]*Service, len(specs)), make([]error, len(specs))
	var starting sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, spec := range specs {
		name := spec.Host.Number()
		free <- struct{}{}
		starting.Go(func() {
			defer func() { <-free }()
			if all[i], errs[i] = s.serve(ctx, name, spec); errs[i] != nil {
				errs[i] = fmt.Errorf("docker: service %s: %w", name, errs[i])
			}
		})
	}
	starting.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *Swarm) serve(ctx context.Context, name string, spec ServiceSpec) (*Service, error) {
	h, m := spec.Host, s.Manager
	image, err := h.imageID(ctx)
	if err != nil {
		return nil, err
	}
	made, err := m.Engine.Client.ServiceCreate(ctx, client.ServiceCreateOptions{Spec: s.service(h.Engine.name(name), image, spec)})
	if err != nil {
		return nil, brief(err)
	}
	m.mu.Lock()
	m.services = append(m.services, made.ID)
	m.mu.Unlock()
	h.mu.Lock()
	h.tasks = append(h.tasks, made.ID)
	h.mu.Unlock()
	id, err := s.running(ctx, made.ID)
	if err != nil {
		return nil, err
	}
	service := &Service{Name: h.Engine.name(name)}
	if service.Task, err = h.adopt(ctx, name, id, spec.Network); err != nil {
		return nil, err
	}
	if spec.VIP {
		service.VIP, err = s.vip(ctx, made.ID, spec.Network)
	}
	return service, err
}

// imageID names the image in the only way that makes no engine ask a registry.
func (h *Host) imageID(ctx context.Context) (string, error) {
	ref, err := h.Engine.Load(ctx)
	if err != nil {
		return "", err
	}
	i, err := h.Engine.Client.ImageInspect(ctx, ref)
	if err != nil {
		return "", brief(err)
	}
	return i.ID, nil
}

func (s *Swarm) service(name, image string, spec ServiceSpec) swarm.ServiceSpec {
	one, grace := uint64(1), time.Second
	t := swarm.TaskSpec{
		ContainerSpec: &swarm.ContainerSpec{
			Image: image, Labels: spec.Host.Engine.label(), Command: []string{self}, Args: []string{"agent"},
			// The agent waits for input that nobody writes.
			OpenStdin: true, StopSignal: "SIGKILL", StopGracePeriod: &grace, CapabilityAdd: []string{"NET_ADMIN"},
		},
		Placement:     &swarm.Placement{Constraints: []string{"node.id==" + s.nodes[spec.Host]}},
		RestartPolicy: &swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionNone},
		LogDriver:     &swarm.Driver{Name: "none"},
	}
	if spec.Network != Ingress { // where tasks with published ports are by themselves
		t.Networks = []swarm.NetworkAttachmentConfig{{Target: spec.Network}}
	}
	mode := swarm.ResolutionModeDNSRR
	if spec.VIP {
		mode = swarm.ResolutionModeVIP
	}
	e := &swarm.EndpointSpec{Mode: mode}
	for port := spec.Publish[0]; port <= spec.Publish[1] && port != 0; port++ {
		for _, p := range []network.IPProtocol{network.TCP, network.UDP} {
			e.Ports = append(e.Ports, swarm.PortConfig{
				Protocol: p, TargetPort: uint32(port), PublishedPort: uint32(port), PublishMode: swarm.PortConfigPublishModeIngress,
			})
		}
	}
	return swarm.ServiceSpec{
		Annotations:  swarm.Annotations{Name: name, Labels: spec.Host.Engine.label()},
		TaskTemplate: t, EndpointSpec: e,
		Mode: swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &one}},
	}
}

// taskTime is how long a task may take until it runs.
const taskTime = 45 * time.Second

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
			return "", fmt.Errorf("%s: %w", state, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// adopt makes a container of one that the swarm has started.
func (h *Host) adopt(ctx context.Context, name, id, net string) (*Container, error) {
	c := &Container{engine: h.Engine, name: name, id: id, shown: h.reachable()}
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
