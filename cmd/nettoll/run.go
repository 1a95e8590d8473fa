package main

import (
	"cmp"
	"context"
	crypto "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/analysis"
	"nettoll/internal/netns"
	"nettoll/internal/origin"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/kubernetes"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/report"
	"nettoll/runner"
	"nettoll/sampler"
)

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [NETWORK...]",
		Short: "Measure what container networks cost",
		Long: `Build each network, drive traffic through it, prove the path, and compare it with
native. Without arguments it measures the suite "quick" in a minute.

Every finished trial is one line of the run file, on disk before the next begins.
Ctrl-C ends the run with a report of its trials so far; --resume resumes it.

The exit status is 0 when everything that can run here has a good trial, even if single
trials failed, which the report counts; 1 when something has no good trial, also if the time
was too short for it, or only its baseline cannot run here, or the run failed or stopped
because nothing more could be measured, or something that it made could not be removed, or
--self-check found more false alarms than its level promises; 2 for a mistake in the command
line or in a suite, or a run file that cannot be used; 130 when the run was interrupted.`,
		Example: `  nettoll run
  nettoll run bridge bridge-nonf --hosts 1 --precision 2% --time-budget 5m
  nettoll run docker               what Docker's bridge and a published port cost
  nettoll run all -4 -6 --time-budget 1h -o all.ndjson
  nettoll run vxlan routed --underlay rate=1G
  nettoll run bridge bridge-nonf --hosts 1 --baseline veth
  nettoll run bridge macvlan --hosts 1 --clients 1,2,4,8,16
  nettoll run bridge --tool all
  nettoll run --suite icc-2014
  nettoll run --suite my-suite.yaml --dry-run
  nettoll run --resume nettoll-20260102-150405.ndjson`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return networksOf(cmd), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.paths, f.cni = a.paths, a.cni
			f.known = sync.OnceValue(func() plan.Known { return known(a.paths, a.cni, f.private, f.cluster) })
			if len(args) == 1 && args[0] == "help" {
				return usagef("help is not a network; did you mean nettoll run --help?")
			}
			if err := yielding(); err != nil {
				return err
			}
			if f.dryRun && f.given("format") {
				return usagef("--dry-run prints a plan, which has no other format; leave --format out")
			}
			if f.resume != "" {
				if err := f.suitResume(cmd.Flags(), args); err != nil {
					return err
				}
			}
			suite, err := f.suiteOf(args)
			if err != nil {
				return err
			}
			if f.resume != "" {
				return a.resume(cmd, f)
			}
			cells, err := f.expand(suite)
			if err != nil {
				return f.fault(err, args)
			}
			if err := f.suitEngines(cells); err != nil {
				return err
			}
			if cells, err = f.fit(&suite, cells); err != nil {
				return f.fault(err, args)
			}
			if err := cmp.Or(f.suitMachines(cells), f.suitClusters(cells)); err != nil {
				return err
			}
			if cells, err = f.hold(cells, toolByName(a.paths)); err != nil {
				return err
			}
			cells = f.shareOnlyCPU(cells)
			set := plan.Settings(suite)
			set.SelfCheck, set.Venue = f.selfCheck, f.venue(cells)
			if set.Congestion, err = congestion(f.outside(cells)); err != nil {
				return err
			}
			if err := f.checkOutput(cells); err != nil {
				return err
			}
			if err := f.reachable("--suite", f.suite, cells); err != nil && !slices.Contains(plan.Names(), f.suite) {
				return err // it is read again inside the lab
			}
			if err := a.tasksFit(&f, cells, set); err != nil {
				return err
			}
			if f.dryRun {
				return a.dryRun(cmd.Context(), f, cells, plan.Skipped(suite, f.known()), set)
			}
			if err := f.checkTime(cells, set); err != nil {
				return err
			}
			err = a.where(cmd.Context(), &f, cells, func(ctx context.Context) error {
				if err := f.agree(ctx, cells, &set); err != nil {
					return err
				}
				return a.measure(ctx, f, suite, cells, set)
			})
			if err == nil && len(args) == 0 && !f.given("suite") && !f.given("platform") && f.format == "text" && !lab.Inside() {
				a.offerEngine(cmd.Context())
			}
			return err
		},
	}
	f.add(cmd.Flags())
	f.given = cmd.Flags().Changed
	cmd.SetUsageFunc(a.groupedUsage)
	completeNames(cmd)
	return cmd
}

