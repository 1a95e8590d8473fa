package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/platform"
	"nettoll/sampler"
)

// Spec says what container is wanted.
type Spec struct {
	Name string // of the endpoint, such as h1c1
	// Mode is as docker run --network has it: none, host, bridge, container:ID, or the
	// name of a network.
	Mode    string
	Addr4   netip.Addr // fixed address on a network of one's own; the zero value is any
	Addr6   netip.Addr
	Publish network.PortMap // ports of the host
	Expose  []network.Port  // ports that links lead to
	Links   []string        // legacy links, CONTAINER:ALIAS
	// Near containers have no way to anybody but their neighbours on a bridge, and hear of IPv4
	// nobody else: neither does whoever comes by a route over the engine's machine to a port
	// that is published there.
	Near bool
}

// Container runs an agent as its first process, at whose end the engine removes it.
// So it does not outlive nettoll, in whatever way that ends.
type Container struct {
	engine *Engine
	name   string
	host   string // that its engine runs on, by its name
	id     string
	pid    int
	first  *agent.Client
	age    int  // of the engine when the container began, see deaths
	shown  bool // the namespaces of the engine's host can be reached from here
	open   bool // its network is that of a machine of the user's
	nets   map[string]*network.EndpointSettings
}

// attachTries is how often a busy swarm gets the time to attach a container to one of its
// networks, which engines wait 20 seconds for.
const attachTries = 3

