package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"nettoll/agent"
	"nettoll/internal/atonce"
	"nettoll/internal/await"
	"nettoll/internal/emulated"
	"nettoll/internal/wrap"
)

// Ingress is the network of every swarm that carries connections to published ports.
const Ingress = "ingress"

// ServiceSpec describes the service to make: one task, on one node.
type ServiceSpec struct {
	Host    *Host  // whose engine runs the task
	Network string // as returned by Network, or Ingress
	// VIP gives the service its own address, in front of its task's.
	VIP     bool
	Publish Ports // ports that all nodes forward to the service (the routing mesh)
}

// Service is a service with a running task.
type Service struct {
	Task *Container
	Name string     // by which containers of its network know it
	VIP  netip.Addr // on its network; the zero value if it has none
}

// Serve makes services, several at a time, from images that the nodes have, without asking a registry.
// All are removed with the hosts, including those of a failed call.
func (s *Swarm) Serve(ctx context.Context, specs ...ServiceSpec) ([]*Service, error) {
	all, names := make([]*Service, len(specs)), make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Host.Number()
	}
	err := cmp.Or(atonce.Each(atOnce, specs, func(i int, spec ServiceSpec) (err error) {
		all[i], err = s.serve(ctx, names[i], spec)
		return wrap.Error(err, "docker: service %s", names[i])
	})...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (s *Swarm) serve(ctx context.Context, name string, spec ServiceSpec) (*Service, error) {
	h := spec.Host
	image, err := h.imageID(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.create(ctx, h, s.service(h.Engine.name(name), image, spec))
	if err != nil {
		return nil, err
	}
	id, err := s.running(ctx, made)
	if err != nil {
		return nil, err
	}
	service := &Service{Name: h.Engine.name(name)}
	if service.Task, err = h.adopt(ctx, name, id, spec.Network); err != nil {
		return nil, err
	}
	if spec.VIP {
		service.VIP, err = s.vip(ctx, made, spec.Network)
	}
	return service, err
}

// create makes a service and records how to remove it. It first removes a service of the same run and
// name, which is left from a crash.
func (s *Swarm) create(ctx context.Context, h *Host, spec swarm.ServiceSpec) (string, error) {
	m := s.Manager
	have, err := m.Engine.Client.ServiceInspect(ctx, spec.Name, client.ServiceInspectOptions{})
	if err == nil && have.Service.Spec.Labels[Label] == m.Engine.Run {
		if err := (Object{Kind: "service", Name: spec.Name, id: have.Service.ID}).remove(ctx, m.Engine.Client); err != nil {
			return "", err
		}
	}
	// The swarm continues creating it even if the caller gives up.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), emulated.Patience(managerTime))
	defer cancel()
	made, err := m.Engine.Client.ServiceCreate(within, client.ServiceCreateOptions{Spec: spec})
	if err != nil {
		m.Engine.late(spec.Name, err)
		return "", brief(err)
	}
	o := Object{Kind: "service", Name: spec.Name, id: made.ID}
	m.holds(servicesFirst, m.Engine.removal(o))
	h.holds(theirTasks, func(ctx context.Context) error { return h.Engine.removeTasks(ctx, o) })
	return made.ID, ctx.Err()
}

// imageID returns the id of the image: with any other name, engines ask a registry.
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
			// The agent waits for input that never comes.
			OpenStdin: true, StopSignal: "SIGKILL", StopGracePeriod: &grace, CapabilityAdd: []string{"NET_ADMIN"},
			Mounts: []mount.Mount{{Type: mount.TypeTmpfs, Target: "/dev/shm", TmpfsOptions: &mount.TmpfsOptions{SizeBytes: memorySize}}},
		},
		Placement:     &swarm.Placement{Constraints: []string{"node.id==" + s.nodes[spec.Host]}},
		RestartPolicy: &swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionNone},
		LogDriver:     &swarm.Driver{Name: "none"},
	}
	if spec.Network != Ingress { // tasks with published ports are on Ingress by themselves
		t.Networks = []swarm.NetworkAttachmentConfig{{Target: spec.Network}}
	}
	mode := swarm.ResolutionModeDNSRR
	if spec.VIP {
		mode = swarm.ResolutionModeVIP
	}
	e := &swarm.EndpointSpec{Mode: mode}
	for port, protocol := range spec.Publish.each {
		e.Ports = append(e.Ports, swarm.PortConfig{
			Protocol: protocol, TargetPort: uint32(port), PublishedPort: uint32(port), PublishMode: swarm.PortConfigPublishModeIngress,
		})
	}
	return swarm.ServiceSpec{
		Annotations:  swarm.Annotations{Name: name, Labels: spec.Host.Engine.label()},
		TaskTemplate: t, EndpointSpec: e,
		Mode: swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &one}},
	}
}

