package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nettoll/docker/dial"
	"nettoll/internal/program"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/report"
)

// runFlags are the flags of run. Flags that correspond to keys of suites have no defaults of their own: a flag that
// is given replaces the suite's value.
type runFlags struct {
	suite, output, resume, format string
	dryRun, selfCheck             bool
	asPublished, yes              bool
	budgeted                      bool // the suite sets a time budget
	shared                        bool // client and server share the only CPU
	done                          int  // rounds that the run to be resumed has
	four, six                     bool
	paths                         program.Paths
	cni                           cniFlags
	known                         func() plan.Known // what can be measured, computed once
	given                         func(string) bool

	asked                    plan.Suite // values of the flags that are keys of suites, where given
	precision, level, within string
	workloads                []string
	topologies, underlays    []string

	flags *pflag.FlagSet
	engineFlags
	clusterFlags
	machineFlags
}

func (f *runFlags) add(fl *pflag.FlagSet) {
	fl.SortFlags, f.flags = false, fl
	s, d := &f.asked, plan.Default()
	fl.StringVar(&f.suite, "suite", "quick", "suite: "+strings.Join(plan.Names(), ", ")+", or a YAML file")
	fl.StringVar(&s.Platform, "platform", "", "platform of networks that are named without one: "+strings.Join(platformNames(), ", "))
	fl.StringVar(&s.Baseline, "baseline", "", "network that the others are compared with (default: native)")
	fl.IntSliceVar(&s.Hosts, "hosts", nil, "numbers of hosts (default: 1 and 2, as far as a network makes sense there)")
	fl.BoolVarP(&f.four, "ipv4", "4", false, "IPv4, the default")
	fl.BoolVarP(&f.six, "ipv6", "6", false, "IPv6; -4 -6 is both")
	fl.BoolVar(&f.selfCheck, "self-check", false, "measure each native network as if it were two, to see how often equal networks are called different")
	fl.BoolVar(&f.asPublished, "as-published", false, "measure as long and as often as the suite's source did")
	grouped(fl, "What is measured")

	fl.StringSliceVar(&f.workloads, "workloads", nil, "workloads (default tcp_stream,tcp_rr)")
	fl.StringSliceVar(&s.Tools, "tools", nil, "generators of traffic, also --tool; all is every one that can (default engine)")
	fl.BoolVar(&s.EqualLoad, "equal-load", false, "measure at equal load too, 1 Gbit/s and 10,000 transactions per second, so that the CPU time of networks can be compared")
	fl.StringSliceVar(&s.Placements, "placement", nil, "where client and server run: same, distinct or free CPUs (default distinct)")
	addDimensions(fl, record.Option)
	grouped(fl, "Traffic")

	fl.IntSliceVar(&s.Servers, "servers", nil, "numbers of server containers, such as 1,2,4")
	fl.IntSliceVar(&s.Clients, "clients", nil, "numbers of client containers, such as 1,2,4,8,16")
	fl.IntSliceVar(&s.Processes, "processes", nil, "numbers of client processes in each client container")
	fl.StringSliceVar(&f.topologies, "topology", nil, "SERVERSxCLIENTS[xPROCESSES], such as 1x8,8x8,1x4x16, instead of the three flags above")
	fl.StringArrayVar(&f.underlays, "underlay", nil, "shapes of the link between hosts, such as rate=1G,delay=1ms, or instances, such as m4.10xlarge")
	addDimensions(fl, record.Condition)
	grouped(fl, "Topology and surroundings")

	fl.VarP((*length)(&s.Duration), "duration", "t", fmt.Sprintf("measured window of one trial, in seconds or with a unit; in turns, at least that of two turns (default %s, or %s where a time budget has room for a verdict only then)", d.Duration, plan.ShortTrial))
	fl.Var((*length)(&s.Warmup), "warmup", fmt.Sprintf("time before the window of a whole trial that is not counted; turns have their own (default %s)", d.Warmup))
	fl.BoolVar(&s.Turns, "turns", true, "have networks that are compared take turns of about a tenth of a second, where their traffic can; =false: whole trials, one after the other")
	fl.IntVar(&s.Together, "together", 0, "how many networks may stand at once in addition to their baseline; 1: each stands alone with it (default: as many as there is room for)")
	fl.Var((*length)(&s.TimeBudget), "time-budget", "begin no round that would end later; 0 is no limit (default 60s, up to half as much more on a machine too busy for the rounds that a verdict takes, and none where the fewest rounds take longer)")
	fl.IntVar(&s.MinRounds, "min-rounds", 0, fmt.Sprintf("minimum number of rounds (default %d, and as many as the comparisons need)", d.MinRounds))
	fl.IntVar(&s.MaxRounds, "max-rounds", 0, fmt.Sprintf("maximum number of rounds (default %d)", d.MaxRounds))
	fl.StringVar(&f.precision, "precision", "", fmt.Sprintf("stop when every interval is within this share of its value (default %s)", d.Precision))
	fl.StringVar(&f.level, "confidence", "", fmt.Sprintf("level of the intervals and tests (default %s)", d.Confidence))
	fl.StringVar(&f.within, "equal-within", "", fmt.Sprintf("difference that counts as none (default %s)", d.EqualWithin))
	fl.Uint64Var(&s.Seed, "seed", 0, "seed of the order of trials (default 0, which is a random one)")
	fl.BoolVarP(&f.yes, "yes", "y", false, "run even if that may take more than an hour")
	grouped(fl, "Duration and precision")

	f.engineFlags.add(fl)
	grouped(fl, "Docker")

	f.clusterFlags.add(fl)
	grouped(fl, "Kubernetes")

	f.machineFlags.add(fl)
	grouped(fl, "Machines reached by ssh")

	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan and how long it would take, and measure nothing")
	fl.StringVarP(&f.output, "output", "o", "", "run file (default nettoll-<time>.ndjson); the HTML report is written next to it")
	fl.StringVar(&f.resume, "resume", "", "resume this run file")
	fl.StringVar(&f.format, "format", "text", "format of the report on standard output: "+formatNames())
	fl.StringVar(&s.Note, "note", "", "a remark that is kept in the run file")
	fl.StringVar(&s.Instance, "instance", "", "type of this machine, such as m4.10xlarge, for the run file")
	fl.Float64Var(&s.Price, "price", 0, "price of this machine in dollars per hour, for the run file")
	grouped(fl, "Output")

	for _, name := range []string{"duration", "warmup", "time-budget"} {
		fl.Lookup(name).DefValue = "" // the default is the suite's
	}
	fl.SetNormalizeFunc(alias)
}

