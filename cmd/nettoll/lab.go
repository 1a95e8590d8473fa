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

	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/lab"
)

type labFlags struct {
	hosts, servers, clients int
	underlay                string
	in                      string
	swarm                   swarmFlags
}

func (a *app) labCommand() *cobra.Command {
	var f labFlags
	cmd := &cobra.Command{
		Use:   "lab NETWORK|swarm [-- COMMAND [ARG...]]",
		Short: "Build a network and run a shell or a command inside it",
		Long: `Build a network in a lab and run a shell, or a command, in the
client's network namespace, so that anyone can look at it with ping, tcpdump or
iperf3. "ip netns exec NAME COMMAND" reaches the other namespaces; the banner names
them, and the environment has NETTOLL_SERVER and NETTOLL_SERVER6, the server's
addresses. All is gone when the shell ends.

"lab swarm" starts Docker engines instead, which are nodes of one swarm, and runs the
shell on the host of its manager, where DOCKER_HOST leads to the manager's engine.`,
		Example: `  nettoll lab bridge
  nettoll lab vxlan -- sh -c 'ip netns exec h1c1 iperf3 -s -1 & sleep 1; iperf3 -c $NETTOLL_SERVER'
  nettoll lab routed --in h1 -- ip route
  nettoll lab swarm --nodes 3 -- docker node ls`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) == 0 || n == 0 {
				return usagef("which network? See nettoll list networks")
			} else if n < 0 && len(args) > 1 || n > 1 {
				return usagef("%q: put the command behind --", args[1])
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(venues(engines{})[0].names(), labSwarm), cobra.ShellCompDirectiveNoFileComp
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.hosts, "hosts", 0, "number of hosts (default: the least that the network makes sense on)")
	fl.IntVar(&f.servers, "servers", 1, "number of server containers")
	fl.IntVar(&f.clients, "clients", 1, "number of client containers")
	fl.StringVar(&f.underlay, "underlay", "", "shape of the link between hosts, such as rate=1G,delay=1ms")
	fl.StringVar(&f.in, "in", "", "namespace to be in (default: the first client's)")
	f.swarm.add(fl)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.swarm.check(fl, args[0] == labSwarm); err != nil {
			return err
		}
		if args[0] == labSwarm {
			return inLab(cmd.Context(), lab.EnterOptions{Foreground: true}, func(ctx context.Context) error {
				return a.swarm(ctx, f, args[1:])
			})
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

func (f labFlags) resolve(name string, paths program.Paths, conflists cniFlags) (network.Driver, network.Topology, error) {
	topo := network.Topology{Hosts: f.hosts, Servers: f.servers, Clients: f.clients}
	own := venues(engines{paths: paths, cni: conflists})[0]
	name, err := conflists.one(name)
	if err != nil {
		return network.Driver{}, topo, err
	}
	tech, ok := own.find(name)
	if _, elsewhere := recipes(engines{})[name]; !ok && elsewhere {
		return network.Driver{}, topo, usagef("%s is not a network of the lab%s; nettoll list networks lab shows those that are, and lab swarm starts engines", name, nearest(name[strings.Index(name, ":")+1:], own.names()))
	}
	if !ok {
		return network.Driver{}, topo, usagef("unknown network %q%s; see nettoll list networks", name, nearest(name, own.names()))
	}
	if topo.Hosts == 0 {
		topo.Hosts = tech.Hosts[0]
	}
	possible := false
	for _, h := range tech.Hosts {
		possible = possible || h == topo.Hosts || h == 2 && topo.Hosts > 2
	}
	if !possible {
		return network.Driver{}, topo, usagef("--hosts %d: %s works on %s", f.hosts, name, hostCounts(tech))
	}
	if topo.Hosts > plan.MaxHosts {
		return network.Driver{}, topo, usagef("--hosts %d: %d is the most", f.hosts, plan.MaxHosts)
	}
	if f.servers < 1 || f.clients < 1 {
		return network.Driver{}, topo, usagef("--servers %d, --clients %d: at least 1 of each is needed", f.servers, f.clients)
	}
	busiest, limit := max(f.servers, f.clients), cmp.Or(tech.Endpoints, plan.MaxEndpoints)
	if topo.Hosts == 1 {
		busiest = f.servers + f.clients
	}
	if busiest > limit {
		return network.Driver{}, topo, usagef("--servers %d, --clients %d: one host would hold %d, %s takes %d there", f.servers, f.clients, busiest, name, limit)
	}
	shape, err := plan.ParseUnderlay(f.underlay)
	if err == nil {
		shape, err = known(nil, cniFlags{}, false).Shape(shape)
	}
	if err != nil {
		return network.Driver{}, topo, usagef("--underlay: %w", err)
	}
	topo.Underlay = platform.Underlay{Rate: shape.Rate, Delay: shape.Delay}
	return tech, topo, nil
}

func hostCounts(t network.Driver) string {
	switch first := t.Hosts[0]; {
	case len(t.Hosts) == 2:
		return "any number of hosts"
	case first == 2:
		return "2 or more hosts"
	default:
		return hosts(first)
	}
}

// labTime bounds the building of a network for a lab, and its taking down: more than anybody
// waits for.
const labTime = 10 * time.Minute

// ending takes down what was made, also after an interrupt.
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
	defer func() { err = errors.Join(err, ending(ctx, n.Close)) }()

	all := slices.Concat(n.Clients, n.Servers)
	for _, h := range n.Hosts {
		all = append(all, h)
	}
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
	var names []string
	for _, e := range all {
		if e.Name() == name {
			return e, nil
		}
		names = append(names, e.Name())
	}
	return nil, usagef("--in %s: this network has %s", name, strings.Join(names, ", "))
}

// banner says what is where, and gives it as environment.
func (a *app) banner(n *network.Network, here platform.Endpoint, interactive bool) ([]string, error) {
	c, s := n.Clients[0], n.Servers[0]
	var env, addrs []string
	for _, f := range []struct {
		family   network.Family
		variable string
	}{{network.IPv4, "NETTOLL_SERVER"}, {network.IPv6, "NETTOLL_SERVER6"}} {
		addr, err := n.Addr(c, s, f.family)
		if errors.Is(err, platform.ErrUnsupported) {
			continue // the other one will do
		}
		if err != nil {
			return nil, err
		}
		env, addrs = append(env, f.variable+"="+addr.String()), append(addrs, addr.String())
	}
	if interactive {
		fmt.Fprintf(a.stderr, "You are in %s. The client %s reaches the server %s at %s.\n", here.Name(), c.Name(), s.Name(), strings.Join(addrs, " and "))
		fmt.Fprintf(a.stderr, "ip netns exec %s COMMAND runs on the server's side; exit takes all of it down.\n", s.Name())
	}
	return env, nil
}

// shell runs the command with the terminal and hands its exit status on.
func (a *app) shell(ctx context.Context, in platform.Endpoint, command, env []string) error {
	if len(command) == 0 {
		command = []string{"/bin/sh"}
		if sh := os.Getenv("SHELL"); sh != "" {
			command[0] = sh
		}
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
	if ctx.Err() != nil { // we have ended it
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return exitError(128 + int(ws.Signal()))
		}
		return exitError(exit.ExitCode())
	}
	return err
}

// withRemedy adds what would fix an error, where that is known.
func withRemedy(err error) error {
	var missing *platform.Unsupported
	if errors.As(err, &missing) && missing.Remedy != "" {
		return fmt.Errorf("%w; fix: %s", err, missing.Remedy)
	}
	return err
}
