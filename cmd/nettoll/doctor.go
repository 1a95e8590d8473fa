package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/spf13/cobra"

	"nettoll/docker/dial"
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
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what can run here, what cannot, why, and what would fix it",
		Long: `Try every network and tool, and say what can run here, what cannot, why, and what would
fix it. The exit status is 1 where no network can be built at all.`,
		Example: `  nettoll doctor
  nettoll doctor --json | jq -r '.networks[] | select(.ok).name'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !lab.Inside() { // where the socket of the user's engine can be seen
				os.Setenv(engineEnv, engineState(cmd.Context()))
			}
			err := inLab(cmd.Context(), lab.EnterOptions{}, func(ctx context.Context) error { return a.doctor(ctx, nil, asJSON) })
			if refused(cmd.Context(), err) {
				return errors.Join(a.doctor(cmd.Context(), err, asJSON), err)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// refused reports whether an error is that there can be no lab, or no engine: what a command that
// only looks can say, and go on.
func refused(ctx context.Context, err error) bool {
	var told exitError
	return err != nil && !lab.Inside() && ctx.Err() == nil && !errors.Is(err, lab.ErrKilled) && !errors.As(err, &told) && !errors.As(err, &usageError{})
}

// diagnosis is what doctor finds.
type diagnosis struct {
	Machine   record.Machine `json:"machine"`
	Lab       finding        `json:"lab"`
	Placement string         `json:"placement"`
	Docker    finding        `json:"docker"` // the user's engine
	Networks  []finding      `json:"networks"`
	Tools     []finding      `json:"tools"`
}

// finding is whether something can be used, and how, or why not, and what would fix that.
type finding struct {
	Name     string `json:"name"`
	Platform string `json:"platform,omitempty"` // of a network
	OK       bool   `json:"ok"`
	How      string `json:"how,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Fix      string `json:"fix,omitempty"`
}

// found is a finding of something that was tried.
func found(name, how string, err error) finding {
	f := finding{Name: name, OK: err == nil}
	if err == nil {
		f.How = how
		return f
	}
	f.Reason = oneLine(err)
	var missing *platform.Unsupported
	if errors.As(err, &missing) {
		f.Fix = missing.Remedy
	}
	return f
}

// doctor tries all that there is, where there is a lab, and all that needs none elsewhere.
func (a *app) doctor(ctx context.Context, labless error, asJSON bool) error {
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		return err
	}
	as := "as root"
	if !lab.AsRoot() {
		as = "as an ordinary user, in a user namespace"
	}
	d := diagnosis{Machine: m, Lab: found("lab", as, labless), Placement: placementAdvice(m), Docker: engineFound()}
	for _, v := range venues(private(a.paths, a.cni)) {
		all, err := tried(ctx, v, labless)
		if err != nil {
			return err
		}
		d.Networks = append(d.Networks, all...)
	}
	for _, t := range tools(a.paths) {
		d.Tools = append(d.Tools, toolFound(ctx, t))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var out bytes.Buffer
	if asJSON {
		e := json.NewEncoder(&out)
		e.SetIndent("", "  ")
		err = e.Encode(d)
	} else {
		a.diagnose(&out, d)
	}
	if err == nil {
		_, err = a.stdout.Write(out.Bytes())
	}
	return err
}

// tried are the networks of a platform. That the lab itself works is known by now; another
// platform is asked first.
func tried(ctx context.Context, v venue, labless error) (all []finding, err error) {
	cannot := labless
	if cannot == nil && v.prefix != "" {
		cannot = v.platform.Probe(ctx)
	}
	for _, t := range v.drivers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := cannot
		if err == nil {
			err = t.Probe(ctx, v.platform)
		}
		f := found(v.name(t), hostCounts(t), err)
		f.Platform = v.platform.Name()
		all = append(all, f)
	}
	return all, nil
}