// yielding refuses to measure under a real-time policy, which the processes of the traffic would inherit: they would keep
// everything else from the CPUs for good, the kernel's own threads and nettoll included.
func yielding() error {
	at, err := unix.SchedGetAttr(0, 0)
	if err != nil || at.Flags&unix.SCHED_FLAG_RESET_ON_FORK != 0 {
		return nil // a kernel that does not say; or the others do not inherit it
	}
	if slices.Contains([]uint32{unix.SCHED_FIFO, unix.SCHED_RR, unix.SCHED_DEADLINE}, at.Policy) {
		return usagef("this process has a real-time policy (chrt), under which its traffic would keep all else from the CPUs; run it under the usual one: chrt --other 0 nettoll run")
	}
	return nil
}

// shareOnlyCPU has client and server share the CPU of a machine that has only one, unless a placement was requested.
func (f *runFlags) shareOnlyCPU(cells []record.Cell) []record.Cell {
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil || len(m.CPUs) != 1 || f.given("placement") || f.outside(cells) {
		return cells
	}
	for i := range cells {
		if cells[i].Placement == record.PlacementDistinct {
			cells[i].Placement, f.shared = record.PlacementSame, true
		}
	}
	return record.Distinct(cells, func(c record.Cell) record.Cell { return c })
}

// congestion returns the congestion control of TCP flows for which none is named, the same for the whole run. In a
// lab, and on engines that are started there, all processes are privileged; on the user's engines, they need not
// be.
func congestion(borrowed bool) (string, error) {
	c, err := sampler.ReadCongestion("/proc")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the available ones are unknown: all flows have the machine's default
	}
	if err != nil {
		return "", err
	}
	return c.Unpaced(!borrowed), nil
}

// agree replaces the congestion control of a run between machines that are reached by ssh, or between pods on the user's cluster:
// their kernels decide what can be used there. In a run that measures something else as well, this machine's choice stays if
// they can use it. A dry run makes no pods, and keeps it.
func (f *runFlags) agree(ctx context.Context, cells []record.Cell, set *record.Settings) (err error) {
	var asked []network.Agent
	machines, pods := ofMachines(cells), ofClusters(cells)
	if len(machines) > 0 {
		asked = f.machines().Agents()
	}
	if f.cluster || f.dryRun || !slices.ContainsFunc(pods, func(c record.Cell) bool { return c.Options.Congestion == "" }) {
		pods = nil
	} else {
		agents, end, err := f.own().Kernels(ctx, slices.Max(record.Distinct(pods, func(c record.Cell) int { return c.Hosts })))
		defer end()
		if err != nil && !errors.Is(err, platform.ErrUnsupported) { // look finds what the cluster refuses
			return err
		}
		asked = append(asked, agents...)
	}
	if len(asked) == 0 {
		return nil
	}
	if len(machines)+len(pods) < len(cells) {
		asked = append(asked, settled(set.Congestion))
	}
	set.Congestion, err = sampler.AskCongestion(ctx, asked...)
	return err
}

// settled stands for machines that are not asked, and use this congestion control.
type settled string

// Call implements network.Agent.
func (s settled) Call(_ context.Context, _ string, _, out any) error {
	*out.(*sampler.Control) = sampler.Control{Own: string(s), Usable: []string{string(s), "reno"}} // reno is always there
	return nil
}

// completeNames completes the values of flags of run.
func completeNames(cmd *cobra.Command) {
	instances := func() []string {
		return record.Each(known(nil, cniFlags{}, false, false).Instances, func(i plan.Instance) string { return i.Name })
	}
	flags := map[string]func() []string{
		"platform": platformNames, "baseline": networkNames, "format": formatList,
		"tools":     func() []string { return slices.Concat(slices.Sorted(maps.Keys(toolByName(nil))), []string{"all"}) },
		"workloads": func() []string { names, _ := workloads(); return names },
		"hosts-ssh": func() []string {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil
			}
			b, _ := os.ReadFile(filepath.Join(home, ".ssh", "config")) // without it there are no names
			return hostsOf(string(b))
		},
		"context": func() []string { return kube.Contexts() }, "zones": func() []string { return []string{kube.SameZone, kube.OtherZone} },
		"underlay": instances, "instance": instances,
		"expect": func() []string { return kube.Expectable },
		"congestion": func() []string {
			c, _ := sampler.ReadCongestion("/proc")
			return c.There
		},
	}
	for _, d := range record.Dimensions() {
		if d.Values != nil {
			flags[d.Name] = func() []string { return d.Values }
		}
	}
	completeValues(cmd, flags)
	_ = cmd.RegisterFlagCompletionFunc("suite", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return plan.Names(), cobra.ShellCompDirectiveDefault // or a file
	})
}

