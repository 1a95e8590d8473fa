package dockerd

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
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

// create makes a service, and remembers it for the removal. What a crash of this very run
// has left in its place is removed.
func (s *Swarm) create(ctx context.Context, h *Host, spec swarm.ServiceSpec) (string, error) {
	m := s.Manager
	have, err := m.Engine.Client.ServiceInspect(ctx, spec.Name, client.ServiceInspectOptions{})
	if err == nil && have.Service.Spec.Labels[Label] == m.Engine.Run {
		if err := m.Engine.removeService(ctx, have.Service.ID); err != nil {
			return "", err
		}
	}
	// One that is made while the caller gives up would never be removed.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), managerTime)
	defer cancel()
	made, err := m.Engine.Client.ServiceCreate(within, client.ServiceCreateOptions{Spec: spec})
	if err != nil {
		return "", brief(err)
	}
	m.mu.Lock()
	m.services = append(m.services, made.ID)
	m.mu.Unlock()
	h.mu.Lock()
	h.tasks = append(h.tasks, made.ID)
	h.mu.Unlock()
	return made.ID, ctx.Err()
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
			Mounts: []mount.Mount{{Type: mount.TypeTmpfs, Target: "/dev/shm", TmpfsOptions: &mount.TmpfsOptions{SizeBytes: memorySize}}},
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
