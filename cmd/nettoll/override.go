package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nettoll/plan"
	"nettoll/record"
)

// replaced are the keys of suites that have a flag of that name, or of its singular, whose value takes the
// place of what the suite says, whatever that is.
var replaced = []string{
	"hosts", "equal_load", "placements", "servers", "clients", "processes", "topologies", "underlay", "mtu", "rules", "neighbours",
	"offload", "normalize", "duration", "warmup", "turns", "precision", "confidence", "equal_within", "min_rounds", "max_rounds",
	"time_budget", "seed", "note", "instance", "price",
}

// override puts the flags that were given over what the suite says.
func (f *runFlags) override(s *plan.Suite, given func(string) bool) error {
	if given("ipv4") || given("ipv6") {
		s.Families = nil
		if f.four {
			s.Families = append(s.Families, 4)
		}
		if f.six {
			s.Families = append(s.Families, 6)
		}
	}
	f.overrideCounts(s, given)
	for name, read := range map[string]func() error{
		"offload":      func() error { return notEmpty(f.asked.Offload) },
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
	for _, key := range replaced {
		if given(strings.ReplaceAll(key, "_", "-")) {
			s.Take(key, f.asked)
		}
	}
	if given("tools") {
		f.chooseTools(s)
	}
	if given("workloads") {
		f.chooseWorkloads(s)
	}
	// A limit that is given moves a default limit on the other side of it.
	if given("max-rounds") && !given("min-rounds") {
		s.MinRounds = min(s.MinRounds, max(f.asked.MaxRounds, 1))
	}
	if given("min-rounds") && !given("max-rounds") {
		s.MaxRounds = max(s.MaxRounds, f.asked.MinRounds)
	}
	if given("tools") && !given("workloads") {
		s.LeaveUndriven()
	}
	return f.overrideWorkloads(s, given)
}

// overridePlatform gives the names of the suite another platform, and another network
// to compare with. Networks that arguments name must be there; what a suite names was
// meant for another platform.
func (f *runFlags) overridePlatform(s *plan.Suite, named bool) error {
	for flag, value := range map[string]string{"platform": f.asked.Platform, "baseline": f.asked.Baseline} {
		if f.given(flag) && value == "" {
			return usagef("--%s: no value is given", flag)
		}
	}
	switch {
	case f.given("platform") && named:
		means := func(n string) bool {
			return !strings.Contains(n, ":") && !slices.Contains(usualNames(), n) || strings.HasPrefix(n+":", f.asked.Platform+":")
		}
		if !slices.ContainsFunc(s.Networks, means) {
			return usagef("--platform %s: every network is named with its own platform; leave it out", f.asked.Platform)
		}
		s.Platform = f.asked.Platform
	case f.given("platform"):
		s.SetPlatform(f.asked.Platform)
	}
	if f.given("baseline") {
		s.Baseline = f.asked.Baseline
	}
	return nil
}

// overrideCounts forgets the suite's topologies where flags give numbers, and its
// numbers where a flag gives topologies.
func (f *runFlags) overrideCounts(s *plan.Suite, given func(string) bool) {
	if given("servers") || given("clients") || given("processes") {
		s.Topologies = nil
	}
	if given("topology") {
		s.Servers, s.Clients, s.Processes = nil, nil, nil
	}
}

// notEmpty refuses a list flag whose value is empty.
func notEmpty(texts []string) error {
	if len(texts) == 0 {
		return errors.New("no value is given")
	}
	return nil
}

func parseAll[T any](texts []string, parse func(string) (T, error)) (all []T, err error) {
	if err := notEmpty(texts); err != nil {
		return nil, err
	}
	for _, text := range texts {
		v, err := parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func parseShapes(texts []string) ([]plan.Underlay, error) {
	lists, err := parseAll(texts, plan.ParseUnderlays)
	return slices.Concat(lists...), err
}

// chooseTools replaces the suite's tools, and those of its workloads.
func (f *runFlags) chooseTools(s *plan.Suite) {
	s.Tools = f.asked.Tools
	s.Workloads = slices.Clone(s.Workloads)
	for i := range s.Workloads {
		s.Workloads[i].Tools = nil
	}
}

// chooseWorkloads keeps the suite's options of the workloads that it has already.
func (f *runFlags) chooseWorkloads(s *plan.Suite) {
	var chosen []plan.Workload
	for _, name := range f.workloads {
		known := false
		for _, w := range s.Workloads {
			if w.Name == name {
				chosen, known = append(chosen, w), true
			}
		}
		if !known {
			chosen = append(chosen, plan.Workload{Name: name})
		}
	}
	s.SetWorkloads(chosen)
}

// addOptions adds the options of workloads, each by the name of its dimension. A list of
// values multiplies the workloads that take the option.
func addOptions(fl *pflag.FlagSet) {
	for _, d := range record.Dimensions(record.Option) {
		if d.Switch() {
			fl.BoolP(d.Name, d.Short, false, d.About)
			continue
		}
		about := d.About
		if d.Example != "" {
			about += ", such as " + d.Example
		}
		fl.StringSliceP(d.Name, d.Short, nil, about)
		flag := fl.Lookup(d.Name)
		flag.Value, flag.DefValue = listOf{flag.Value, d}, ""
	}
}

// listOf is a list of a dimension's values. Help names what they are.
type listOf struct {
	pflag.Value
	d record.Dimension
}

func (l listOf) Type() string {
	switch _, number := l.d.Raw(record.Cell{}); {
	case l.d.Unit == "B":
		return "sizes"
	case l.d.Unit == "bit/s":
		return "rates"
	case number:
		return "ints"
	}
	return "names"
}

// overrideWorkloads gives the options to the workloads that have them.
func (f *runFlags) overrideWorkloads(s *plan.Suite, given func(string) bool) error {
	for _, d := range record.Dimensions(record.Option) {
		if !given(d.Name) {
			continue
		}
		texts, err := f.texts(d)
		if err != nil {
			return err
		}
		var changed []plan.Workload
		used := false
		for _, w := range s.Workloads {
			if !d.Takes(w.Name) {
				changed = append(changed, w)
				continue
			}
			used = true
			for _, text := range texts {
				with := w
				_ = with.Put(d, text) // which was read before
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

// texts are the values that an option's flag was given, all of which can be read.
func (f *runFlags) texts(d record.Dimension) ([]string, error) {
	v := f.flags.Lookup(d.Name).Value
	texts := []string{v.String()} // of one that is set or not
	if list, ok := v.(listOf); ok {
		texts = list.Value.(pflag.SliceValue).GetSlice()
	}
	if len(texts) == 0 {
		return nil, usagef("--%s: no value is given", d.Name)
	}
	for _, text := range texts {
		var w plan.Workload
		if err := w.Put(d, text); err != nil {
			return nil, usagef("--%s: %w", d.Name, err)
		}
		if n, ok := d.Raw(record.Cell{Options: w.Options}); ok && n < 1 && !d.Open {
			return nil, usagef("--%s %s: at least 1%s is needed", d.Name, text, map[string]string{
				"B": " byte", "bit/s": " bit/s", "1/s": " a second",
			}[d.Unit])
		}
	}
	return texts, nil
}
