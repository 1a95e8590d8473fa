package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nettoll/internal/program"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/report"
)

// runFlags are the flags of run. Those that a suite says too have no value of
// their own: a flag that is given replaces what the suite says.
type runFlags struct {
	suite, output, resume, format string
	dryRun, selfCheck             bool
	asPublished, yes              bool
	budgeted                      bool // the suite says how long a run may take
	four, six                     bool
	paths                         program.Paths
	cni                           cniFlags
	known                         func() plan.Known // what can be measured, asked for once
	given                         func(string) bool

	asked                    plan.Suite // what the flags of its keys say, where they are given
	precision, level, within string
	workloads                []string
	topologies, underlays    []string

	flags *pflag.FlagSet
	engineFlags
}

func (f *runFlags) add(fl *pflag.FlagSet) {
	fl.SortFlags, f.flags = false, fl
	s, d := &f.asked, plan.Default()
	fl.StringVar(&f.suite, "suite", "quick", "suite: "+strings.Join(plan.Names(), ", ")+", or a YAML file")
	fl.StringVar(&s.Platform, "platform", "", "platform of networks that are named without one: "+strings.Join(platformNames(), ", "))
	fl.StringVar(&s.Baseline, "baseline", "", "network that the others are compared with (default: native)")
	fl.IntSliceVar(&s.Hosts, "hosts", nil, "numbers of hosts (default: all that a network makes sense on)")
	fl.BoolVarP(&f.four, "ipv4", "4", false, "IPv4, the default")
	fl.BoolVarP(&f.six, "ipv6", "6", false, "IPv6; -4 -6 is both")
	fl.BoolVar(&f.selfCheck, "self-check", false, "measure each network as if it were two, to see how often equals are called different")
	fl.BoolVar(&f.asPublished, "as-published", false, "measure as long and as often as the suite's source did")
	grouped(fl, "What is measured")

	fl.StringSliceVar(&f.workloads, "workloads", nil, "workloads (default tcp_stream,tcp_rr)")
	fl.StringSliceVar(&s.Tools, "tools", nil, "generators of traffic, also --tool; all is every one that can (default engine)")
	fl.BoolVar(&s.EqualLoad, "equal-load", false, "measure also at equal load, 1 Gbit/s and 10,000 transactions a second: what networks cost there in CPU time can be compared")
	fl.StringSliceVar(&s.Placements, "placement", nil, "where client and server run: same, distinct or free CPUs (default distinct)")
	addOptions(fl)
	grouped(fl, "Traffic")

	fl.IntSliceVar(&s.Servers, "servers", nil, "numbers of server containers, such as 1,2,4")
	fl.IntSliceVar(&s.Clients, "clients", nil, "numbers of client containers, such as 1,2,4,8,16")
	fl.IntSliceVar(&s.Processes, "processes", nil, "numbers of client processes in each client container")
	fl.StringSliceVar(&f.topologies, "topology", nil, "SERVERSxCLIENTS[xPROCESSES], such as 1x8,8x8,1x4x16, instead of those three")
	fl.StringArrayVar(&f.underlays, "underlay", nil, "shapes of the link between hosts, such as rate=1G,delay=1ms, or instances, such as m4.10xlarge")
	fl.IntSliceVar(&s.MTU, "mtu", nil, "MTUs of the underlay, such as 1500,9000")
	fl.StringSliceVar(&s.Offload, "offload", nil, "offloads of devices: on, off or both")
	fl.BoolVar(&s.Normalize, "normalize", false, "give all endpoints the MTU that every network can offer")
	fl.IntSliceVar(&s.Rules, "rules", nil, "numbers of further firewall rules on each host, such as 0,100,10000")
	fl.IntSliceVar(&s.Neighbours, "neighbours", nil, "numbers of containers that exist beside those that talk")
	grouped(fl, "Topology and surroundings")

	fl.VarP((*length)(&s.Duration), "duration", "t", fmt.Sprintf("measured window of one trial, in seconds or with a unit (default %s)", d.Duration))
	fl.Var((*length)(&s.Warmup), "warmup", fmt.Sprintf("time before the window that is not counted (default %s)", d.Warmup))
	fl.BoolVar(&s.Turns, "turns", true, "have networks that are compared take turns of some hundredths of a second, where their traffic can; =false: whole trials, one after the other")
	fl.Var((*length)(&s.TimeBudget), "time-budget", "begin no round that would end later; 0 is no limit (default 75s, or none where the fewest rounds take longer)")
	fl.IntVar(&s.MinRounds, "min-rounds", 0, fmt.Sprintf("minimum number of rounds (default %d, and as many as the comparisons need)", d.MinRounds))
	fl.IntVar(&s.MaxRounds, "max-rounds", 0, fmt.Sprintf("maximum number of rounds (default %d)", d.MaxRounds))
	fl.StringVar(&f.precision, "precision", "", fmt.Sprintf("stop when the interval is within so much of the value (default %s)", d.Precision))
	fl.StringVar(&f.level, "confidence", "", fmt.Sprintf("level of the intervals and tests (default %s)", d.Confidence))
	fl.StringVar(&f.within, "equal-within", "", fmt.Sprintf("difference that counts as none (default %s)", d.EqualWithin))
	fl.Uint64Var(&s.Seed, "seed", 0, "of the order of trials (default: random)")
	fl.BoolVarP(&f.yes, "yes", "y", false, "run even if that may take more than an hour")
	grouped(fl, "How long, and how sure")

	f.engineFlags.add(fl)
	grouped(fl, "Docker")

	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan and how long it takes, and measure nothing")
	fl.StringVarP(&f.output, "output", "o", "", "run file (default nettoll-<time>.ndjson); the HTML report goes beside it")
	fl.StringVar(&f.resume, "resume", "", "go on with this run file")
	fl.StringVar(&f.format, "format", "text", "format of the report on standard output: "+formatNames())
	fl.StringVar(&s.Note, "note", "", "a remark that is kept in the run file")
	fl.StringVar(&s.Instance, "instance", "", "type of this machine, such as m4.10xlarge, for the run file")
	fl.Float64Var(&s.Price, "price", 0, "dollars an hour that this machine costs, for the run file")
	grouped(fl, "Output")

	for _, name := range []string{"duration", "warmup", "time-budget"} {
		fl.Lookup(name).DefValue = "" // which is the suite's
	}
	fl.SetNormalizeFunc(alias)
}