// completeValues completes the values of flags, after the last comma in lists.
func completeValues(cmd *cobra.Command, flags map[string]func() []string) {
	for flag, names := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			before := begun[:strings.LastIndex(begun, ",")+1]
			given := strings.Split(before, ",")
			left := record.Those(names(), func(name string) bool { return !slices.Contains(given, name) })
			return record.Each(left, func(name string) string { return before + name }), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// completeFiles completes the names of files and folders, for the flags that take them.
func completeFiles(cmd *cobra.Command) {
	for directive, flags := range map[cobra.ShellCompDirective][]string{
		cobra.ShellCompDirectiveDefault:    {"output", "resume", "kubeconfig", "cni-conf", "docker-tools", "tool-path"},
		cobra.ShellCompDirectiveFilterDirs: {"charts", "cni-bin"},
	} {
		for _, flag := range flags { // fails for commands without the flag
			_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, directive })
		}
	}
}

// workloads returns the workloads that some tool drives, and the tools that do.
func workloads() (names []string, by map[string][]string) {
	by = map[string][]string{}
	for _, t := range tools(nil) {
		for _, d := range t.Drives {
			if by[d.Workload] == nil {
				names = append(names, d.Workload)
			}
			by[d.Workload] = append(by[d.Workload], t.Name)
		}
	}
	return names, by
}

// where runs fn in a lab, or directly if the user's engines or machines are measured.
func (a *app) where(ctx context.Context, f *runFlags, cells []record.Cell, fn func(context.Context) error) (err error) {
	if !f.outside(cells) {
		defer hold(cmp.Or(f.resume, f.output))()
		return inLab(ctx, lab.EnterOptions{}, fn)
	}
	unheard()
	// As in a lab: while ctrl-Z stopped this process, the clocks of a measurement would go on. Caught, it has no effect.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTSTP)
	if err := thisKernel.safe(cells, f.paths); err != nil {
		return err
	}
	if f.borrows(cells) {
		if err := f.check(ctx); err != nil {
			return explainEngine(err)
		}
	}
	defer f.part(ctx)
	if err := a.reach(ctx, f, cells); err != nil {
		return err
	}
	defer func() { err = a.leftBehind(err, f.leaveCluster(ctx)) }()
	if err := a.lodge(ctx, f, cells); err != nil {
		return err
	}
	return fn(ctx)
}

// outside reports whether nettoll has to run outside of a lab: next to the user's engines, with the user's ssh, or on the
// user's cluster.
func (f *runFlags) outside(cells []record.Cell) bool {
	return f.borrows(cells) || len(ofMachines(cells)) > 0 || !f.cluster && len(ofClusters(cells)) > 0
}

// checkOutput reports, before anything is measured, a run file that cannot be written.
func (f *runFlags) checkOutput(cells []record.Cell) error {
	if f.output == "" {
		return nil
	}
	if info, err := os.Stat(f.output); err == nil && info.IsDir() {
		return usagef("-o %s: it is a folder; name a file", f.output)
	}
	if info, err := os.Lstat(f.output); err == nil && !info.Mode().IsRegular() {
		return usagef("-o %s: it is not a regular file; name a new one", f.output)
	} else if err == nil && info.Size() == 0 {
		return usagef("-o %s: the file exists, and is empty; remove it, or name another", f.output)
	} else if err == nil {
		return usagef("-o %s: the file exists; resume it with --resume, or name another", f.output)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return usagef("-o %s: %w", f.output, cause(err))
	}
	if text, page := strings.CutSuffix(f.output, ".html"); page {
		return usagef("-o %s: this is the run file, next to which its report is written; name it %s.ndjson", f.output, text)
	}
	if page := pageOf(f.output); !ownPage(page, "") {
		return usagef("-o %s: its report would be %s, which already exists; move that, or name another run file", f.output, page)
	}
	if err := f.reachable("-o", f.output, cells); err != nil {
		return err
	}
	if err := unix.Faccessat(unix.AT_FDCWD, filepath.Dir(f.output), unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return usagef("-o %s: no file can be made there: %w; name one elsewhere", f.output, err)
	}
	return nil
}

