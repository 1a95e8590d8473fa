package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/emulated"
	"nettoll/internal/nl"
	"nettoll/internal/remote"
	"nettoll/internal/wrap"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// Spec describes the container to make.
type Spec struct {
	Name string // of the endpoint, for example h1c1
	full string // the engine's name of the container
	// Mode is a value of docker run --network: none, host, bridge, container:ID, or the name of a
	// network.
	Mode  string
	Addr4 netip.Addr // fixed address on a user-defined network; the zero value means any
	Addr6 netip.Addr
	Ports Ports        // exposed ports: links lead to them
	At    []netip.Addr // addresses of the host on which they are published
	Links []string     // legacy links, as CONTAINER:ALIAS
	// Near containers can send only to their neighbours on a bridge, and receive IPv4 packets from
	// nobody else, not even from hosts with a route through the engine's machine that connect to a
	// port published there.
	Near bool
}

// Ports is a range of TCP and UDP ports, from First to Last. The zero value is empty.
type Ports struct{ First, Last int }

// PortsOf returns a range of ports.
func PortsOf(first, last int) Ports { return Ports{first, last} }

func (p Ports) each(yield func(uint16, network.IPProtocol) bool) {
	for port := p.First; port <= p.Last && port != 0; port++ {
		if !yield(uint16(port), network.TCP) || !yield(uint16(port), network.UDP) {
			return
		}
	}
}

// Container runs an agent as its first process. When the agent ends, the engine removes the container,
// so it does not outlive nettoll, however nettoll ends.
type Container struct {
	engine *Engine
	name   string
	full   string // the engine's name of it
	host   string // name of the host that its engine runs on
	id     string
	pid    int
	first  *agent.Client
	age    int  // of the engine when the container was started; see deaths
	shown  bool // the namespaces of the engine's host can be reached from here
	open   bool // it has the network of a user's machine
	nets   map[string]*network.EndpointSettings

	nic func(context.Context) (record.NIC, error) // see platform.Facts
}

// attachTries is how often a busy swarm may try to attach a container to one of its networks, for which
// engines wait 20 seconds each time.
const attachTries = 3

// unattached reports whether the swarm did not attach the container in time.
func unattached(err error) bool {
	return err != nil && strings.Contains(err.Error(), "attaching to network failed") && strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

// lacksIPv6 reports whether a container did not start since its kernel has no IPv6 (ipv6.disable=1), and so no such parameters.
// From then on none are set.
func (e *Engine) lacksIPv6(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error()) // of runc or crun
	lacks := strings.Contains(text, "/proc/sys/net/ipv6/") && strings.Contains(text, "no such file")
	if lacks {
		e.only4.Store(true)
	}
	return lacks
}

// start makes a container with an agent in it.
func (e *Engine) start(ctx context.Context, s Spec, shown bool) (c *Container, err error) {
	for range attachTries {
		if c, err = e.startOnce(ctx, s, shown); !unattached(err) && !e.lacksIPv6(err) || ctx.Err() != nil {
			break
		}
	}
	return c, err
}

func (e *Engine) startOnce(ctx context.Context, s Spec, shown bool) (*Container, error) {
	image, err := e.image(ctx)
	if err != nil {
		return nil, err
	}
	c := &Container{engine: e, name: s.Name, full: cmp.Or(s.full, e.name(s.Name)), shown: shown, age: e.deaths.age()}
	o := e.options(s, image)
	// The engine continues creating it even if nobody waits any more.
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), absenceTime)
	defer cancel()
	made, err := e.Client.ContainerCreate(creating, o)
	if cerrdefs.IsConflict(err) && e.evict(ctx, o.Name) {
		made, err = e.Client.ContainerCreate(creating, o)
	}
	if err != nil {
		e.late(o.Name, err)
		return nil, failed(err, "create container %s", s.Name)
	}
	c.id = made.ID
	err = c.begin(ctx)
	if err == nil && s.Near {
		err = c.first.Call(ctx, methodShut, struct{}{}, nil)
	}
	if err != nil {
		err = fmt.Errorf("docker: start container %s: %w", s.Name, c.explained(ctx, err))
		left := c.remove(context.WithoutCancel(ctx))
		if left != nil { // it need not run, and then it does not end with nettoll
			e.left(c.full)
		}
		return nil, errors.Join(err, left)
	}
	return c, nil
}

