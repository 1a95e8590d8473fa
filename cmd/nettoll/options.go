package main

import (
	"strings"

	"github.com/spf13/pflag"

	"nettoll/plan"
	"nettoll/record"
)

// optionFlags are the options of workloads, each by the name of its dimension. A list of
// values multiplies the workloads that take the option.
type optionFlags struct {
	values   map[string]*[]string // of options that have values
	switches map[string]*bool     // of those that are set or not
}

func (f *optionFlags) add(fl *pflag.FlagSet) {
	f.values, f.switches = map[string]*[]string{}, map[string]*bool{}
	for _, d := range record.Dimensions(record.Option) {
		if d.Switch() {
			f.switches[d.Name] = fl.BoolP(d.Name, d.Short, false, d.About)
			continue
		}
		about := d.About
		if d.Example != "" {
			about += ", such as " + d.Example
		}
		f.values[d.Name] = fl.StringSliceP(d.Name, d.Short, nil, about)
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
		puts, err := f.puts(d)
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
			for _, put := range puts {
				changed = append(changed, put(w))
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

// puts are the changes of a workload that an option's flag makes: one for each value.
func (f *optionFlags) puts(d record.Dimension) (all []func(plan.Workload) plan.Workload, err error) {
	texts := f.texts(d)
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
		all = append(all, func(w plan.Workload) plan.Workload {
			_ = w.Put(d, text) // which was read before
			return w
		})
	}
	return all, nil
}

func (f *optionFlags) texts(d record.Dimension) []string {
	if given := f.switches[d.Name]; given != nil {
		if *given {
			return []string{"true"}
		}
		return []string{"false"}
	}
	return *f.values[d.Name]
}
