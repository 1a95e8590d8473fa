package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/docker/rootfs"
	"nettoll/internal/cgroup"
	"nettoll/internal/emulated"
	"nettoll/internal/nl"
	"nettoll/platform"
	"nettoll/sampler"
)

// PodSpec describes a pod to be made.
type PodSpec struct {
	Node        *Node
	HostNetwork bool
	Containers  int // 0 means 1
	HostPorts   Ports
}

// Ports is a range of TCP and UDP ports, from First to Last. The zero value is empty.
type Ports struct{ First, Last int }

// Pod is a pod whose containers each have an agent as their first process. Its standard input is attached
// through the API: when nettoll ends, however it ends, that input ends, and the containers end with it.
type Pod struct {
	Name       string
	Containers []*Container

	node *Node
	uid  string
	host bool
	ips  []netip.Addr
}

// Container is a container of a pod.
type Container struct {
	name  string
	pod   *Pod
	id    string
	pid   int
	first *agent.Client
}

// namespace is that of the pods of a private cluster.
const namespace = "/api/v1/namespaces/default/"

// Label is on everything that is made in a cluster; its value is the name of the pod.
const Label = "nettoll.pod"

// podTime bounds the start and the end of a pod.
const podTime = 60 * time.Second

// atOnce is how many pods are started at a time.
const atOnce = 8

// Run makes pods. Those of a failed call are left to Remove.
func (c *Cluster) Run(ctx context.Context, specs ...PodSpec) ([]*Pod, error) {
	all := make([]*Pod, len(specs))
	for i, s := range specs {
		p := &Pod{node: s.Node, host: s.HostNetwork}
		for range max(s.Containers, 1) {
			s.Node.next++
			p.Containers = append(p.Containers, &Container{name: fmt.Sprintf("%sc%d", s.Node.Name(), s.Node.next), pod: p})
		}
		p.Name = p.Containers[0].name
		all[i] = p
		c.pods = append(c.pods, p)
	}
	starting, within := errgroup.WithContext(ctx)
	starting.SetLimit(atOnce)
	for i, p := range all {
		starting.Go(func() error {
			if err := c.start(within, p, specs[i]); err != nil {
				return fmt.Errorf("kubernetes: start pod %s: %w", p.Name, err)
			}
			return nil
		})
	}
	return all, starting.Wait()
}

// object returns the pod as the API has it.
func (p *Pod) object(s PodSpec) fields {
	var containers []fields
	for i, c := range p.Containers {
		is := fields{
			"name": c.name, "image": AgentImage, "imagePullPolicy": "Never", "command": []string{rootfs.AgentPath, "agent"},
			"stdin": true, "stdinOnce": true, "env": []fields{{"name": quietName, "value": quietValue}},
			// Conditions (MTU, offloads) are set from inside.
			"securityContext": fields{"capabilities": fields{"add": []string{"NET_ADMIN"}}},
			// Programs have their files there.
			"volumeMounts": []fields{{"name": "memory", "mountPath": "/dev/shm"}},
		}
		if i == 0 && s.HostPorts.First != 0 {
			var ports []fields
			for port := s.HostPorts.First; port <= s.HostPorts.Last; port++ {
				for _, protocol := range []string{"TCP", "UDP"} {
					ports = append(ports, fields{"containerPort": port, "hostPort": port, "protocol": protocol})
				}
			}
			is["ports"] = ports
		}
		containers = append(containers, is)
	}
	return fields{
		"apiVersion": "v1", "kind": "Pod", "metadata": fields{"name": p.Name, "labels": fields{Label: p.Name}},
		"spec": fields{
			"nodeName": p.node.Name(), "hostNetwork": s.HostNetwork, "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
			"automountServiceAccountToken": false, "enableServiceLinks": false, "dnsPolicy": "Default",
			"containers": containers,
			"volumes":    []fields{{"name": "memory", "emptyDir": fields{"medium": "Memory"}}},
		},
	}
}

var quietName, quietValue, _ = strings.Cut(agent.Quiet, "=")