// evict removes a container of the same run that has a name which is needed again: it is left from a
// crash.
func (e *Engine) evict(ctx context.Context, name string) bool {
	old, err := e.Client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if err != nil {
		return gone(err)
	}
	is := old.Container
	if is.Config.Labels[Label] != e.Run || is.State.Running && is.Config.Labels[processLabel] == e.process {
		return false
	}
	return Object{Kind: "container", Name: name, id: is.ID}.remove(ctx, e.Client) == nil
}

func (e *Engine) options(s Spec, image string) client.ContainerCreateOptions {
	o := client.ContainerCreateOptions{
		Name: cmp.Or(s.full, e.name(s.Name)),
		Config: &container.Config{
			Image: image, Entrypoint: []string{self}, Cmd: []string{"agent"}, Labels: e.label(),
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		},
		HostConfig: &container.HostConfig{
			AutoRemove: true, NetworkMode: container.NetworkMode(s.Mode), PortBindings: network.PortMap{}, Links: s.Links,
			// Conditions (MTU, offloads) are set from inside.
			CapAdd:    []string{"NET_ADMIN"},
			LogConfig: container.LogConfig{Type: "none"}, // frames do not belong in logs
			ShmSize:   memorySize,
		},
	}
	o.Config.ExposedPorts = network.PortSet{}
	for number, protocol := range s.Ports.each {
		port, _ := network.PortFrom(number, protocol) // fails only for other protocols
		o.Config.ExposedPorts[port] = struct{}{}
		for _, a := range s.At {
			binding := network.PortBinding{HostIP: a, HostPort: strconv.Itoa(int(number))}
			o.HostConfig.PortBindings[port] = append(o.HostConfig.PortBindings[port], binding)
		}
	}
	if e.Silence > 0 {
		o.Config.Cmd = bootstrap.Watched(e.Silence)
	}
	if o.HostConfig.NetworkMode.IsNone() && !e.only4.Load() {
		// Networks that are built later have both IP versions.
		o.HostConfig.Sysctls = map[string]string{"net.ipv6.conf.all.disable_ipv6": "0", "net.ipv6.conf.default.disable_ipv6": "0"}
	}
	if s.Near {
		o.HostConfig.Sysctls = map[string]string{"net.ipv4.conf.all.rp_filter": "1"}
	}
	if s.Addr4.IsValid() || s.Addr6.IsValid() {
		o.NetworkingConfig = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			s.Mode: {IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: s.Addr4, IPv6Address: s.Addr6}},
		}}
	}
	return o
}

// memorySize is how much of /dev/shm a container may use, in bytes: programs have their files there, and
// an engine's default is 64 MiB. Memory is allocated only as it is used.
const memorySize = 4 << 30

// begin attaches to the container first, so that none of its output is lost, and then starts it.
func (c *Container) begin(ctx context.Context) error {
	cl := c.engine.Client
	conn, err := cl.ContainerAttach(ctx, c.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return c.engine.unattachable(ctx, c.id, err)
	}
	// An engine that is told to stop in the middle can leave rules of the container: Docker Engine 29 with nftables then starts no
	// other one with the same address.
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), emulated.Patience(absenceTime))
	defer cancel()
	if _, err := cl.ContainerStart(starting, c.id, client.ContainerStartOptions{}); err != nil {
		conn.Close()
		return err
	}
	s := c.stream(conn.HijackedResponse, platform.Command{}, func() error {
		if err := c.ending(c.age, 1); !errors.Is(err, errOver) {
			return err
		}
		return nil
	})
	c.first = agent.Dial(s)
	if silence := c.engine.Silence; silence > 0 {
		beating, stop := context.WithCancel(context.Background())
		go func() { <-c.first.Done(); stop() }()
		go bootstrap.Beating(beating, c.first, c.engine.Pulse, min(bootstrap.Beat, silence/4), silence, func() { _ = s.Kill() })
	}
	state, err := cl.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if gone(err) {
		return c.early()
	}
	if err != nil {
		return err
	}
	c.pid = state.Container.State.Pid
	c.nets = state.Container.NetworkSettings.Networks
	return nil
}