// alias maps names that people try first to those of flags.
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

// resumable are the flags that may change when a run is resumed: they limit it, or say where it is done and how
// that is reached, and leave its cells as they are.
var resumable = slices.Concat([]string{
	"resume", "dry-run", "format", "yes", "precision", "equal-within", "min-rounds", "max-rounds", "time-budget",
	privateCluster, "cni-conf", "cni-bin", "tool-path", "address", "through-my-network",
}, engineFlagNames, ownClusterFlags, reachFlagNames)

// suitResume refuses what would contradict the run file that is resumed.
func (f *runFlags) suitResume(fl *pflag.FlagSet, args []string) (err error) {
	if len(args) > 0 {
		return usagef("--resume uses the networks of its run file; leave out %s", args[0])
	}
	fl.Visit(func(g *pflag.Flag) {
		if !slices.Contains(resumable, g.Name) && err == nil {
			err = usagef("--resume keeps to its run file; leave out --%s", g.Name)
		}
	})
	return err
}

// suiteOf reads the suite and applies the command line to it.
func (f *runFlags) suiteOf(args []string) (plan.Suite, error) {
	if _, ok := report.ByName(f.format); !ok {
		return plan.Suite{}, usagef("--format %s: unknown; known are %s%s", f.format, formatNames(), nearest(f.format, formatList()))
	}
	for flag, path := range map[string]string{"output": f.output, "resume": f.resume} {
		if path == "-" {
			return plan.Suite{}, usagef("--%s: name a file", flag)
		}
	}
	s, err := loadSuite("--suite", f.suite)
	if err != nil {
		return s, err
	}
	f.budgeted = s.Budgeted()
	if usual, err := plan.Embedded(plan.DefaultSuite); err == nil && !f.budgeted {
		s.TimeBudget = usual.TimeBudget // the same default whether or not arguments name the networks
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
	if err := f.override(&s, len(args) > 0); err != nil {
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

// byFlags has a suite's fault name flags instead of keys, where these came from the command line.
var byFlags = strings.NewReplacer("min_rounds", "--min-rounds", "max_rounds", "--max-rounds", "change families", "change -4 and -6",
	"add 4 to families", "add -4", "(turns: false)", "(--turns=false)")

// fault names the flag of a suite's fault, if the value came from a flag, or the name of the suite, if that is not
// a file of the user's.
func (f *runFlags) fault(err error, args []string) error {
	var field *plan.FieldError
	if !errors.As(err, &field) || field.Flag() == "" {
		return usageError{err}
	}
	given, text := f.given, byFlags.Replace(field.Text)
	switch flag := field.Flag(); {
	case flag == "--networks" && len(args) > 0:
		return usagef("%s", text)
	case flag == "--families" && (given("ipv4") || given("ipv6")):
		return usagef("-4, -6: %s", text)
	case given(strings.TrimPrefix(flag, "--")):
		return usagef("--%s: %s", alias(nil, strings.TrimPrefix(flag, "--")), text)
	case flag == "--baseline" && len(args) > 0 && slices.Contains(plan.Names(), f.suite):
		return usagef("%s", text) // about the networks that the arguments name
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
		return plan.Suite{}, usagef("%s %s: unknown; known are %s, or name a YAML file%s", as, name, strings.Join(plan.Names(), ", "), nearest(name, plan.Names()))
	}
	defer r.Close()
	s, err := plan.Load(name, r)
	if err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// openRegular opens a file that can be read twice: by the outer process, and inside the lab.
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

// limits applies the limits of the command line to those of a run file.
func (f *runFlags) limits(set record.Settings) record.Settings {
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

// venue returns what the flags choose of engines and clusters for a run of the cells, or nil if it needs none.
func (f *runFlags) venue(cells []record.Cell) *record.Venue {
	if len(ofEngines(cells)) == 0 && len(ofClusters(cells)) == 0 {
		return nil
	}
	v := &record.Venue{PrivateEngine: f.private, PrivateCluster: f.cluster, NodeAgent: f.observing(), Expect: f.users.Expect, PodCPUs: f.users.PodCPUs, Engines: record.Each(f.at, dial.Redacted)}
	if len(f.at) == 0 && f.borrows(cells) {
		if t, err := dial.Resolve(""); err == nil { // the run says why there is none
			v.Engines = []string{dial.Redacted(t.Host)}
		}
	}
	return v
}

// nearest suggests the known name that was probably meant.
func nearest(name string, known []string) string {
	if n, ok := plan.Nearest(name, known); ok {
		return "; did you mean " + n + "?"
	}
	return ""
}

// override applies the flags that were given to the suite: a flag named as a key of suites, or as its singular,
// replaces the key's value. named says whether arguments name networks.
func (f *runFlags) override(s *plan.Suite, named bool) error {
	given := f.given
	if err := f.overridePlatform(s, named); err != nil {
		return err
	}
	if given("ipv4") || given("ipv6") {
		s.Families = nil
		if f.four {
			s.Families = append(s.Families, 4)
		}
		if f.six {
			s.Families = append(s.Families, 6)
		}
	}
	// Numbers replace the suite's topologies, and topologies its numbers.
	if given("servers") || given("clients") || given("processes") {
		s.Topologies = nil
	}
	if given("topology") {
		s.Servers, s.Clients, s.Processes = nil, nil, nil
	}
	for name, read := range map[string]func() error{
		"topology":     func() (err error) { f.asked.Topologies, err = parseAll(f.topologies, plan.ParseTopology); return err },
		"underlay":     func() (err error) { f.asked.Underlay, err = parseShapes(f.underlays); return err },
		"precision":    func() error { return f.asked.Precision.Set(f.precision) },
		"confidence":   func() error { return f.asked.Confidence.Set(f.level) },
		"equal-within": func() error { return f.asked.EqualWithin.Set(f.within) },
	} {
		if given(name) {
			if err := read(); err != nil {
				return usagef("--%s: %w", name, err)
			}
		}
	}
	for _, key := range plan.Keys() {
		if key != "workloads" && given(strings.ReplaceAll(key, "_", "-")) {
			s.Take(key, f.asked)
		}
	}
	if given("tools") { // even where the suite gives a workload its own
		s.Workloads = slices.Clone(s.Workloads)
		for i := range s.Workloads {
			s.Workloads[i].Tools = nil
		}
	}
	if given("workloads") {
		f.chooseWorkloads(s)
	}
	// A given limit moves the other one if that was not given and contradicts it.
	if given("max-rounds") && !given("min-rounds") {
		s.MinRounds = min(s.MinRounds, max(f.asked.MaxRounds, 1))
	}
	if given("min-rounds") && !given("max-rounds") {
		s.MaxRounds = max(s.MaxRounds, f.asked.MinRounds)
	}
	if given("turns") && !s.Turns && !given("together") { // without turns, networks never stand at once
		s.Together = 0
	}
	if given(podCPUs) && s.Turns && !given("together") && s.Together == 0 { // others would take more CPUs of their own
		s.Together = 1
	}
	if given("tools") && !given("workloads") {
		s.LeaveUndriven()
	}
	return f.overrideDimensions(s)
}

// overridePlatform moves the suite to another platform. Networks that arguments name must exist there; networks
// that a suite names were meant for another platform.
func (f *runFlags) overridePlatform(s *plan.Suite, named bool) error {
	switch {
	case f.given("platform") && named:
		means := func(n string) bool {
			return !strings.Contains(n, ":") && !slices.Contains(usualNames(), n) || strings.HasPrefix(n+":", f.asked.Platform+":")
		}
		if !slices.ContainsFunc(s.Networks, means) {
			return usagef("--platform %s: every network is named with its own platform; leave it out", f.asked.Platform)
		}
	case f.given("platform"):
		s.SetPlatform(f.asked.Platform)
	}
	return nil
}

func parseAll[T any](texts []string, parse func(string) (T, error)) ([]T, error) {
	if len(texts) == 0 {
		return nil, errors.New("no value is given")
	}
	return record.Tried(texts, parse)
}

func parseShapes(texts []string) ([]plan.Underlay, error) {
	lists, err := parseAll(texts, plan.ParseUnderlays)
	return slices.Concat(lists...), err
}

// chooseWorkloads sets the workloads, and keeps the suite's options for those that it already has.
func (f *runFlags) chooseWorkloads(s *plan.Suite) {
	var chosen []plan.Workload
	for _, name := range f.workloads {
		known := record.Those(s.Workloads, func(w plan.Workload) bool { return w.Name == name })
		if len(known) == 0 {
			known = []plan.Workload{{Name: name}}
		}
		chosen = append(chosen, known...)
	}
	s.SetWorkloads(chosen)
}

// addDimensions adds the options of workloads, or the conditions, each under the name of its dimension. A list of values
// multiplies the workloads that take the option.
func addDimensions(fl *pflag.FlagSet, part record.Part) {
	for _, d := range record.Dimensions(part) {
		if d.Switch() {
			fl.BoolP(d.Name, d.Short, false, d.About)
			continue
		}
		about := d.About
		if len(d.Values) > 0 {
			about += ": " + strings.Join(d.Values, ", ")
		}
		if d.Example != "" {
			about += ", such as " + d.Example
		}
		if usual := d.Default(); usual != "" {
			about += " (default " + usual + ")"
		}
		fl.StringSliceP(d.Name, d.Short, nil, about)
		flag := fl.Lookup(d.Name)
		flag.Value, flag.DefValue = listOf{flag.Value, d}, ""
	}
}

// listOf is a list of a dimension's values. Its type names them in help.
type listOf struct {
	pflag.Value
	d record.Dimension
}

func (l listOf) Type() string {
	switch _, number := l.d.Raw(record.Cell{}); {
	case l.d.WrittenIn() == "B":
		return "sizes"
	case l.d.WrittenIn() == "bit/s":
		return "rates"
	case number:
		return "ints"
	}
	return "names"
}

// overrideDimensions sets the conditions, and the options of the workloads that take them.
func (f *runFlags) overrideDimensions(s *plan.Suite) error {
	for _, d := range record.Dimensions(record.Option, record.Condition) {
		if !f.given(d.Name) {
			continue
		}
		values, err := f.values(d)
		if err != nil {
			return err
		}
		if d.Part == record.Condition {
			s.SetCondition(d, values)
			continue
		}
		var changed []plan.Workload
		used := false
		for _, w := range s.Workloads {
			if !d.Takes(w.Name) {
				changed = append(changed, w)
				continue
			}
			used = true
			for _, value := range values {
				with := w
				with.Put(d, value)
				changed = append(changed, with)
			}
		}
		if !used {
			takers := d.Takers()
			return usagef("--%s: no workload of this run takes it; it applies to %s: add --workloads %s, or leave it out",
				d.Name, strings.Join(takers, ", "), takers[0])
		}
		s.SetWorkloads(changed)
	}
	return nil
}

// values returns the values given to the flag of an option or a condition.
func (f *runFlags) values(d record.Dimension) (all []any, err error) {
	v := f.flags.Lookup(d.Name).Value
	texts := []string{v.String()} // of a switch
	if list, ok := v.(listOf); ok {
		texts = list.Value.(pflag.SliceValue).GetSlice()
	}
	if len(texts) == 0 {
		return nil, usagef("--%s: no value is given", d.Name)
	}
	for _, text := range texts {
		value, err := plan.Parse(d, text)
		if err != nil {
			return nil, usagef("--%s: %w", d.Name, err)
		}
		if n, ok := value.(int); ok && n < 1 && d.Part == record.Option && !d.Open {
			return nil, usagef("--%s %s: at least 1%s is needed", d.Name, text, map[string]string{
				"B": " byte", "bit/s": " bit/s", "1/s": " per second",
			}[d.Unit])
		}
		all = append(all, value)
	}
	return all, nil
}