// unattached says that the swarm did not do so in time.
func unattached(err error) bool {
	return err != nil && strings.Contains(err.Error(), "attaching to network failed") && strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

// start makes a container and an agent in it.
func (e *Engine) start(ctx context.Context, s Spec, shown bool) (c *Container, err error) {
	for range attachTries {
		if c, err = e.startOnce(ctx, s, shown); !unattached(err) || ctx.Err() != nil {
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
	c := &Container{engine: e, name: s.Name, shown: shown, age: e.deaths.age()}
	o := e.options(s, image)
	// An engine goes on with what nobody waits for any more, and nobody would know of it.
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), absenceTime)
	defer cancel()
	made, err := e.Client.ContainerCreate(creating, o)
	if cerrdefs.IsConflict(err) && e.evict(ctx, o.Name) {
		made, err = e.Client.ContainerCreate(creating, o)
	}
	if err != nil {
		return nil, failed(err, "create container %s", s.Name)
	}
	c.id = made.ID
	err = c.begin(ctx)
	if err == nil && s.Near {
		err = c.first.Call(ctx, methodShut, struct{}{}, nil)
	}
	if err != nil {
		err = fmt.Errorf("docker: start container %s: %w", s.Name, c.because(ctx, err))
		return nil, errors.Join(err, c.remove(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// evict removes a container of this very run that has a name which is wanted again: a
// crash has left it.
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
		Name: e.name(s.Name),
		Config: &container.Config{
			Image: image, Entrypoint: []string{self}, Cmd: []string{"agent"}, Labels: e.label(),
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		},
		HostConfig: &container.HostConfig{
			AutoRemove: true, NetworkMode: container.NetworkMode(s.Mode), PortBindings: s.Publish, Links: s.Links,
			// Conditions (MTU, offloads) are set from within.
			CapAdd:    []string{"NET_ADMIN"},
			LogConfig: container.LogConfig{Type: "none"}, // frames are not for logs
			ShmSize:   memorySize,
		},
	}
	o.Config.ExposedPorts = network.PortSet{}
	for _, port := range append(slices.Collect(maps.Keys(s.Publish)), s.Expose...) {
		o.Config.ExposedPorts[port] = struct{}{}
	}
	if o.HostConfig.NetworkMode.IsNone() {
		// What is plumbed later has both IP versions.
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

// memorySize is how much of /dev/shm a container may use, in bytes: programs have their files
// there, and an engine gives 64 MiB. None of it is taken before it is used.
const memorySize = 4 << 30

// begin attaches to the container, so that nothing of what it says is lost, and
// starts it.
func (c *Container) begin(ctx context.Context) error {
	cl := c.engine.Client
	conn, err := cl.ContainerAttach(ctx, c.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	if _, err := cl.ContainerStart(ctx, c.id, client.ContainerStartOptions{}); err != nil {
		conn.Close()
		return err
	}
	c.first = agent.Dial(c.stream(conn.HijackedResponse, platform.Command{}, func() error {
		if err := c.fate(c.age); !errors.Is(err, errOver) {
			return err
		}
		return nil
	}))
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

// early says why the container has ended before it was of use.
func (c *Container) early() error {
	select {
	case <-c.first.Done():
		return fmt.Errorf("it ended at once: %w", c.first.Err())
	case <-time.After(killTime):
		return errors.New("it ended at once")
	}
}

// fate says what became of the container since an age of the engine's; nil is that
// nothing is known.
func (c *Container) fate(age int) error {
	if how := c.engine.deaths.of(c.id, age); how != nil {
		return fmt.Errorf("container %s %w", c.name, how)
	}
	return nil
}

// because prefers what became of the container to what its engine answers then. Where
// the engine itself could not do what it was asked for, it says why.
func (c *Container) because(ctx context.Context, err error) error {
	if ctx.Err() == nil && !cerrdefs.IsInvalidArgument(err) && !cerrdefs.IsInternal(err) {
		if how := c.fate(c.age); how != nil {
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
	return platform.Facts{NetNS: c.netNS(), About: c.engine.says(), Around: platform.Surroundings{Open: c.open}, CPUTime: c.cpuTime}
}

// ID is the engine's name for the container.
func (c *Container) ID() string { return c.id }

// FullName is the name by which other containers can link to it.
func (c *Container) FullName() string { return c.engine.name(c.name) }

// netNS is a path to its network namespace. It is empty where the engine's namespaces cannot
// be reached from here.
func (c *Container) netNS() string {
	if !c.shown || c.pid == 0 {
		return ""
	}
	return fmt.Sprintf("/proc/%d/ns/net", c.pid)
}

// Addr is the container's address on its first network; the zero value is none.
func (c *Container) Addr(six bool) netip.Addr {
	for _, n := range c.nets {
		if six {
			return n.GlobalIPv6Address
		}
		return n.IPAddress
	}
	return netip.Addr{}
}

// ask asks the container's first process.
func ask[Out any](ctx context.Context, c *Container, method string, in any) (out Out, err error) {
	if err = c.first.Call(ctx, method, in, &out); err != nil {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return out, err
}

// Interfaces lists the container's network devices.
func (c *Container) Interfaces(ctx context.Context) ([]nl.Interface, error) {
	return ask[[]nl.Interface](ctx, c, sampler.MethodInterfaces, nil)
}

func (c *Container) cpuTime(ctx context.Context) (time.Duration, error) {
	return ask[time.Duration](ctx, c, sampler.MethodCgroup, nil)
}

// Device is the name of the container's device that has an address.
func (c *Container) Device(ctx context.Context, a netip.Addr) (string, error) {
	return ask[string](ctx, c, methodDevice, a)
}

// Resolve is the IPv4 address that a name has in the container.
func (c *Container) Resolve(ctx context.Context, name string) (netip.Addr, error) {
	return ask[netip.Addr](ctx, c, methodResolve, name)
}

// seen says that the container's first process is one of this machine, as nettoll sees it.
func (c *Container) seen() bool {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	return err == nil && c.pid > 0 && bytes.Contains(groups, []byte(c.id))
}

// end kills the container without its engine, which cannot do it any more. The first
// process takes all others of its PID namespace with it.
func (c *Container) end() {
	if c.seen() {
		_ = unix.Kill(c.pid, unix.SIGKILL) // fails where it has ended meanwhile
	}
}

// remove takes the container away and returns when it is gone.
func (c *Container) remove(ctx context.Context) error {
	return Object{Kind: "container", Name: c.name, id: c.id}.remove(ctx, c.engine.Client)
}
