package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/pflag"

	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/lab"
)

// labSwarm is what nettoll lab is asked for to get a swarm, in place of a network.
const labSwarm = "swarm"

// defaultNodes is how many nodes it has: a manager and two workers.
const defaultNodes = 3

// swarmFlags are those of lab swarm.
type swarmFlags struct{ nodes int }

func (f *swarmFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.nodes, "nodes", defaultNodes, "number of Docker engines of lab swarm")
}

// check wants the flags of lab swarm for a swarm alone, and no others for it.
func (f *swarmFlags) check(fl *pflag.FlagSet, swarm bool) error {
	if !swarm {
		if fl.Changed("nodes") {
			return usagef("--nodes: lab swarm has nodes; other networks have --hosts")
		}
		return nil
	}
	for _, other := range []string{"hosts", "servers", "clients", "in"} {
		if fl.Changed(other) {
			return usagef("--%s: lab swarm takes --nodes and --underlay alone", other)
		}
	}
	if f.nodes < 1 || f.nodes > plan.MaxHosts {
		return usagef("--nodes %d: 1 to %d are possible", f.nodes, plan.MaxHosts)
	}
	return nil
}

// swarm starts engines of one swarm on hosts of the lab, and runs the command on the
// first, which is the manager. All is gone when it ends.
func (a *app) swarm(ctx context.Context, f labFlags, command []string) (err error) {
	shape, err := plan.ParseUnderlay(f.underlay)
	if err == nil {
		shape, err = known(nil, cniFlags{}, false).Shape(shape)
	}
	if err != nil {
		return usagef("--underlay: %w", err)
	}
	root, err := labImage()
	if err != nil {
		return err
	}
	var id [12]byte
	rand.Read(id[:])
	o := docker.Options{Run: hex.EncodeToString(id[:]), Image: engine.Image{Root: root}, Lab: lab.New()}
	p := docker.NewSwarm(o)
	building, cancel := context.WithTimeoutCause(ctx, labTime, fmt.Errorf("the swarm was not there within %v", labTime))
	defer cancel()
	if err := p.Probe(building); err != nil {
		return withRemedy(err)
	}
	defer func() { err = errors.Join(err, ending(ctx, p.Close)) }()
	hosts, err := p.Engines(building, platform.HostRequest{
		Count: f.swarm.nodes, Underlay: platform.Underlay{Rate: shape.Rate, Delay: shape.Delay},
	}, engine.Settings{})
	if err != nil {
		return withRemedy(err)
	}
	nodes := hosts.Docker()
	defer func() {
		err = errors.Join(err, ending(ctx, func(ctx context.Context) error { return engine.Clear(ctx, nodes) }))
	}()
	image, err := loadAll(building, nodes)
	if err != nil {
		return err
	}
	var all []platform.Endpoint
	for _, h := range nodes {
		all = append(all, h)
	}
	if err := lab.Publish(all); err != nil {
		return err
	}
	return a.shell(ctx, nodes[0], command, a.swarmBanner(nodes, image, len(command) == 0))
}

// labImage has what is worth having in a container to look at its network, as far as
// this machine has it: there is no registry to get others from.
func labImage() (*rootfs.Image, error) {
	agent, err := rootfs.Agent()
	if err != nil {
		return nil, err
	}
	in := []rootfs.Program{agent}
	for _, name := range []string{"sh", "ip", "ping", "iperf3"} {
		if path, err := exec.LookPath(name); err == nil && fits(path) {
			in = append(in, rootfs.Program{File: path, Path: path})
		}
	}
	return rootfs.New(in...)
}

// loadAll brings the image to all nodes, and gives its name.
func loadAll(ctx context.Context, nodes []*engine.Host) (image string, err error) {
	images := make([]string, len(nodes))
	errs := engine.Each(-1, nodes, func(i int, h *engine.Host) (err error) {
		images[i], err = h.Engine.Load(ctx)
		return err
	})
	return images[0], errors.Join(errs...)
}

// swarmBanner says what is where, and gives it as environment: the docker command speaks
// to the manager.
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
	fmt.Fprintf(a.stderr, "You are on h1, the manager of a swarm of %d; DOCKER_HOST leads to its engine.\n", len(nodes))
	for i, h := range nodes[1:] {
		fmt.Fprintf(a.stderr, "The engine of %s is at %s (NETTOLL_NODE%d); ip netns exec %s COMMAND runs on its host.\n",
			h.Name(), h.Engine.Client.DaemonHost(), i+2, h.Name())
	}
	fmt.Fprintf(a.stderr, "All engines have the image %s (NETTOLL_IMAGE), and there is no registry. exit takes all of it down.\n", image)
	return env
}
