package main

import (
	"bytes"
	"cmp"
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
	"nettoll/kube"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/kubernetes"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/workload"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Report what can run here, what cannot, why, and what would fix it",
		Long: `Try every network and tool, and report what can run here, what cannot, why, and what
would fix it. The exit status is 1 if no network can be built at all.`,
		Example: `  nettoll doctor
  nettoll doctor --json | jq -r '.networks[] | select(.ok).name'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !lab.Inside() { // the socket of the user's engine is visible only here
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

// refused reports whether the error means that there can be no lab, or no engine, so that a command that only looks
// can report it and continue.
func refused(ctx context.Context, err error) bool {
	return err != nil && !lab.Inside() && ctx.Err() == nil && !errors.Is(err, lab.ErrKilled) && !errors.As(err, new(exitError)) && !errors.As(err, &usageError{})
}

// diagnosis is the output of doctor.
type diagnosis struct {
	Machine   record.Machine `json:"machine"`
	Lab       finding        `json:"lab"`
	Placement string         `json:"placement"`
	Frequency string         `json:"frequency,omitempty"` // how the clock frequency of the CPUs is chosen
	Docker    finding        `json:"docker"`              // the user's engine
	Networks  []finding      `json:"networks"`
	Tools     []finding      `json:"tools"`
}

// finding says whether something can be used and how, or why not and what would fix that.
type finding struct {
	Name     string `json:"name"`
	Platform string `json:"platform,omitempty"` // of a network
	OK       bool   `json:"ok"`
	How      string `json:"how,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Fix      string `json:"fix,omitempty"`
}

// found returns the finding of an attempt.
func found(name, how string, err error) finding {
	f := finding{Name: name, OK: err == nil}
	if err == nil {
		f.How = told(how)
		return f
	}
	f.Reason = told(err.Error())
	if missing, ok := errors.AsType[*platform.Unsupported](err); ok {
		f.Fix = missing.Remedy
	}
	return f
}

