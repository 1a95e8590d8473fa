package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/docker/rootfs"
	"nettoll/internal/atonce"
	"nettoll/internal/await"
	"nettoll/internal/bootstrap"
	"nettoll/internal/cgroup"
	"nettoll/internal/emulated"
	"nettoll/internal/nl"
	"nettoll/internal/remote"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// PodSpec describes a pod to be made.
type PodSpec struct {
	Node        *Node
	HostNetwork bool
	HostPID     bool  // its containers see the processes of the node, and have nothing to do with them
	Privileged  bool  // its containers run as root, with privileges
	Containers  int   // 0 means 1
	HostPorts   Ports // of the node that lead to the same ports of the first container (hostPort)
	CPUs        int   // that each container requests and is limited to; 0: it has no requests and no limits
}

// Ports is a range of TCP and UDP ports, from First to Last. The zero value is empty.
type Ports struct{ First, Last int }

// Pod is a pod whose containers each have an agent as their first process. Its standard input is attached
// through the API: when nettoll ends, however it ends, that input ends, and the containers end with it.
type Pod struct {
	Name       string
	Containers []*Container

	spec    PodSpec
	uid     string
	ips     []netip.Addr
	hostIPs []netip.Addr // of its node
	others  []string     // containers in it that are not ours, such as those of a service mesh
	mark    string       // see bootstrap.Script
	at      string       // the name of the node that it is on, in the cluster
	placing time.Time    // when the scheduler first found no node for it
}

// Container is a container of a pod.
type Container struct {
	name  string
	pod   *Pod
	id    string
	given *record.Resources // as the API server has admitted it; nil: it has neither requests nor limits
	pid   int               // of its first process, in a private cluster
	proc  *stream
	first *agent.Client
	on    *remote.Host // starts further processes, through the first
	stop  func()       // the heartbeats
}

// in returns the path in the API of a kind of objects of the cluster's namespace, or of one of them.
func (c *Cluster) in(kind string, name ...string) string {
	return "/api/v1/namespaces/" + c.namespace + "/" + strings.Join(append([]string{kind}, name...), "/")
}

// Label is on every pod that is made. Its value is the pod's name, by which services select the pod.
const Label = "nettoll.pod"

// podTime bounds the start and the end of a pod.
const podTime = 60 * time.Second

// placeTime is how long the scheduler may find no node for a pod: what ended just now may still count.
const placeTime = 10 * time.Second

// podMemory is what a container with CPUs of its own requests, and is limited to: without both, its pod has no CPUs of its own. The
// agent and the programs take some tens of megabytes. The rest is for the buffers of sockets, which count, too, and which the kernel
// keeps small where memory is short: Linux gives a TCP connection up to 10 MB by default.
const podMemory = 1 // Gi

// PodCPUs is how many CPUs measured pods should have; 0 is any. See OwnOptions.
func (c *Cluster) PodCPUs() int {
	if c.own == nil {
		return 0
	}
	return c.own.o.PodCPUs
}

// atOnce is how many pods are started at a time.
const atOnce = 8

// Run makes pods. Those of a failed call are left to Remove.
func (c *Cluster) Run(ctx context.Context, specs ...PodSpec) ([]*Pod, error) {
	all := make([]*Pod, len(specs))
	for i, s := range specs {
		p := &Pod{spec: s}
		for range max(s.Containers, 1) {
			s.Node.next++
			p.Containers = append(p.Containers, &Container{name: fmt.Sprintf("%sc%d", s.Node.Name(), s.Node.next), pod: p})
		}
		p.Name, p.mark = c.prefix+p.Containers[0].name, bootstrap.Mark()
		all[i] = p
		if s.HostPorts != (Ports{}) && c.own == nil {
			s.Node.published.add()
		}
		c.pods = append(c.pods, p)
	}
	return all, atonce.All(ctx, atOnce, all, func(ctx context.Context, _ int, p *Pod) error {
		return wrap.Error(c.start(ctx, p), "kubernetes: start pod %s", p.Name)
	})
}