// alias lets flags have the names that people try first.
func alias(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	aliases := map[string]string{
		"tool": "tools", "workload": "workloads", "topologies": "topology", "placements": "placement",
		"neighbors": "neighbours", "underlays": "underlay",
	}
	if n, ok := aliases[name]; ok {
		name = n
	}
	return pflag.NormalizedName(name)
}

// resumable are the flags that may change when a run is resumed: they limit it
// and do not touch what is measured.
var resumable = map[string]bool{
	"resume": true, "dry-run": true, "format": true, "yes": true,
	"precision": true, "equal-within": true, "min-rounds": true, "max-rounds": true, "time-budget": true,
	"docker-host": true, "private-engine": true, "docker-image": true, "docker-tools": true,
	"cni-conf": true, "cni-bin": true,
}

func (f *runFlags) contradictsResume(fl *pflag.FlagSet) (name string) {
	fl.Visit(func(g *pflag.Flag) {
		if !resumable[g.Name] && name == "" {
			name = g.Name
		}
	})
	return name
}

// suiteOf reads the suite and puts over it what the command line says.
func (f *runFlags) suiteOf(args []string) (plan.Suite, error) {
	if _, ok := report.ByName(f.format); !ok {
		return plan.Suite{}, usagef("--format %s: unknown%s; known are %s", f.format, nearest(f.format, formatList()), formatNames())
	}
	for flag, path := range map[string]string{"output": f.output, "resume": f.resume} {
		if f.given(flag) && (path == "" || path == "-") {
			return plan.Suite{}, usagef("--%s: name a file", flag)
		}
	}
	s, err := loadSuite("--suite", f.suite)
	if err != nil {
		return s, err
	}
	f.budgeted = s.Budgeted()
	if usual, err := plan.Embedded(plan.DefaultSuite); err == nil && !f.budgeted {
		s.TimeBudget = usual.TimeBudget // one set of defaults, whoever names the networks
	}
	if f.asPublished {
		if s, err = s.Published(); err != nil {
			return s, usagef("--as-published: suite %s: %w", s.Name, err)
		}
	}
	if args, err = f.cni.expand(args, f.given("suite")); err != nil {
		return s, err
	}
	if len(args) > 0 {
		s.Networks, s.Skips = args, nil
		s.Name = strings.Join(args, "+")
	}
	if err := f.cni.used(s.Networks); err != nil {
		return s, err
	}
	if err := f.overridePlatform(&s, len(args) > 0); err != nil {
		return s, err
	}
	if err := f.override(&s, f.given); err != nil {
		return s, err
	}
	if !f.given("suite") && !f.given("platform") && len(args) == 0 {
		s.KeepFitting(f.known())
	}
	checked := s
	if f.lifts() {
		checked.TimeBudget = 0
	}
	if err := checked.Validate(); err != nil {
		return s, f.fault(err, args)
	}
	return s, nil
}

