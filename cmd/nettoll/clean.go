package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"nettoll/docker/dial"
	"nettoll/docker/engine"
	"nettoll/internal/atonce"
	"nettoll/internal/cgroup"
	"nettoll/internal/remote"
)

// cleanFlags selects what is cleaned.
type cleanFlags struct {
	engines  engineFlags
	machines machineFlags
	yes, all bool
}

func (a *app) cleanCommand() *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "List what killed runs have left behind, and remove it with --yes",
		Long: `List what runs that were killed have left on Docker engines: services, containers,
networks, images and volumes with the label ` + engine.Label + `, and nothing else; and on this
machine the control groups of private engines. Labs leave nothing. --yes removes it.

Objects of runs that are still active are kept. So are those of runs that began on another
machine, in another container or before this machine was booted: whether these are still
active is not known here. --all removes them too; make sure first that the runs have ended.

With --hosts-ssh it logs in to these machines instead, as runs do, and looks there: for folders
of agents that were killed while they were received, for agents that hang, and for a device
that an agent was making. Nothing else of a run can be left there.`,
		Example: `  nettoll clean                    what would be removed
  nettoll clean --yes
  nettoll clean --yes --docker-host ssh://me@server
  nettoll clean --hosts-ssh a,me@b --sudo`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.clean(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.engines.at, "docker-host", nil, "Docker engine, by URL or context; may be given several times (default: that of the docker command)")
	fl.StringSliceVar(&f.machines.targets, "hosts-ssh", nil, "machines to look at, as ssh takes them: a,me@b")
	fl.BoolVar(&f.machines.sudo, "sudo", false, "look as root on them, by sudo without a password, as runs with --sudo do")
	fl.BoolVarP(&f.yes, "yes", "y", false, "remove what is listed")
	fl.BoolVar(&f.all, "all", false, "also remove objects of runs that may still be active elsewhere")
	return cmd
}

// swept is the result of cleaning one engine.
type swept struct {
	engine.Cleaned
	on  string // " on ADDRESS" if there are several engines
	err error
}

// clean lists what is left on engines and on this machine, one line per object, and removes it if requested.
func (a *app) clean(ctx context.Context, f cleanFlags) error {
	if err := cmp.Or(f.engines.named(), f.machines.checkTargets()); err != nil {
		return err
	}
	if f.machines.sudo && len(f.machines.targets) == 0 {
		return usagef("--sudo is for machines that are reached by ssh: name them with --hosts-ssh, or leave it out")
	}
	var c cleaning
	if len(f.machines.targets) == 0 {
		a.cleanHere(f, &c)
	} else {
		a.cleanMachines(ctx, f, &c)
	}
	if len(f.machines.targets) == 0 || len(f.engines.at) > 0 {
		a.cleanEngines(ctx, f, &c)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := errors.Join(c.failed...); err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(a.stderr, "nettoll: %s\n", told(line))
		}
		return exitError(exitFailure)
	}
	switch {
	case c.found+c.kept == 0:
		fmt.Fprintln(a.stdout, "nothing was left behind")
	case c.found > 0 && !f.yes:
		fmt.Fprintln(a.stderr, "nettoll clean --yes removes it")
	}
	return nil
}

// cleaning is what was found so far, and what could not be looked at or removed.
type cleaning struct {
	found, kept int
	failed      []error
}

// verb says what happens to what is found.
func (f cleanFlags) verb() string {
	if f.yes {
		return "removed"
	}
	return "would remove"
}

// cleanHere lists the control groups that are left on this machine, and removes them if requested.
func (a *app) cleanHere(f cleanFlags, c *cleaning) {
	groups := cgroup.Left()
	if f.yes {
		var err error
		groups, err = cgroup.Sweep("")
		c.failed = append(c.failed, err)
	}
	for _, name := range groups {
		fmt.Fprintf(a.stdout, "%s control group %s\n", f.verb(), name)
	}
	c.found += len(groups)
}

// cleanMachines does the same on machines that are reached by ssh.
func (a *app) cleanMachines(ctx context.Context, f cleanFlags, c *cleaning) {
	on := f.machines.machines()
	for _, s := range on.Sweep(ctx, remote.Sweep{Remove: f.yes, All: f.all}) {
		for _, l := range s.Left {
			what := told(l.What + " on " + s.Target)
			switch {
			case l.Failed != "":
				c.failed = append(c.failed, fmt.Errorf("%s: %s", what, told(l.Failed)))
			case l.Kept != "":
				c.kept++
				fmt.Fprintf(a.stdout, "kept %s: %s\n", what, told(l.Kept))
			default:
				c.found++
				fmt.Fprintf(a.stdout, "%s %s\n", f.verb(), what)
			}
		}
		c.failed = append(c.failed, s.Err)
	}
}

// cleanEngines does the same on engines.
func (a *app) cleanEngines(ctx context.Context, f cleanFlags, c *cleaning) {
	for _, s := range f.sweep(ctx) {
		for _, o := range s.Removed {
			fmt.Fprintf(a.stdout, "%s %s\n", f.verb(), told(o.String()+s.on))
		}
		for _, t := range s.Kept {
			what, why := fmt.Sprintf("%d objects", len(t.Objects)), "it may still be active; --all removes this too"
			if len(t.Objects) == 1 {
				what = t.Objects[0].String()
			}
			if t.State == engine.Going {
				why = "it is still active"
			}
			fmt.Fprintf(a.stdout, "kept %s: %s\n", told(what+s.on+" of run "+t.Run), why)
		}
		c.found, c.kept = c.found+len(s.Removed), c.kept+len(s.Kept)
		c.failed = append(c.failed, s.err)
	}
}

// sweep cleans all engines at once, since those of a swarm wait for each other.
func (f cleanFlags) sweep(ctx context.Context) []swept {
	dials := f.engines.dial()
	all := make([]swept, len(dials))
	keep := func(t engine.Trace) bool { return t.State == engine.Going || t.State == engine.Unknown && !f.all }
	errs := atonce.Each(-1, dials, func(i int, connect dialEngine) error {
		c, _, err := connect(ctx)
		if f.absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer c.Close()
		if len(dials) > 1 {
			all[i].on = " on " + dial.Redacted(f.engines.at[i])
		}
		all[i].Cleaned, err = engine.Clean(ctx, c, !f.yes, keep)
		return err
	})
	for i, err := range errs {
		all[i].err = err
	}
	return all
}

// absent reports whether there is no engine and the user did not name one.
func (f cleanFlags) absent(err error) bool {
	var away *dial.Unreachable
	return len(f.engines.at) == 0 && errors.As(err, &away) && away.Target.Source == "default socket" && errors.Is(err, fs.ErrNotExist)
}
