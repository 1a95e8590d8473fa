package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/atonce"
	"nettoll/internal/bootstrap"
	"nettoll/internal/cgroup"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/record"
)

type labFlags struct {
	hosts, servers, clients int
	underlay                string
	in                      string
	nodes                   nodeFlags
}

func (a *app) labCommand() *cobra.Command {
	var f labFlags
	cmd := &cobra.Command{
		Use:                   "lab NETWORK|swarm|kubernetes [flags] [-- COMMAND [ARG...]]",
		DisableFlagsInUseLine: true,
		Short:                 "Build a network and run a shell or a command inside it",
		Long: `Build a network in a lab and run a shell, or a command, in the
client's network namespace, so that anyone can look at it with ping, tcpdump or
iperf3. "ip netns exec NAME COMMAND" reaches the other namespaces; the banner names
them, and the environment has NETTOLL_SERVER and NETTOLL_SERVER6, the server's
addresses. Everything is removed when the shell ends.

"lab swarm" starts Docker engines instead, which are nodes of one swarm, and runs the
shell on the host of its manager, where DOCKER_HOST points to the manager's engine.

"lab kubernetes" starts a Kubernetes cluster whose nodes are hosts of the lab, and runs
the shell on its first node, where KUBECONFIG points to the API server.`,
		Example: `  nettoll lab bridge
  nettoll lab vxlan -- sh -c 'ip netns exec h1c1 iperf3 -s -1 & sleep 1; iperf3 -c $NETTOLL_SERVER'
  nettoll lab routed --in h1 -- ip route
  nettoll lab swarm --nodes 3 -- docker node ls
  nettoll lab kubernetes --nodes 2 -- kubectl get nodes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) == 0 || n == 0 {
				return usagef("which network? See nettoll list networks")
			} else if n < 0 && len(args) > 1 || n > 1 {
				return usagef("%q: put the command after --", args[1])
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(platforms()[0].names(), labSwarm, labKubernetes), cobra.ShellCompDirectiveNoFileComp
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.hosts, "hosts", 0, "number of hosts (default: the least that the network makes sense on)")
	fl.IntVar(&f.servers, "servers", 1, "number of server containers")
	fl.IntVar(&f.clients, "clients", 1, "number of client containers")
	fl.StringVar(&f.underlay, "underlay", "", "shape of the link between hosts, such as rate=1G,delay=1ms")
	fl.StringVar(&f.in, "in", "", "namespace to run in (default: the first client's)")
	f.nodes.add(fl)
	completeValues(cmd, map[string]func() []string{"cni": cniNames})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if given := a.cni.given(); len(given) > 0 && args[0] != cniAll && !slices.Contains(given, args[0]) {
			return usagef("--cni-conf %s: lab %s is another network; write lab %s, or leave it out", a.cni.conf[0], args[0], given[0])
		}
		started := map[string]func(context.Context, labFlags, platform.Underlay, *rootfs.Image, []string) error{
			labSwarm: a.swarm, labKubernetes: a.kubernetes,
		}[args[0]]
		if err := f.nodes.check(fl, args[0], started != nil); err != nil {
			return err
		}
		if started != nil {
			return inLab(cmd.Context(), lab.EnterOptions{Foreground: true}, func(ctx context.Context) error {
				shape, err := f.shape()
				if err != nil {
					return err
				}
				root, err := labImage()
				if err != nil {
					return err
				}
				return started(ctx, f, shape, root, args[1:])
			})
		}
		if fl.Changed("hosts") && f.hosts < 1 {
			return usagef("--hosts %d: at least 1 is needed", f.hosts)
		}
		tech, topo, err := f.resolve(args[0], a.paths, a.cni)
		if err != nil {
			return err
		}
		return inLab(cmd.Context(), lab.EnterOptions{Foreground: true}, func(ctx context.Context) error {
			return a.lab(ctx, tech, topo, f.in, args[1:])
		})
	}
	return cmd
}

func (f labFlags) resolve(name string, paths program.Paths, conflists cniFlags) (d network.Driver, topo network.Topology, err error) {
	own := catalogue(engines{paths: paths, cni: conflists})[0]
	if name, err = conflists.one(name); err != nil {
		return d, topo, err
	}
	name = strings.TrimPrefix(name, "lab:")
	d, ok := own.find(name)
	if !ok {
		if _, elsewhere := recipes(engines{})[name]; elsewhere {
			return d, topo, usagef("%s is not a network of the lab; nettoll list networks lab shows those that are, lab swarm starts engines, and lab kubernetes a cluster%s", name, nearest(name[strings.Index(name, ":")+1:], own.names()))
		}
		return d, topo, usagef("unknown network %q; nettoll list networks lab shows all%s", name, nearest(name, own.names()))
	}
	topo = network.Topology{Hosts: cmp.Or(f.hosts, d.Hosts[0]), Servers: f.servers, Clients: f.clients}
	busiest, limit := max(f.servers, f.clients), cmp.Or(d.Endpoints, plan.MaxEndpoints)
	if topo.Hosts == 1 {
		busiest = f.servers + f.clients
	}
	switch planned := own.planned(d); {
	case !planned.Spans(topo.Hosts):
		err = usagef("--hosts %d: %s works on %s", f.hosts, name, planned.Span())
	case topo.Hosts > plan.MaxHosts:
		err = usagef("--hosts %d: at most %d are possible", f.hosts, plan.MaxHosts)
	case f.servers < 1 || f.clients < 1:
		err = usagef("--servers %d, --clients %d: at least 1 of each is needed", f.servers, f.clients)
	case busiest > limit:
		err = usagef("--servers %d, --clients %d: one host would hold %d, %s takes %d there", f.servers, f.clients, busiest, name, limit)
	case topo.Hosts == 1 && f.underlay != "":
		err = usagef("--underlay: one host has no link to others; leave it out, or take a network between hosts (--hosts 2)")
	default:
		topo.Underlay, err = f.shape()
	}
	return d, topo, err
}

// shape parses the shape of the links between hosts.
func (f labFlags) shape() (platform.Underlay, error) {
	shape, err := plan.ParseUnderlay(f.underlay)
	if err == nil {
		shape, err = known(nil, cniFlags{}, false, false).Shape(shape)
	}
	if err != nil {
		return platform.Underlay{}, usagef("--underlay: %w", err)
	}
	return platform.Underlay{Rate: shape.Rate, Delay: shape.Delay}, nil
}

// labTime bounds the building of a network for a lab, and its removal: longer than any user waits.
const labTime = 10 * time.Minute

// ending runs do, which removes what was made, even after an interrupt.
func ending(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), labTime)
	defer cancel()
	return do(ctx)
}

// lab runs the command in the network, inside the lab.
func (a *app) lab(ctx context.Context, tech network.Driver, topo network.Topology, in string, command []string) (err error) {
	p := lab.New()
	building, cancel := context.WithTimeoutCause(ctx, labTime, fmt.Errorf("the network was not built within %v", labTime))
	defer cancel()
	if err := tech.Probe(building, p); err != nil {
		return withRemedy(err)
	}
	n, err := tech.Connect(building, topo, p)
	if err != nil {
		return withRemedy(err)
	}
	defer func() { err = a.leftBehind(err, ending(ctx, n.Close)) }()

	all := slices.Concat(n.Clients, n.Servers, record.Each(n.Hosts, func(h platform.Host) platform.Endpoint { return h }))
	if err := lab.Publish(all); err != nil {
		return err
	}
	here := n.Clients[0]
	if in != "" {
		if here, err = endpoint(all, in); err != nil {
			return err
		}
	}
	env, err := a.banner(n, here, len(command) == 0)
	if err != nil {
		return err
	}
	return a.shell(ctx, here, command, env)
}

func endpoint(all []platform.Endpoint, name string) (platform.Endpoint, error) {
	if e, ok := record.First(all, func(e platform.Endpoint) bool { return e.Name() == name }); ok {
		return e, nil
	}
	return nil, usagef("--in %s: this network has %s", name, strings.Join(record.Each(all, platform.Endpoint.Name), ", "))
}

// banner prints the names and addresses, and returns them as environment.
func (a *app) banner(n *network.Network, here platform.Endpoint, interactive bool) ([]string, error) {
	c, s := n.Clients[0], n.Servers[0]
	var env, addrs []string
	for _, f := range []struct {
		family   network.Family
		variable string
	}{{network.IPv4, "NETTOLL_SERVER"}, {network.IPv6, "NETTOLL_SERVER6"}} {
		addr, err := n.Addr(c, s, f.family)
		if errors.Is(err, platform.ErrUnsupported) {
			continue // the other family is enough
		}
		if err != nil {
			return nil, err
		}
		env, addrs = append(env, f.variable+"="+addr.String()), append(addrs, addr.String())
	}
	if interactive {
		fmt.Fprintf(a.stderr, "You are in %s. The client %s reaches the server %s at %s.\n", here.Name(), c.Name(), s.Name(), strings.Join(addrs, " and "))
		fmt.Fprintf(a.stderr, "ip netns exec %s COMMAND runs on the server's side; exit removes everything.\n", s.Name())
	}
	return env, nil
}

// shell runs the command with the terminal and passes on its exit status.
func (a *app) shell(ctx context.Context, in platform.Endpoint, command, env []string) error {
	if len(command) == 0 {
		command = []string{cmp.Or(os.Getenv("SHELL"), "/bin/sh")}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return usagef("%s: no such program", command[0])
	}
	signal.Ignore(syscall.SIGTTOU)
	proc, err := in.Start(ctx, platform.Command{
		Path: command[0], Args: command[1:], Env: env,
		Stdin: os.Stdin, Stdout: a.stdout, Stderr: a.stderr, Foreground: true,
	})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = proc.Kill() })
	defer stop()
	err = proc.Wait()
	if ctx.Err() != nil { // this function has killed it
		return context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return exitError(128 + int(ws.Signal()))
		}
		return exitError(exit.ExitCode())
	}
	return err
}

// withRemedy adds the fix to an error, if one is known.
func withRemedy(err error) error {
	if missing, ok := errors.AsType[*platform.Unsupported](err); ok && missing.Remedy != "" {
		return fmt.Errorf("%w; fix: %s", err, missing.Remedy)
	}
	return err
}

// labSwarm is the argument of nettoll lab that stands for a swarm instead of a network.
const labSwarm = "swarm"

// defaultNodes are the default numbers of nodes: a manager and two workers of a swarm, and two nodes of a cluster.
var defaultNodes = map[string]int{labSwarm: 3, labKubernetes: 2}

// nodeFlags are the flags of lab swarm and lab kubernetes.
type nodeFlags struct {
	nodes int
	cni   string
}

func (f *nodeFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.nodes, "nodes", 0, "number of Docker engines of lab swarm (default 3), or of nodes of lab kubernetes (default 2)")
	fl.StringVar(&f.cni, "cni", record.CNIBridge, "what connects the pods of lab kubernetes: "+strings.Join(cniNames(), ", "))
}

// cniNames are the networks that pods of private clusters can have.
func cniNames() []string {
	d, _ := record.DimensionOf("cni")
	return d.Values
}

// count returns the number of nodes of a swarm or a cluster.
func (f *nodeFlags) count(of string) int { return cmp.Or(f.nodes, defaultNodes[of]) }

// check refuses these flags for networks, and the flags of networks for a swarm or a cluster.
func (f *nodeFlags) check(fl *pflag.FlagSet, name string, hasNodes bool) error {
	switch {
	case fl.Changed("cni") && name != labKubernetes:
		return usagef("--cni: only lab kubernetes has pods")
	case !slices.Contains(cniNames(), f.cni):
		return usagef("--cni %q: unknown; known are %s%s", f.cni, strings.Join(cniNames(), ", "), nearest(f.cni, cniNames()))
	}
	if !hasNodes {
		if fl.Changed("nodes") {
			return usagef("--nodes: only lab swarm and lab kubernetes have nodes; other networks take --hosts")
		}
		return nil
	}
	takes := "--nodes"
	if name == labKubernetes {
		takes = "--nodes, --cni"
	}
	for _, other := range []string{"hosts", "servers", "clients", "in"} {
		if fl.Changed(other) {
			return usagef("--%s: lab %s takes only %s and --underlay", other, name, takes)
		}
	}
	if fl.Changed("underlay") && f.count(name) == 1 {
		return usagef("--underlay: one node has no link to others; add --nodes 2, or leave it out")
	}
	if fl.Changed("nodes") && (f.nodes < 1 || f.nodes > plan.MaxHosts) {
		return usagef("--nodes %d: 1 to %d are possible", f.nodes, plan.MaxHosts)
	}
	return nil
}

// swarm starts engines of one swarm on hosts of the lab, and runs the command on the first, which is the manager.
// Everything is removed when the command ends.
func (a *app) swarm(ctx context.Context, f labFlags, shape platform.Underlay, root *rootfs.Image, command []string) (err error) {
	o := docker.Options{Run: newID(), Image: engine.Image{Root: root}, Lab: lab.New()}
	p := docker.NewSwarm(o)
	building, cancel := context.WithTimeoutCause(ctx, labTime, fmt.Errorf("the swarm was not ready within %v", labTime))
	defer cancel()
	if err := p.Probe(building); err != nil {
		return withRemedy(err)
	}
	defer func() { err = a.leftBehind(err, ending(ctx, p.Close)) }()
	hosts, err := p.Engines(building, platform.HostRequest{Count: f.nodes.count(labSwarm), Underlay: shape}, engine.Settings{})
	if err != nil {
		return withRemedy(err)
	}
	nodes := hosts.Docker
	defer func() {
		err = a.leftBehind(err, ending(ctx, func(ctx context.Context) error { return engine.Clear(ctx, nodes) }))
	}()
	image, err := loadAll(building, nodes)
	if err != nil {
		return err
	}
	if err := lab.Publish(nodes); err != nil {
		return err
	}
	return a.shell(ctx, nodes[0], command, a.swarmBanner(nodes, image, len(command) == 0))
}

// labImage returns an image of programs that are useful in a container to look at its network, and those that a container
// needs to receive an agent, as far as this machine has them: there is no registry to get others from.
func labImage() (*rootfs.Image, error) {
	agent, err := rootfs.Agent()
	if err != nil {
		return nil, err
	}
	in := []rootfs.Program{agent}
	for _, name := range append([]string{"sh", "sleep", "ip", "ping", "iperf3"}, bootstrap.Needs()...) {
		if path, err := exec.LookPath(name); err == nil && fits(path) == nil {
			in = append(in, asHere(path))
			if name == "sh" { // where scripts expect it
				in = append(in, rootfs.Program{File: path, Path: "/bin/sh"})
			}
		}
	}
	return rootfs.New(in...)
}

// loadAll loads the image on all nodes, and returns its name.
func loadAll(ctx context.Context, nodes []*engine.Host) (image string, err error) {
	images := make([]string, len(nodes))
	errs := atonce.Each(-1, nodes, func(i int, h *engine.Host) (err error) {
		images[i], err = h.Engine.Load(ctx)
		return err
	})
	return images[0], errors.Join(errs...)
}

// swarmBanner prints the addresses of the engines, and returns them as environment, in which the docker command
// uses the manager.
func (a *app) swarmBanner(nodes []*engine.Host, image string, interactive bool) []string {
	env := []string{"DOCKER_TLS_VERIFY=", "DOCKER_TLS=", "NETTOLL_IMAGE=" + image}
	for i, h := range nodes {
		at := h.Engine.Client.DaemonHost()
		if i == 0 {
			env = append(env, "DOCKER_HOST="+at)
		}
		env = append(env, fmt.Sprintf("NETTOLL_NODE%d=%s", i+1, at))
	}
	if !interactive {
		return env
	}
	fmt.Fprintf(a.stderr, "You are on h1, the manager of a swarm of %d; DOCKER_HOST points to its engine.\n", len(nodes))
	for i, h := range nodes[1:] {
		fmt.Fprintf(a.stderr, "The engine of %s is at %s (NETTOLL_NODE%d); ip netns exec %s COMMAND runs on its host.\n",
			h.Name(), h.Engine.Client.DaemonHost(), i+2, h.Name())
	}
	fmt.Fprintf(a.stderr, "All engines have the image %s (NETTOLL_IMAGE), and there is no registry. exit removes everything.\n", image)
	return env
}

// inLab runs fn inside a lab: this process becomes the outer one, and another, with the same arguments, reaches
// this function again and is inside.
func inLab(ctx context.Context, o lab.EnterOptions, fn func(context.Context) error) error {
	if !lab.Inside() {
		o.Done, o.Remove = ctx.Done(), cgroup.Remove
		status, err := lab.Enter(o)
		if err != nil {
			return err
		}
		if status != exitOK {
			return exitError(status)
		}
		return nil
	}
	if err := lab.Prepare(); err != nil {
		return err
	}
	unheard()
	return fn(ctx)
}

// unheard lets this process go on if nobody reads its output any more, as after head has ended, or after an interrupt that
// ended tee, too: it measures, or has to remove what it made. The signal is caught rather than ignored, so that what it
// starts, such as a lab's shell, has the default.
func unheard() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