// look holds what the pods of a cluster have in common.
type look struct {
	metadata  fields
	spec      fields
	container fields
	// privileged is the security context of containers that have privileges.
	privileged fields
	// command returns what the containers of a pod run.
	command func(p *Pod) []string
	// on returns what puts a pod onto a node.
	on func(*Node) fields
}

// object returns the pod as the API has it.
func (p *Pod) object() fields {
	s, l := p.spec, p.spec.Node.cluster.look
	var containers []fields
	for i, c := range p.Containers {
		is := fields{"name": c.name, "command": l.command(p), "stdin": true, "stdinOnce": true}
		maps.Copy(is, l.container)
		if s.Privileged {
			is["securityContext"] = l.privileged
		}
		if s.CPUs > 0 {
			share := fields{"cpu": strconv.Itoa(s.CPUs), "memory": fmt.Sprintf("%dGi", podMemory)}
			is["resources"] = fields{"requests": share, "limits": share}
		}
		if i == 0 && s.HostPorts != (Ports{}) {
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
	spec := fields{
		"hostNetwork": s.HostNetwork, "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
		"automountServiceAccountToken": false, "enableServiceLinks": false, "dnsPolicy": "Default", "containers": containers,
	}
	if s.HostPID {
		spec["hostPID"] = true
	}
	maps.Copy(spec, l.spec)
	maps.Copy(spec, l.on(s.Node))
	return fields{"apiVersion": "v1", "kind": "Pod", "metadata": described(p.Name, l.metadata, fields{Label: p.Name}), "spec": spec}
}

// privateLook is that of pods of a private cluster, which have the agent in their image.
func privateLook() look {
	name, value, _ := strings.Cut(agent.Quiet, "=")
	return look{
		container: fields{
			"image": AgentImage, "imagePullPolicy": "Never", "env": []fields{{"name": name, "value": value}},
			// Conditions (MTU, offloads) are set from inside.
			"securityContext": fields{"capabilities": fields{"add": []string{"NET_ADMIN"}}},
			// Programs have their files there.
			"volumeMounts": []fields{{"name": "memory", "mountPath": "/dev/shm"}},
		},
		spec:    fields{"volumes": []fields{{"name": "memory", "emptyDir": fields{"medium": "Memory"}}}},
		command: func(*Pod) []string { return []string{rootfs.AgentPath, "agent"} },
		on:      func(n *Node) fields { return fields{"nodeName": n.Name()} },
	}
}

// start makes a pod, waits until it runs, and attaches to its containers.
func (c *Cluster) start(ctx context.Context, p *Pod) error {
	if err := c.api.Ask(ctx, http.MethodPost, c.in("pods"), p.object(), nil); err != nil {
		return c.refused("pods", err)
	}
	return c.await(ctx, p)
}

// await waits until a pod runs, and attaches to its containers.
func (c *Cluster) await(ctx context.Context, p *Pod) error {
	err := c.until(ctx, func(ctx context.Context) (missing, err error) { return c.runs(ctx, p) })
	if err != nil {
		return err
	}
	// Each waits for nettoll to attach, and then longer for the agent.
	return atonce.All(ctx, -1, p.Containers, func(ctx context.Context, _ int, one *Container) error {
		return wrap.Error(one.begin(ctx), "%s", one.name)
	})
}

// until is await.Until for what the API server says, for podTime at most.
func (c *Cluster) until(ctx context.Context, ask func(context.Context) (missing, err error)) error {
	return c.within(ctx, podTime, ask)
}

// within is until, with another bound.
func (c *Cluster) within(ctx context.Context, bound time.Duration, ask func(context.Context) (missing, err error)) error {
	bound = emulated.Patience(bound)
	err := await.Until(ctx, bound, c.pause, ask)
	if late(err) {
		return fmt.Errorf("%w, for %v", err, bound)
	}
	return err
}

// late reports whether the API server did answer, but took too long to do something.
func late(err error) bool { return errors.As(err, new(*await.Late)) }

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

// podState is what the API says of a pod.
type podState struct {
	Metadata struct{ Name, UID, DeletionTimestamp string }
	Spec     struct {
		NodeName   string
		Containers []struct {
			Name      string
			Resources record.Resources
		}
	}
	Status struct {
		Phase, Reason, Message string
		InitContainerStatuses  []containerState
		PodIPs, HostIPs        []struct{ IP netip.Addr }
		HostIP                 netip.Addr // the only one of them that Kubernetes before 1.29 tells
		Conditions             []struct{ Type, Status, Reason, Message string }
		ContainerStatuses      []containerState
	}
}

// runs reports what is missing until all containers of a pod run, and reads what is known only then.
func (c *Cluster) runs(ctx context.Context, p *Pod) (missing, err error) {
	var is podState
	if err := c.api.Ask(ctx, http.MethodGet, c.in("pods", p.Name), nil, &is); err != nil {
		return nil, err
	}
	p.at, missing = is.Spec.NodeName, errors.New("it does not run")
	waits := func(why string) { missing = errors.New("it does not run: " + why) }
	for _, condition := range is.Status.Conditions {
		if condition.Type == "PodScheduled" && condition.Status == "False" {
			why := "no node takes it: " + p.tooMuch(condition.Message)
			if p.placing.IsZero() {
				p.placing = time.Now()
			} else if time.Since(p.placing) > placeTime {
				return nil, errors.New(why)
			}
			waits(why)
		}
	}
	running := 0
	var others []string
	for _, s := range is.Status.InitContainerStatuses {
		if s.State.Running != nil && is.Status.Phase == "Running" { // it goes on beside the others
			others = append(others, s.Name)
		}
	}
	for _, s := range is.Status.ContainerStatuses {
		i := slices.IndexFunc(p.Containers, func(c *Container) bool { return c.name == s.Name })
		if i < 0 {
			others = append(others, s.Name)
			continue
		}
		switch {
		case s.State.Terminated != nil:
			return nil, c.ended(s.Name, s.State.Terminated.Reason, s.State.Terminated.Message)
		case s.State.Waiting != nil && final(s.State.Waiting.Reason):
			return nil, c.ended(s.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
		case s.State.Waiting != nil:
			waits(strings.TrimSpace(s.State.Waiting.Reason + " " + s.State.Waiting.Message))
		case s.State.Running != nil:
			_, p.Containers[i].id, _ = strings.Cut(s.ContainerID, "://")
			running++
		}
	}
	if is.Status.Phase == "Failed" || is.Status.Phase == "Succeeded" {
		return nil, fmt.Errorf("it ended at once: %s %s", is.Status.Reason, is.Status.Message)
	}
	if running < len(p.Containers) {
		return missing, nil
	}
	for _, s := range is.Spec.Containers {
		i := slices.IndexFunc(p.Containers, func(c *Container) bool { return c.name == s.Name })
		if i >= 0 && len(s.Resources.Requests)+len(s.Resources.Limits) > 0 {
			p.Containers[i].given = &s.Resources
		}
	}
	p.uid, p.ips, p.hostIPs, p.others = is.Metadata.UID, nil, nil, others
	for _, a := range is.Status.PodIPs {
		p.ips = append(p.ips, a.IP)
	}
	for _, a := range is.Status.HostIPs {
		p.hostIPs = append(p.hostIPs, a.IP)
	}
	if len(p.hostIPs) == 0 && is.Status.HostIP.IsValid() {
		p.hostIPs = []netip.Addr{is.Status.HostIP}
	}
	return nil, nil
}

// tooMuch adds to what the scheduler says what the pod asks for, if nodes are too full for that.
func (p *Pod) tooMuch(says string) string {
	if p.spec.CPUs == 0 || !strings.Contains(says, "Insufficient") {
		return says
	}
	n, cpus := len(p.Containers), "1 CPU"
	if n*p.spec.CPUs > 1 {
		cpus = fmt.Sprintf("%d CPUs", n*p.spec.CPUs)
	}
	return fmt.Sprintf("%s; it asks for %s and %d GiB of memory: give pods fewer (--pod-cpus), measure fewer at once (--turns=false, fewer clients), or name other nodes",
		strings.TrimRight(says, ". "), cpus, n*podMemory)
}

// final reports whether a container that waits for this reason does so for ever.
func final(reason string) bool {
	return strings.HasPrefix(reason, "ErrImage") || slices.Contains([]string{
		"ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
	}, reason)
}

// ended returns the error of a container that does not run.
func (c *Cluster) ended(name, reason, message string) error {
	if c.own != nil {
		return c.own.ended(reason, message)
	}
	return fmt.Errorf("%s does not run: %s %s", name, reason, message)
}

// Addr returns the pod's address; the zero value if it has none of that IP version.
func (p *Pod) Addr(six bool) netip.Addr { return of(p.ips, six) }

// Beside returns the names of containers in the container's pod that are not nettoll's, such as those of a service mesh.
func (c *Container) Beside() []string { return c.pod.others }

// HostAddr returns the address of the pod's node, likewise.
func (p *Pod) HostAddr(six bool) netip.Addr { return of(p.hostIPs, six) }

func of(all []netip.Addr, six bool) netip.Addr {
	at, _ := record.First(all, func(a netip.Addr) bool { return a.Is6() == six })
	return at
}

// begin attaches to the container's first process, which is an agent or becomes one.
func (c *Container) begin(ctx context.Context) (err error) {
	of := c.pod.spec.Node.cluster
	if of.own == nil {
		if err := c.find(); err != nil {
			return err
		}
	}
	s, err := of.api.attach(ctx, of.in("pods", c.pod.Name), c.name)
	if err != nil {
		return of.refused("pods/attach", err)
	}
	if c.proc = s; of.own == nil {
		s.ID, s.kill = c.pid, c.end
		c.first, c.stop = agent.Dial(s), func() {}
	} else if c.first, c.stop, err = of.own.inject(ctx, s, c.pod.mark); err != nil {
		return err
	}
	var tools *bootstrap.Tools // those of a private cluster are in its image
	if of.own != nil {
		tools = of.own.o.Tools
	}
	c.on = remote.NewHost(c.name, c.Facts().About, c.first, tools)
	return nil
}

// find finds the container's first process, by the control group that kubelet names after the pod.
func (c *Container) find() error {
	group := filepath.Join(c.pod.spec.Node.group(), "kubepods", "besteffort", "pod"+c.pod.uid, c.id)
	for _, root := range cgroup.Roots() {
		if all := cgroup.Processes(filepath.Join(root, group)); len(all) > 0 {
			c.pid = slices.Min(all)
			return nil
		}
	}
	return fmt.Errorf("the control group %s has no process", group)
}

// Start implements platform.Endpoint.
func (c *Container) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	return c.on.Start(ctx, cmd)
}

// end kills the container: with the first process of its PID namespace, all others end.
func (c *Container) end() error {
	if err := unix.Kill(c.pid, unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// close ends the container's agent, and with it the container.
func (c *Container) close() {
	if c.first != nil {
		c.stop()
		_ = c.first.Close() // the pod may be gone already
	}
}

// Name implements platform.Endpoint.
func (c *Container) Name() string { return c.name }

// OnHost implements platform.Endpoint.
func (c *Container) OnHost() string { return c.pod.spec.Node.Name() }

// Pod returns the pod that it is in.
func (c *Container) Pod() *Pod { return c.pod }

// Facts implements platform.Endpoint. Processes of a container end with it.
func (c *Container) Facts() platform.Facts {
	f := platform.Facts{
		CPUTime: func(ctx context.Context) (time.Duration, error) {
			return agent.Ask[time.Duration](ctx, c, sampler.MethodCgroup, nil)
		},
	}
	if own := c.pod.spec.Node.cluster.own; own != nil {
		f.Resources = c.given
		f.About, f.Around.Open = own.About()+", node "+own.at(c.pod.at), c.pod.spec.HostNetwork
		if c.on != nil {
			f.Send = c.on.Sender()
		}
	} else {
		f.NetNS, f.About = fmt.Sprintf("/proc/%d/ns/net", c.pid), fmt.Sprintf("a private Kubernetes cluster, %s, kube-proxy iptables", c.pod.spec.Node.cluster.cni().about)
	}
	return f
}

// DeviceTo returns the device by which the container sends packets to the first of the addresses that is valid.
func (c *Container) DeviceTo(ctx context.Context, any ...netip.Addr) (string, error) {
	for _, at := range any {
		if at.IsValid() {
			way, err := c.on.Way(ctx, at)
			return way.Device, err
		}
	}
	return "", errors.New("no address is known of the other node")
}

// Agent returns the container's first agent.
func (c *Container) Agent() network.Agent { return c.first }

// Interfaces lists the container's network devices.
func (c *Container) Interfaces(ctx context.Context) ([]nl.Interface, error) {
	return agent.Ask[[]nl.Interface](ctx, c, sampler.MethodInterfaces, nil)
}

// Call calls a method of the container's first agent.
func (c *Container) Call(ctx context.Context, method string, in, out any) error {
	return wrap.Error(c.first.Call(ctx, method, in, out), "%s", c.name)
}

// Fault returns an error if one of the pod's containers has ended, with the cluster's reason if it has one.
func (p *Pod) Fault(ctx context.Context) error {
	for _, c := range p.Containers {
		select {
		case <-c.first.Done():
			if why := p.spec.Node.cluster.whyEnded(ctx, p); why != "" {
				return fmt.Errorf("pod %s has ended: %s", p.Name, why)
			}
			if c.cut() {
				return fmt.Errorf("the connection to pod %s was cut, by the API server or on the way to it", p.Name)
			}
			return fmt.Errorf("pod %s has ended: %w", p.Name, c.first.Err())
		default:
		}
	}
	return nil
}

// cut reports whether the connection to the container has ended, and not the container, as far as is known.
func (c *Container) cut() bool {
	return c.proc != nil && c.proc.Ended() && errors.Is(c.proc.Wait(), errCut)
}

// whyEnded returns why the cluster has ended a pod; "" if it has not, or cannot be asked.
func (c *Cluster) whyEnded(ctx context.Context, p *Pod) string {
	var is podState
	err := c.api.Ask(ctx, http.MethodGet, c.in("pods", p.Name), nil, &is)
	switch {
	case Absent(err) || err == nil && is.Metadata.DeletionTimestamp != "":
		return "somebody has removed it, as when its node is drained"
	case err == nil && is.Status.Reason != "": // such as Evicted
		return strings.TrimSuffix(is.Status.Reason+": "+is.Status.Message, ": ")
	}
	return ""
}

// Remove removes all pods, services and policies that were made, and returns when they are gone.
func (c *Cluster) Remove(ctx context.Context) error {
	pods := c.pods
	c.pods = nil
	var removing errgroup.Group
	removing.Go(func() error { return c.withdrawAll(ctx) })
	removing.Go(func() error { return c.removePolicies(ctx) })
	published := map[*Node]int{}
	for _, p := range pods {
		if p.spec.HostPorts != (Ports{}) {
			published[p.spec.Node]++
		}
		removing.Go(func() error {
			for _, container := range p.Containers {
				container.close()
			}
			return c.remove(ctx, c.in("pods", p.Name))
		})
	}
	err := removing.Wait()
	if c.own == nil {
		err = errors.Join(err, forgetHostPorts(ctx, published))
	}
	for _, n := range c.Nodes {
		n.next = 0
	}
	return err
}

// remove removes an object, and returns when it is gone.
func (c *Cluster) remove(ctx context.Context, path string) error {
	ask := func(ctx context.Context, method string) (missing, err error) {
		err = c.api.Ask(ctx, method, path, nil, nil)
		switch {
		case Absent(err):
			return nil, nil
		case c.passing(err):
			return err, nil
		case method == http.MethodDelete:
			return nil, err
		}
		return errors.New("it is still there"), err
	}
	err := c.until(ctx, func(ctx context.Context) (missing, err error) { return ask(ctx, http.MethodDelete) })
	if err == nil {
		err = c.until(ctx, func(ctx context.Context) (missing, err error) { return ask(ctx, http.MethodGet) })
	}
	return wrap.Error(err, "kubernetes: remove %s", filepath.Base(path))
}