// start makes a pod, waits until it runs, and attaches to its containers.
func (c *Cluster) start(ctx context.Context, p *Pod, s PodSpec) error {
	if err := c.Server.Ask(ctx, http.MethodPost, namespace+"pods", p.object(s), nil); err != nil {
		return err
	}
	if err := c.until(ctx, "it does not run", func(ctx context.Context) (bool, error) { return c.runs(ctx, p) }); err != nil {
		return err
	}
	for _, container := range p.Containers {
		if err := container.begin(ctx); err != nil {
			return fmt.Errorf("%s: %w", container.name, err)
		}
	}
	return nil
}

// until asks until something is so.
func (c *Cluster) until(ctx context.Context, otherwise string, so func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, emulated.Patience(podTime), fmt.Errorf("%s within %v", otherwise, podTime))
	defer cancel()
	for {
		done, err := so(ctx)
		if done || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// containerState is what the API says of a container.
type containerState struct {
	Name        string
	ContainerID string
	State       struct {
		Running    *struct{}
		Waiting    *struct{ Reason, Message string }
		Terminated *struct {
			Reason, Message string
			ExitCode        int
		}
	}
}

// runs reports whether all containers of a pod run, and reads what only then is known.
func (c *Cluster) runs(ctx context.Context, p *Pod) (bool, error) {
	var is struct {
		Metadata struct{ UID string }
		Status   struct {
			Phase, Reason, Message string
			PodIPs                 []struct{ IP netip.Addr }
			ContainerStatuses      []containerState
		}
	}
	if err := c.Server.Ask(ctx, http.MethodGet, namespace+"pods/"+p.Name, nil, &is); err != nil {
		return false, err
	}
	if is.Status.Phase == "Failed" || is.Status.Phase == "Succeeded" {
		return false, fmt.Errorf("it ended at once: %s %s", is.Status.Reason, is.Status.Message)
	}
	running := 0
	for _, s := range is.Status.ContainerStatuses {
		i := slices.IndexFunc(p.Containers, func(c *Container) bool { return c.name == s.Name })
		switch {
		case s.State.Terminated != nil:
			return false, fmt.Errorf("%s ended at once: %s %s", s.Name, s.State.Terminated.Reason, s.State.Terminated.Message)
		case s.State.Waiting != nil && strings.HasPrefix(s.State.Waiting.Reason, "ErrImage"):
			return false, fmt.Errorf("%s: %s: %s", s.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
		case s.State.Running != nil && i >= 0:
			_, p.Containers[i].id, _ = strings.Cut(s.ContainerID, "://")
			running++
		}
	}
	if running < len(p.Containers) {
		return false, nil
	}
	p.uid, p.ips = is.Metadata.UID, nil
	for _, a := range is.Status.PodIPs {
		p.ips = append(p.ips, a.IP)
	}
	return true, nil
}

// Addr returns the pod's address; the zero value if it has none of that IP version.
func (p *Pod) Addr(six bool) netip.Addr {
	for _, a := range p.ips {
		if a.Is6() == six {
			return a
		}
	}
	return netip.Addr{}
}

// begin finds the container's first process, and attaches to it.
func (c *Container) begin(ctx context.Context) error {
	group := filepath.Join(c.pod.node.group(), "kubepods", "besteffort", "pod"+c.pod.uid, c.id)
	for _, root := range cgroup.Roots() {
		if all := cgroup.Processes(filepath.Join(root, group)); len(all) > 0 {
			c.pid = slices.Min(all)
			break
		}
	}
	if c.pid == 0 {
		return fmt.Errorf("the control group %s has no process", group)
	}
	s, err := c.open(ctx, "attach", url.Values{}, platform.Command{})
	if err != nil {
		return err
	}
	s.pid = c.pid
	c.first = agent.Dial(s)
	return nil
}

// open opens the streams of a process of the container.
func (c *Container) open(ctx context.Context, how string, query url.Values, cmd platform.Command) (*stream, error) {
	for _, name := range []string{"stdin", "stdout", "stderr"} {
		query.Set(name, "true")
	}
	query.Set("container", c.name)
	ws, err := c.pod.node.cluster.Server.open(ctx, namespace+"pods/"+c.pod.Name+"/"+how, query)
	if err != nil {
		return nil, err
	}
	s, err := newStream(ws, cmd.Stdin, cmd.Stdout, cmd.Stderr, c.end)
	if err != nil {
		ws.Close()
	}
	return s, err
}

// Start implements platform.Endpoint, as kubectl exec does. The API gives a process the environment of its
// container, and its working directory.
func (c *Container) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	path := cmd.Path
	if path == platform.Self {
		path = rootfs.AgentPath
	}
	fail := func(err error) (platform.Process, error) {
		return nil, fmt.Errorf("%s: start %s: %w", c.name, cmd.Path, err)
	}
	if cmd.Dir != "" || slices.ContainsFunc(cmd.Env, func(kv string) bool { return kv != agent.Quiet }) {
		return fail(errors.New("a process in a pod can have no directory and no environment of its own"))
	}
	s, err := c.open(ctx, "exec", url.Values{"command": append([]string{path}, cmd.Args...)}, cmd)
	if err != nil {
		return fail(err)
	}
	return s, nil
}

// end kills the container: with the first process of its PID namespace, all others end.
func (c *Container) end() error {
	if err := unix.Kill(c.pid, unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// Name implements platform.Endpoint.
func (c *Container) Name() string { return c.name }

// OnHost implements platform.Endpoint.
func (c *Container) OnHost() string { return c.pod.node.Name() }

// Pod returns the pod that it is in.
func (c *Container) Pod() *Pod { return c.pod }

// Facts implements platform.Endpoint. Processes of a container end with it.
func (c *Container) Facts() platform.Facts {
	return platform.Facts{
		NetNS: fmt.Sprintf("/proc/%d/ns/net", c.pid), About: "a private Kubernetes cluster, CNI bridge, kube-proxy iptables",
		CPUTime: func(ctx context.Context) (used time.Duration, err error) {
			err = c.call(ctx, sampler.MethodCgroup, &used)
			return used, err
		},
	}
}

// Interfaces lists the container's network devices.
func (c *Container) Interfaces(ctx context.Context) (all []nl.Interface, err error) {
	err = c.call(ctx, sampler.MethodInterfaces, &all)
	return all, err
}

func (c *Container) call(ctx context.Context, method string, out any) error {
	if err := c.first.Call(ctx, method, nil, out); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// Fault returns an error if one of the pod's containers has ended.
func (p *Pod) Fault() error {
	for _, c := range p.Containers {
		select {
		case <-c.first.Done():
			return fmt.Errorf("pod %s has ended: %w", p.Name, c.first.Err())
		default:
		}
	}
	return nil
}

// Remove removes all pods and services that were made, and returns when they are gone.
func (c *Cluster) Remove(ctx context.Context) error {
	pods, services := c.pods, c.services
	c.pods, c.services = nil, nil
	var removing errgroup.Group
	for _, path := range services {
		removing.Go(func() error { return c.remove(ctx, path) })
	}
	for _, p := range pods {
		removing.Go(func() error {
			for _, container := range p.Containers {
				if container.first != nil {
					_ = container.first.Close() // the pod may be gone already
				}
			}
			return c.remove(ctx, namespace+"pods/"+p.Name)
		})
	}
	err := removing.Wait()
	for _, n := range c.Nodes {
		n.next = 0
	}
	return err
}

// remove removes an object, and returns when it is gone.
func (c *Cluster) remove(ctx context.Context, path string) error {
	err := c.Server.Ask(ctx, http.MethodDelete, path, nil, nil)
	if Absent(err) {
		return nil
	}
	if err == nil {
		err = c.until(ctx, "it is still there", func(ctx context.Context) (bool, error) {
			err := c.Server.Ask(ctx, http.MethodGet, path, nil, nil)
			if Absent(err) {
				return true, nil
			}
			return false, err
		})
	}
	if err != nil {
		return fmt.Errorf("kubernetes: remove %s: %w", filepath.Base(path), err)
	}
	return nil
}
