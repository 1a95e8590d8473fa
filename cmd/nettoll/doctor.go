package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nettoll/platform"
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
	fmt.Fprintln(a.stdout, "\ntechniques")
	p := platforms()[0]
	for _, t := range techniques() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := t.Probe(ctx, p)
		if err == nil {
			fmt.Fprintf(a.stdout, "  %s %-17s %s\n", a.mark(true), t.Name(), hostCounts(t))
			continue
		}
		fmt.Fprintf(a.stdout, "  %s %-17s %v\n", a.mark(false), t.Name(), err)
		var missing *platform.Unsupported
		if errors.As(err, &missing) {
			fmt.Fprintf(a.stdout, "  %19s to mend it: %s\n", "", missing.Remedy)
		}
	}
	fmt.Fprintln(a.stdout, "\ntools")
	for _, t := range tools(a.paths) {
		a.tool(ctx, t)
	}
	return nil
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
		fmt.Fprintf(a.stdout, "  %s %-17s version %s%s\n", a.mark(true), t.Name(), version, from)
		return
	}
	fmt.Fprintf(a.stdout, "  %s %-17s %v\n", a.mark(false), t.Name(), err)
	var missing *platform.Unsupported
	if errors.As(err, &missing) {
		fmt.Fprintf(a.stdout, "  %19s to mend it: %s\n", "", missing.Remedy)
	}
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