// doctor tries everything if there is a lab, and otherwise only what needs none.
func (a *app) doctor(ctx context.Context, labless error, asJSON bool) error {
	m, err := machineHere()
	if err != nil {
		return err
	}
	as := "as root"
	if !lab.AsRoot() {
		as = "as an ordinary user, in a user namespace"
	}
	d := diagnosis{Machine: m, Lab: found("lab", as, labless), Placement: placementAdvice(m), Frequency: frequencyAdvice(m), Docker: engineFound()}
	for _, v := range catalogue(startable(a.paths, a.cni, true, true)) {
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

// tried tries the networks of a platform. The lab itself is known to work by now; other platforms are probed first.
func tried(ctx context.Context, v platformNetworks, labless error) (all []finding, err error) {
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
		f := found(v.name(t), v.planned(t).Span(), err)
		f.Platform = v.plan.Name
		all = append(all, f)
	}
	return all, nil
}

// diagnose writes a diagnosis as text.
func (a *app) diagnose(out *bytes.Buffer, d diagnosis) {
	fmt.Fprintf(out, "machine    %s, Linux %s, %s, %s\n", cmp.Or(d.Machine.OS, "no distribution"), d.Machine.Kernel, d.Machine.CPUModel, counted(len(d.Machine.CPUs), "CPU"))
	if d.Lab.OK {
		fmt.Fprintf(out, "lab        works, %s\n", d.Lab.How)
	} else {
		fmt.Fprintf(out, "lab        does not work: %s\n", d.Lab.Reason)
	}
	fmt.Fprintf(out, "placement  %s\n", d.Placement)
	if d.Frequency != "" {
		fmt.Fprintf(out, "frequency  %s\n", d.Frequency)
	}
	if d.Docker.OK {
		fmt.Fprintf(out, "docker     %s\n", d.Docker.How)
	} else {
		fmt.Fprintf(out, "docker     no engine: %s\n", d.Docker.Reason)
	}
	wide := record.Most(slices.Concat(d.Networks, d.Tools), func(f finding) int { return len(f.Name) })
	if d.Lab.OK {
		for _, v := range platforms() {
			name := v.plan.Name
			if v.with == "" {
				fmt.Fprintln(out, "\nnetworks")
			} else {
				fmt.Fprintf(out, "\nnetworks of %s, with %s\n", name, v.with)
			}
			of := record.Those(d.Networks, func(f finding) bool { return f.Platform == name })
			if why := of[0].Reason; why != "" && !slices.ContainsFunc(of, func(f finding) bool { return f.Reason != why }) {
				of = []finding{{Name: name + ":all", Reason: why}} // the reason is the platform's own
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
		fmt.Fprintf(out, "\nNone of %d networks can run here without a lab, but %d of %d tools can.\n", len(d.Networks), usable(d.Tools), len(d.Tools))
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

func usable(all []finding) int {
	return len(record.Those(all, func(f finding) bool { return f.OK }))
}

// remedies returns the fixes, starting with the one that fixes most.
func remedies(all []finding) (by []reason) {
	for _, f := range all {
		if f.Fix != "" {
			by = noted(by, f.Name, f.Fix)
		}
	}
	slices.SortStableFunc(by, func(a, b reason) int { return len(b.names) - len(a.names) })
	return by
}

// few names a few of many names.
func few(names []string) string {
	const most = 3
	if n := len(names); n > most {
		return fmt.Sprintf("%d more (%s …)", n, strings.Join(names[:most], ", "))
	}
	return strings.Join(names, ", ")
}

// startable returns platforms whose engines, or clusters, can be started for a run. Those of the others can only be named.
func startable(paths program.Paths, conflists cniFlags, private, cluster bool) engines {
	e := engines{paths: paths, cni: conflists}
	if private {
		o := docker.Options{Lab: lab.New()}
		e.docker, e.swarm = docker.New(o), docker.NewSwarm(o)
	}
	if cluster {
		e.kube = kubernetes.New(kubernetes.Options{Options: kube.Options{Paths: paths}, Lab: lab.New()})
	}
	return e
}

// engineEnv passes the state of the user's engine to the process inside. If there is no engine, it is a minus sign
// followed by the reason.
const engineEnv = "NETTOLL_ENGINE"

// stateTime bounds the wait for the user's engine to report its version.
const stateTime = 15 * time.Second

// engineState describes the Docker engine that the docker command would use.
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
		return "-" + told(err.Error())
	}
	return fmt.Sprintf("engine %s at %s, API %s", v.Version, target, c.ClientVersion())
}

// offerTime bounds the wait for the user's engine after a run that does not use it.
const offerTime = 10 * time.Second

// offerEngine reports, after a run that used no engine, how to compare the networks of an engine that answers here
// with those of the lab. One on another machine is not asked.
func (a *app) offerEngine(ctx context.Context) {
	if t, err := dial.Resolve(""); err != nil || !t.MayBeLocal() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	if state := engineState(ctx); !strings.HasPrefix(state, "-") {
		fmt.Fprintln(a.stdout, "\nA Docker engine is running here; this run did not use it. To compare its networks with the lab's: nettoll run "+
			"docker:bridge docker:published bridge published")
	}
}

// engineFound reports whether networks of Docker can be measured on the user's engine.
func engineFound() finding {
	state, missing := strings.CutPrefix(os.Getenv(engineEnv), "-")
	if missing {
		return found("docker", "", errors.New(state))
	}
	return found("docker", state, nil)
}

// toolFound reports which version of a tool is installed, or how to get it.
func toolFound(ctx context.Context, t workload.Tool) finding {
	from := ", built in"
	var err error
	if t.Probe != nil {
		from, err = "", t.Probe(ctx)
	}
	version := ""
	if err == nil {
		version, err = t.Version(ctx)
	}
	return found(t.Name, "version "+version+from+thisKernel.held(t), err)
}

// frequencyAdvice says how the clock frequency of the CPUs is chosen, and what to change about it; "" if that is not known.
func frequencyAdvice(m record.Machine) string {
	text := m.Power.Frequency()
	if m.Power.FollowsLoad() {
		text += ": follows the load; to measure, cpupower frequency-set -g performance"
	}
	return text
}

// placementAdvice describes where client and server would be pinned.
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