// diagnose writes a diagnosis for people.
func (a *app) diagnose(out *bytes.Buffer, d diagnosis) {
	fmt.Fprintf(out, "machine    %s, Linux %s, %s, %d CPUs\n", d.Machine.OS, d.Machine.Kernel, d.Machine.CPUModel, len(d.Machine.CPUs))
	if d.Lab.OK {
		fmt.Fprintf(out, "lab        works, %s\n", d.Lab.How)
	} else {
		fmt.Fprintf(out, "lab        does not work: %s\n", d.Lab.Reason)
	}
	fmt.Fprintf(out, "placement  %s\n", d.Placement)
	if d.Docker.OK {
		fmt.Fprintf(out, "docker     %s\n", d.Docker.How)
	} else {
		fmt.Fprintf(out, "docker     no engine: %s\n", d.Docker.Reason)
	}
	wide := 0
	for _, f := range slices.Concat(d.Networks, d.Tools) {
		wide = max(wide, len(f.Name))
	}
	if d.Lab.OK {
		for i, name := range platformNames() {
			if i == 0 {
				fmt.Fprintln(out, "\nnetworks")
			} else {
				fmt.Fprintf(out, "\nnetworks of %s, with --private-engine\n", name)
			}
			of := slices.DeleteFunc(slices.Clone(d.Networks), func(f finding) bool { return f.Platform != name })
			if why := of[0].Reason; why != "" && !slices.ContainsFunc(of, func(f finding) bool { return f.Reason != why }) {
				of = []finding{{Name: name + ":all", Reason: why}} // which is the platform's own
			}
			for _, f := range of {
				a.line(out, f, wide)
			}
		}
	}
	fmt.Fprintln(out, "\ntools")
	for _, f := range d.Tools {
		a.line(out, f, wide)
	}
	if d.Lab.OK {
		fmt.Fprintf(out, "\n%d of %d networks can run here, and %d of %d tools.\n", usable(d.Networks), len(d.Networks), usable(d.Tools), len(d.Tools))
	} else {
		fmt.Fprintf(out, "\nNone of %d networks can run here without a lab, and %d of %d tools can.\n", len(d.Networks), usable(d.Tools), len(d.Tools))
		return
	}
	for _, r := range remedies(slices.Concat(d.Networks, d.Tools)) {
		fmt.Fprintf(out, "For %s: %s\n", few(r.names), r.text)
	}
}

func (a *app) line(out *bytes.Buffer, f finding, wide int) {
	text := f.How
	if !f.OK {
		text = f.Reason
	}
	fmt.Fprintf(out, "  %s %-*s  %s\n", a.mark(f.OK), wide, f.Name, text)
}

func usable(all []finding) (n int) {
	for _, f := range all {
		if f.OK {
			n++
		}
	}
	return n
}

// remedies are what would fix something, that which fixes most first.
func remedies(all []finding) (by []reason) {
	for _, f := range all {
		if f.Fix != "" {
			by = noted(by, f.Name, f.Fix)
		}
	}
	slices.SortStableFunc(by, func(a, b reason) int { return len(b.names) - len(a.names) })
	return by
}

// few names a few of many.
func few(names []string) string {
	const most = 3
	if n := len(names); n > most {
		return fmt.Sprintf("%d more (%s …)", n, strings.Join(names[:most], ", "))
	}
	return strings.Join(names, ", ")
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
	target, err := dial.Resolve("")
	if err != nil {
		return "-" + err.Error()
	}
	c, err := dial.Connect(ctx, target)
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

// engineFound says whether networks of Docker can be measured on the user's engine.
func engineFound() finding {
	state, missing := strings.CutPrefix(os.Getenv(engineEnv), "-")
	if missing {
		return finding{Name: "docker", Reason: state}
	}
	return finding{Name: "docker", OK: true, How: state}
}

// toolFound says which version of a tool is there, or how to get it.
func toolFound(ctx context.Context, t workload.Tool) finding {
	from := ", built in"
	var err error
	if p, ok := t.(workload.Prober); ok {
		from, err = "", p.Probe(ctx)
	}
	version := ""
	if err == nil {
		version, err = t.Version(ctx)
	}
	return found(t.Name(), "version "+version+from+thisKernel.held(t), err)
}

// placementAdvice says where client and server would be pinned.
func placementAdvice(m record.Machine) string {
	cpus := runner.Place(m, record.PlacementDistinct)
	if len(cpus.Client) == 0 {
		return "one CPU only: client and server share it, and latency is that of one CPU"
	}
	return fmt.Sprintf("client on CPU %v, server on CPU %v", cpus.Client, cpus.Server)
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