// longest is how long a run may take at most without --yes or a time budget.
const longest = time.Hour

// checkTime refuses a run that may take too long, unless the user confirms it.
func (f *runFlags) checkTime(cells []record.Cell, set record.Settings) error {
	e, long := f.rest(cells, set)
	switch {
	case !long || f.yes:
		return nil
	case f.resume != "":
		return usagef("--resume: up to %d more rounds of %d cells take up to about %s; --time-budget ends the run in time, a lower --max-rounds shortens it, --yes runs it anyway",
			e.MaxRounds, e.Cells, rough(e.Max))
	}
	rounds, time := lasting(e)
	return usagef("%s of %d cells take about %s; --time-budget ends the run in time, a lower --max-rounds or --duration or fewer cells shorten it, --yes runs it anyway",
		rounds, e.Cells, time)
}

// rest returns how long the rounds take that a run does not have yet, and whether that may be so long that the user has to
// confirm it.
func (f *runFlags) rest(cells []record.Cell, set record.Settings) (e plan.Forecast, long bool) {
	set.MaxRounds = max(0, set.MaxRounds-f.done)
	e = plan.Estimate(cells, set, f.known())
	return e, e.Max > longest && set.Budget == 0
}

// reachable refuses a file in a folder that does not exist, or that a run of the cells would not see inside a lab.
func (f *runFlags) reachable(flag, path string, cells []record.Cell) error {
	if _, err := os.Stat(filepath.Dir(path)); err == nil && f.outside(cells) {
		return nil
	}
	return reachable(flag, path)
}

// reachable refuses a file that cannot be seen inside a lab, whose /run is its own, but for programs.
func reachable(flag, path string) error {
	if slices.Contains(lab.Programs(), filepath.Dir(filepath.Clean(path))) {
		return nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return usagef("%s %s: no such folder", flag, path)
	}
	if strings.HasPrefix(dir+"/", "/run/") || strings.HasPrefix(filepath.Clean(path), "/run/") { // a link in /run is not there either
		return usagef("%s %s: a lab has a /run of its own; name a file elsewhere", flag, path)
	}
	return nil
}

// machineHere describes the machine, and whether nettoll is root there.
func machineHere() (record.Machine, error) {
	m, err := sampler.Machine("/proc", "/sys")
	m.Root = lab.AsRoot() || !lab.Inside() && netns.IsRoot()
	return m, err
}

// measure makes a new run file and fills it, inside the lab if the run needs one.
func (a *app) measure(ctx context.Context, f runFlags, suite plan.Suite, cells []record.Cell, set record.Settings) error {
	m, err := machineHere()
	if err != nil {
		return err
	}
	now := time.Now()
	set.Seed = cmp.Or(set.Seed, rand.Uint64())
	found, err := a.look(ctx, f, cells)
	if err != nil {
		return err
	}
	if err := found.nothing(cells); err != nil {
		return err
	}
	a.sayRefused(&f, found)
	if f.shared {
		fmt.Fprintln(a.stderr, "note: there is only one CPU: client and server share it, and latency is that of one CPU")
	}
	for _, left := range plan.LeftOut(suite, f.known()) {
		fmt.Fprintf(a.stderr, "note: %s is left out: %s\n", left.Network, left.Reason)
	}
	tools, _ := versions(ctx, cells, toolByName(a.paths))
	run := record.Run{
		ID: newID(), Started: now.UTC(), Version: origin.Version(), Note: suite.Note,
		Suite: suite.Name, Machine: m, Settings: set, Cells: cells,
		Source: suite.Source, Skips: skipsOf(suite, f.known()), Tools: tools, Conflists: a.cni.sums(),
		Instance: suite.Instance, Price: suite.Price,
	}
	e, err := a.venue(ctx, &f, run)
	if err != nil {
		return err
	}
	path, w, err := create(f.output, run)
	if err != nil {
		if f.output == "" {
			err = fmt.Errorf("%w; -o FILE puts it elsewhere", err)
		} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = usagef("-o: %w; name another file", err)
		}
		return a.leftBehind(fmt.Errorf("run file: %w", err), e.leave(ctx))
	}
	return a.drive(ctx, path, w, &record.File{Run: run}, e, set, found.possible(cells), f)
}

