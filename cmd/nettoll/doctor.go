package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/spf13/cobra"

	"nettoll/internal/dockerhost"
	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what can run here, what cannot, why, and what would mend it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !lab.Inside() { // where the socket of the user's engine can be seen
				os.Setenv(engineEnv, engineState(cmd.Context()))
			}
			return inLab(cmd.Context(), lab.EnterOptions{}, a.doctor)
		},
	}
}

func (a *app) doctor(ctx context.Context) error {
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		return err
	}
	as := "as root"
	if !lab.AsRoot() {
		as = "as an ordinary user, in a user namespace"
	}
	fmt.Fprintf(a.stdout, "machine    %s, Linux %s, %s, %d CPUs\n", m.OS, m.Kernel, m.CPUModel, len(m.CPUs))
	fmt.Fprintf(a.stdout, "lab        works, %s\n", as)
	a.placementAdvice(m)
	a.engine()
	for _, v := range venues(private(a.paths, a.cni)) {
		if err := a.venue(ctx, v); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.stdout, "\ntools")
	for _, t := range tools(a.paths) {
		a.tool(ctx, t)
	}
	return nil
}

// private are platforms of engines that would be started.
func private(paths program.Paths, conflists cniFlags) engines {
	o := docker.Options{Lab: lab.New()}
	return engines{docker: docker.New(o), swarm: docker.NewSwarm(o), paths: paths, cni: conflists}
}

// engineEnv tells the process inside what was found of the user's engine. A reason for
// which there is none begins with a minus.
const engineEnv = "NETTOLL_ENGINE"

// stateTime bounds how long the user's engine may take to say what it is.
const stateTime = 15 * time.Second

// engineState says which Docker engine the docker command would use.
func engineState(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, stateTime)
	defer cancel()
	target, err := dockerhost.Resolve("")
	if err != nil {
		return "-" + err.Error()
	}
	c, err := dockerhost.Connect(ctx, target)
	if err != nil {
		return "-" + err.Error()
	}
	defer c.Close()
	v, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "-" + oneLine(err)
	}
	return fmt.Sprintf("engine %s at %s, API %s", v.Version, target, c.ClientVersion())
}

// offerTime bounds how long the user's engine may take to answer after a run that is not of it.
const offerTime = 3 * time.Second

// offerEngine says, after a run that touched no engine, how the networks of the one that answers
// here are measured beside those of the lab.
func (a *app) offerEngine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	if state := engineState(ctx); !strings.HasPrefix(state, "-") {
		fmt.Fprintln(a.stdout, "\nA Docker engine answers here; this run left it alone. Its own networks beside the lab's: nettoll run "+
			"docker:bridge docker:published bridge published")
	}
}

// engine says whether networks of Docker can be measured on the user's engine.
func (a *app) engine() {
	state, missing := strings.CutPrefix(os.Getenv(engineEnv), "-")
	if missing {
		fmt.Fprintf(a.stdout, "docker     no engine: %s\n", state)
		return
	}
	fmt.Fprintf(a.stdout, "docker     %s\n", state)
}

// venue says which networks of a platform can be built. That the lab itself works has
// been shown by getting here; another platform is asked first.
func (a *app) venue(ctx context.Context, v venue) error {
	if v.prefix == "" {
		fmt.Fprintln(a.stdout, "\ntechniques")
	} else {
		fmt.Fprintf(a.stdout, "\ntechniques of %s, with --private-engine\n", v.platform.Name())
		if err := v.platform.Probe(ctx); err != nil {
			a.cannot(v.platform.Name(), err)
			return ctx.Err()
		}
	}
	for _, t := range v.techniques {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.Probe(ctx, v.platform); err != nil {
			a.cannot(v.name(t), err)
			continue
		}
		fmt.Fprintf(a.stdout, "  %s %-24s %s\n", a.mark(true), v.name(t), hostCounts(t))
	}
	return nil
}

// cannot says why something cannot be used, and what would mend it.
func (a *app) cannot(name string, err error) {
	fmt.Fprintf(a.stdout, "  %s %-24s %v\n", a.mark(false), name, err)
	var missing *platform.Unsupported
	if errors.As(err, &missing) {
		fmt.Fprintf(a.stdout, "  %26s to mend it: %s\n", "", missing.Remedy)
	}
}

// tool says which version of a tool is there, or how to get it.
func (a *app) tool(ctx context.Context, t workload.Tool) {
	from := ", built in"
	var err error
	if p, ok := t.(workload.Prober); ok {
		from, err = "", p.Probe(ctx)
	}
	version := ""
	if err == nil {
		version, err = t.Version(ctx)
	}
	if err == nil {
		fmt.Fprintf(a.stdout, "  %s %-24s version %s%s%s\n", a.mark(true), t.Name(), version, from, thisKernel.held(t))
		return
	}
	a.cannot(t.Name(), err)
}

// placementAdvice says where client and server would be pinned.
func (a *app) placementAdvice(m record.Machine) {
	cpus := runner.Place(m, record.PlacementDistinct)
	if len(cpus.Client) == 0 {
		fmt.Fprintln(a.stdout, "placement  one CPU only: client and server share it, and latency is that of one CPU")
		return
	}
	fmt.Fprintf(a.stdout, "placement  client on CPU %v, server on CPU %v\n", cpus.Client, cpus.Server)
}

func (a *app) mark(ok bool) string {
	text, color := "ok  ", "\x1b[32m"
	if !ok {
		text, color = "no  ", "\x1b[31m"
	}
	if a.terminal && !a.noColor {
		return color + text + "\x1b[0m"
	}
	return text
}