// fault names a fault of a suite by flag, where a flag said it, and by the name
// of the suite, where that is no file of the user's.
func (f *runFlags) fault(err error, args []string) error {
	var field *plan.FieldError
	if !errors.As(err, &field) || field.Flag() == "" {
		return usageError{err}
	}
	given := f.given
	switch flag := field.Flag(); {
	case flag == "--networks" && len(args) > 0:
		return usagef("%s", field.Text)
	case flag == "--families" && (given("ipv4") || given("ipv6")):
		return usagef("-4, -6: %s", field.Text)
	case given(strings.TrimPrefix(flag, "--")):
		return usagef("--%s: %s", alias(nil, strings.TrimPrefix(flag, "--")), field.Text)
	case flag == "--baseline" && len(args) > 0 && slices.Contains(plan.Names(), f.suite):
		return usagef("%s", field.Text) // of the networks that the arguments name
	case slices.Contains(plan.Names(), f.suite):
		return usagef("suite %s: %s: %s", f.suite, field.Field, field.Text)
	}
	return usageError{err}
}

func loadSuite(as, name string) (plan.Suite, error) {
	if s, err := plan.Embedded(name); err == nil {
		return s, nil
	}
	r, err := openRegular(name)
	if err != nil {
		if strings.ContainsAny(name, "./") {
			return plan.Suite{}, usagef("%s %s: %w", as, name, cause(err))
		}
		return plan.Suite{}, usagef("%s %s: unknown%s; known are %s, or name a YAML file", as, name, nearest(name, plan.Names()), strings.Join(plan.Names(), ", "))
	}
	defer r.Close()
	s, err := plan.Load(name, r)
	if err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// openRegular opens a file that can be read twice: by the outer process, and
// inside the lab.
func openRegular(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return os.Open(name)
}

// limits puts the limits given on the command line over those of a run file.
func (f *runFlags) limits(set record.Settings) record.Settings {
	if f.resume == "" {
		return set
	}
	if f.given("min-rounds") {
		set.MinRounds = f.asked.MinRounds
		set.MaxRounds = max(set.MaxRounds, f.asked.MinRounds)
	}
	if f.given("max-rounds") {
		set.MaxRounds = f.asked.MaxRounds
		set.MinRounds = min(set.MinRounds, f.asked.MaxRounds)
	}
	if f.given("time-budget") {
		set.Budget = f.asked.TimeBudget.Seconds()
	}
	if f.given("precision") {
		set.Precision = float64(f.asked.Precision)
	}
	if f.given("equal-within") {
		set.EqualWithin = float64(f.asked.EqualWithin)
	}
	return set
}

// nearest is a hint at the known name that was probably meant.
func nearest(name string, known []string) string {
	if n, ok := plan.Nearest(name, known); ok {
		return "; did you mean " + n + "?"
	}
	return ""
}