// early returns why the container ended before it could be used.
func (c *Container) early() error {
	select {
	case <-c.first.Done():
		return fmt.Errorf("it ended at once: %w", c.first.Err())
	case <-time.After(killTime):
		return errors.New("it ended at once")
	}
}

// ending returns what became of the container since an age of the engine; nil if nothing is known within so many
// times the usual time.
func (c *Container) ending(age, times int) error {
	if how := c.engine.deaths.of(c.id, age, times); how != nil {
		return fmt.Errorf("container %s %w", c.name, how)
	}
	return nil
}

// explained returns what became of the container in preference to its engine's error. If the engine
// itself could not do what it was asked to do, its error has the reason.
func (c *Container) explained(ctx context.Context, err error) error {
	if ctx.Err() == nil && !cerrdefs.IsInvalidArgument(err) && !cerrdefs.IsInternal(err) {
		if how := c.ending(c.age, 1); how != nil {
			return how
		}
	}
	return brief(err)
}

// Name implements platform.Endpoint.
func (c *Container) Name() string { return c.name }

// OnHost implements platform.Endpoint.
func (c *Container) OnHost() string { return c.host }

// Facts implements platform.Endpoint. Processes of a container end with it.
func (c *Container) Facts() platform.Facts {
	return platform.Facts{NetNS: c.netNS(), About: c.engine.describe(), Around: platform.Surroundings{Open: c.open}, CPUTime: c.cpuTime, NIC: c.nic}
}

// Agent returns the container's first process.
func (c *Container) Agent() *agent.Client { return c.first }

// ID returns the engine's id of the container.
func (c *Container) ID() string { return c.id }

// FullName returns the name by which other containers can link to it.
func (c *Container) FullName() string { return c.full }

// netNS returns the path of its network namespace, or "" if the engine's namespaces cannot be reached
// from here.
func (c *Container) netNS() string {
	if !c.shown || c.pid == 0 {
		return ""
	}
	return fmt.Sprintf("/proc/%d/ns/net", c.pid)
}

// Addr returns the container's address on its first network; the zero value if it has none.
func (c *Container) Addr(six bool) netip.Addr {
	for _, n := range c.nets {
		if six {
			return n.GlobalIPv6Address
		}
		return n.IPAddress
	}
	return netip.Addr{}
}

// Call calls a method of the container's first process, which is an agent.
func (c *Container) Call(ctx context.Context, method string, in, out any) error {
	return wrap.Error(c.first.Call(ctx, method, in, out), "%s", c.name)
}

// Interfaces lists the container's network devices.
func (c *Container) Interfaces(ctx context.Context) ([]nl.Interface, error) {
	return agent.Ask[[]nl.Interface](ctx, c, sampler.MethodInterfaces, nil)
}

func (c *Container) cpuTime(ctx context.Context) (time.Duration, error) {
	return agent.Ask[time.Duration](ctx, c, sampler.MethodCgroup, nil)
}

// Device returns the name of the container's device that has an address.
func (c *Container) Device(ctx context.Context, a netip.Addr) (string, error) {
	all, err := remote.NewHost(c.name, "", c.first, nil).Addresses(ctx)
	d, ok := record.First(all, func(d nl.Address) bool { return d.At.Addr() == a })
	if err == nil && !ok {
		err = fmt.Errorf("no device of %s has the address %s", c.name, a)
	}
	return d.Device, err
}

// Resolve returns the IPv4 address that a name has in the container.
func (c *Container) Resolve(ctx context.Context, name string) (netip.Addr, error) {
	return agent.Ask[netip.Addr](ctx, c, methodResolve, name)
}

// seen reports whether the container's first process is visible to nettoll as a process of this machine.
func (c *Container) seen() bool {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	return err == nil && c.pid > 0 && bytes.Contains(groups, []byte(c.id))
}

// end kills the container without its engine, which cannot do so any more. When the first process ends,
// the kernel kills all others of its PID namespace.
func (c *Container) end() {
	if c.seen() {
		_ = unix.Kill(c.pid, unix.SIGKILL) // fails if it has ended meanwhile
	}
}

// remove removes the container and returns when it is gone.
func (c *Container) remove(ctx context.Context) error {
	return Object{Kind: "container", Name: c.name, id: c.id}.remove(ctx, c.engine.Client)
}