// venue returns the platforms for a run, after saying what it will send through the user's own network.
func (a *app) venue(ctx context.Context, f *runFlags, run record.Run) (engines, error) {
	e, err := f.open(run, a.paths, a.cni)
	if err != nil {
		return e, err
	}
	if err := a.survey(ctx, f, e, run.Cells); err != nil {
		return e, a.leftBehind(err, e.leave(ctx))
	}
	return e, nil
}

// newID returns a new id of a run.
func newID() string {
	var id [12]byte
	crypto.Read(id[:])
	return hex.EncodeToString(id[:])
}

// look finds out which of the cells can be measured here.
func (a *app) look(ctx context.Context, f runFlags, cells []record.Cell) (h impossible, err error) {
	outside := f.outside(cells)
	if !outside { // otherwise connections may be made on other machines
		if err := checkCongestion(cells); err != nil {
			return h, err
		}
	}
	on := startable(a.paths, a.cni, true, true)
	if !f.cluster && len(ofClusters(cells)) > 0 {
		on.kube = kubernetes.New(kubernetes.Options{Own: f.own()})
	}
	return a.findImpossible(ctx, cells, on, func(network string) bool {
		return outside && (onEngines(network) || onMachines(network))
	})
}

// create begins a run file under the given name, or under one made from the run's start. If several runs begin in
// the same second, each gets its own file.
func create(name string, run record.Run) (path string, w *record.Writer, err error) {
	if name != "" {
		w, err = record.Create(name, run)
		return name, w, err
	}
	stem := "nettoll-" + run.Started.Local().Format("20060102-150405")
	const most = 1000
	for n := 1; n <= most; n++ {
		if path = stem + ".ndjson"; n > 1 {
			path = fmt.Sprintf("%s-%d.ndjson", stem, n)
		}
		if _, no := os.Lstat(pageOf(path)); no == nil && !ownPage(pageOf(path), run.ID) {
			err = fs.ErrExist
			continue
		}
		if w, err = record.Create(path, run); !errors.Is(err, fs.ErrExist) {
			return path, w, err
		}
	}
	return path, nil, err
}

// drive runs the runner over a run file, within settings, and reports its contents at the end. possible are the
// cells that are not known to be impossible.
func (a *app) drive(ctx context.Context, path string, w *record.Writer, file *record.File, e engines, set record.Settings, possible []record.Cell, f runFlags) error {
	defer w.Close()
	rest, _ := f.rest(possible, set)
	least, late := f.late(rest, set)
	p := a.progress(ctx, path, rest, set, f.done, late)
	var unsaved []record.Trial
	r := &runner.Runner{
		Networks: recipes(e),
		Tools:    toolByName(a.paths),
		Machine:  file.Run.Machine,
		Settings: set,
		Cells:    file.Run.Cells,
		Before:   file.Trials,
		Save: func(t record.Trial) error {
			err := w.Trial(t)
			lost, moved := errors.AsType[*record.Displaced](err)
			if err != nil && !errors.Is(err, record.ErrUnsynced) && (!moved || lost.Saved == "") {
				unsaved = append(unsaved, t)
			}
			return err
		},
		Enough: func(trials []record.Trial) map[string]bool {
			precision := analysis.Precision(trials, set)
			p.Reached(precision)
			return analysis.Enough(precision)
		},
		Least: least, Late: late,
		Watch: p,
	}
	usual := debug.SetGCPercent(agent.GCPercent)
	end, err := r.Run(ctx)
	debug.SetGCPercent(usual)
	p.done()
	err = cmp.Or(err, w.End(end))
	left := e.leave(ctx)
	if left != nil {
		clean := append([]string{"nettoll", "clean", "--yes"}, record.Each(f.at, func(at string) string { return "--docker-host " + at })...)
		left = fmt.Errorf("%w; %s removes what is left", left, strings.Join(clean, " "))
	}
	if err == nil {
		return a.leftBehind(a.conclude(path, f, end.Reason), left)
	}
	// The cause may be a full disk, or a file that is gone: what was measured is shown, but nothing is written.
	shown, readErr := w.Read()
	if readErr != nil {
		shown = &record.File{Run: file.Run}
	}
	lost, displaced := errors.AsType[*record.Displaced](err)
	if shown.Name = path; displaced {
		shown.Name = lost.Saved
	}
	if shown.Trials = append(shown.Trials, unsaved...); len(shown.Trials) > 0 {
		_ = a.write(a.stdout, path, shown, analysis.Analyze(shown), f.format)
	}
	switch n := len(unsaved); {
	case n == 1:
		err = fmt.Errorf("%w; 1 measured trial is in no file, and only in this report", err)
	case n > 1:
		err = fmt.Errorf("%w; %d measured trials are in no file, and only in this report", err, n)
	}
	if displaced {
		if lost.Saved == "" {
			return a.leftBehind(err, left)
		}
		path = lost.Saved
	}
	return a.leftBehind(fmt.Errorf("%w; resume the run with nettoll run --resume %s", err, path), left)
}