// taskTime is how long a task may take until it runs. It takes seconds.
const taskTime = 90 * time.Second

// running waits for the service's task, and returns the id of its container.
func (s *Swarm) running(ctx context.Context, service string) (id string, err error) {
	filters := make(client.Filters).Add("service", service)
	state, within := "no task was made", emulated.Patience(taskTime)
	err = await.Until(ctx, within, pause, func(ctx context.Context) (missing, err error) {
		res, err := s.Manager.Engine.Client.TaskList(ctx, client.TaskListOptions{Filters: filters})
		for _, t := range res.Items {
			state = fmt.Sprintf("its task is %s", t.Status.State)
			if t.Status.Err != "" {
				state += ": " + t.Status.Err
			}
			switch t.Status.State {
			case swarm.TaskStateRunning:
				if t.Status.ContainerStatus != nil {
					id = t.Status.ContainerStatus.ContainerID
				}
			case swarm.TaskStateFailed, swarm.TaskStateRejected, swarm.TaskStateComplete, swarm.TaskStateShutdown, swarm.TaskStateOrphaned:
				return nil, errors.New(state)
			}
		}
		if id == "" {
			missing = errors.New(state)
		}
		return missing, err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = fmt.Errorf("%s: %w", state, context.Cause(ctx))
	case errors.As(err, new(*await.Late)):
		err = brief(fmt.Errorf("after %v %s", within, state))
	default:
		err = brief(err)
	}
	return id, err
}

// adopt returns a container that the swarm has started.
func (h *Host) adopt(ctx context.Context, name, id, net string) (*Container, error) {
	c := &Container{engine: h.Engine, name: name, host: h.name, id: id, shown: h.reachable(), age: h.Engine.deaths.age(), nic: h.nic()}
	state, err := h.Engine.Client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return nil, brief(err)
	}
	c.pid, c.nets = state.Container.State.Pid, state.Container.NetworkSettings.Networks
	maps.DeleteFunc(c.nets, func(on string, _ *network.EndpointSettings) bool { return on != net })
	c.first, err = agent.Start(ctx, c)
	return c, err
}

// removeTasks removes the containers of a service.
func (e *Engine) removeTasks(ctx context.Context, service Object) error {
	res, err := e.Client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", "com.docker.swarm.service.id="+service.id),
	})
	if err != nil {
		return failed(err, "list the containers of %s", service)
	}
	var errs []error
	for _, c := range res.Items {
		errs = append(errs, Object{Kind: "container", Name: "of " + service.Name, id: c.ID}.remove(ctx, e.Client))
	}
	return errors.Join(errs...)
}

// vip returns the service's own address on a network.
func (s *Swarm) vip(ctx context.Context, service, net string) (netip.Addr, error) {
	on, err := s.Manager.NetworkID(ctx, net)
	if err != nil {
		return netip.Addr{}, err
	}
	res, err := s.Manager.Engine.Client.ServiceInspect(ctx, service, client.ServiceInspectOptions{})
	if err != nil {
		return netip.Addr{}, brief(err)
	}
	for _, v := range res.Service.Endpoint.VirtualIPs {
		if v.NetworkID == on {
			return v.Addr.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("the swarm gave it no address on %s", net)
}