// leftBehind says what could not be removed, whatever the command itself ended with: a status, or an interrupt, has no text that it
// could be part of. It returns how the command ends.
func (a *app) leftBehind(err, left error) error {
	if left == nil {
		return err
	}
	fmt.Fprintf(a.stderr, "nettoll: %s\n", told(left.Error()))
	return cmp.Or(err, error(exitError(exitFailure)))
}

// conclude reports a run file: on standard output, and as HTML next to it.
func (a *app) conclude(path string, f runFlags, reason string) error {
	file, err := readFigures(path)
	if err != nil {
		return err
	}
	if len(file.Trials) == 0 {
		fmt.Fprintf(a.stderr, "nothing was measured; run file: %s\n", path)
		if reason == record.EndInterrupted {
			return exitError(exitInterrupted)
		}
		return exitError(exitFailure)
	}
	res := analysis.AnalyzeCompleted(file)
	shown := a.write(a.stdout, path, file, res, f.format)
	if err := cmp.Or(a.writePage(path, file, res), shown); err != nil {
		return err
	}
	if c := res.SelfCheck; c != nil {
		if f.format != "text" {
			fmt.Fprintln(a.stderr, report.SelfChecked(*c))
		}
		if c.Outcome == analysis.Different && reason != record.EndInterrupted {
			return exitError(exitFailure)
		}
	}
	switch reason {
	case record.EndInterrupted:
		return exitError(exitInterrupted)
	case record.EndFailed: // what was measured before everything failed is no result that was asked for
		return exitError(exitFailure)
	}
	return broken(res)
}

// writePage writes the HTML report next to a run file, and prints the names of both.
func (a *app) writePage(path string, file *record.File, res analysis.Result) error {
	page := pageOf(path)
	if !ownPage(page, file.Run.ID) {
		fmt.Fprintf(a.stderr, "run file: %s\nno report: %s is not a page of this run; nettoll report %s --format html -o FILE writes one\n", path, page, path)
		return nil
	}
	if err := a.writeFile(page, path, file, res, "html"); err != nil {
		return fmt.Errorf("%w; the run file %s is complete", err, path)
	}
	fmt.Fprintf(a.stderr, "run file: %s\nreport:   %s\n", path, page)
	return nil
}

// pageOf returns the name of the HTML report of a run file, which is never the run file itself.
func pageOf(path string) string {
	page := strings.TrimSuffix(path, filepath.Ext(path)) + ".html"
	if page == path {
		return path + ".html"
	}
	return page
}

// broken returns an error if a cell that can run here has no good trial, or if there was no time to try it, or if only the baseline
// of others cannot run here. Single failed trials are counted in the report, and do not change the exit status: the other trials are
// not affected.
func broken(res analysis.Result) error {
	for _, s := range res.Scenarios {
		alone := slices.ContainsFunc(s.Rows, func(r analysis.Row) bool { return !r.Native && r.Status == record.OK })
		for _, row := range s.Rows {
			if row.Status != record.OK && (row.Status != record.Skipped || row.Native && alone) {
				return exitError(exitFailure)
			}
		}
	}
	return nil
}
