package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/record"
)

// cniFlags selects the CNI conflists that can be measured, and the folders of plugins. The zero value has the
// networks of the reference plugins.
type cniFlags struct {
	conf, bin []string
	lists     []*cni.Conflist
}

// cniAll stands on the command line for all conflists that were given.
const cniAll = "cni"

func (f *cniFlags) add(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.conf, "cni-conf", nil, "CNI conflist to measure, as the network cni-NAME, where NAME is its own name; may be given several times")
	fl.StringArrayVar(&f.bin, "cni-bin", nil, "folder with CNI plugins; may be given several times (default: cni next to nettoll, "+cni.System().String()+")")
}

// load reads the conflists, and reports their faults before anything is measured.
func (f *cniFlags) load() error {
	for i, dir := range f.bin {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usagef("--cni-bin %s: no such folder", dir)
		}
		if err := reachable("--cni-bin", filepath.Join(dir, "plugin")); err != nil {
			return err
		}
		var err error
		if f.bin[i], err = filepath.Abs(dir); err != nil {
			return usagef("--cni-bin %s: %w", dir, err)
		}
	}
	f.lists = nil
	for _, file := range f.conf {
		list, err := cni.Load(file)
		if err == nil {
			err = list.Check(f.folders())
		}
		if err != nil {
			return usagef("--cni-conf %w", withRemedy(err))
		}
		if err := reachable("--cni-conf", file); err != nil {
			return err
		}
		name := cni.New(list, nil).Name
		if slices.Contains(f.names(), name) {
			return usagef("--cni-conf %s: there is another network %s: give its conflist another name than %s", file, name, list.Name())
		}
		f.lists = append(f.lists, list)
	}
	return nil
}

func (f cniFlags) folders() cni.Folders {
	if len(f.bin) > 0 {
		return f.bin
	}
	return cni.Usual()
}

// drivers returns the drivers of the reference plugins and of the conflists that were given.
func (f cniFlags) drivers() []network.Driver {
	in := f.folders()
	driver := func(list *cni.Conflist) network.Driver { return cni.New(list, in) }
	return append(cni.Reference(in), record.Each(f.lists, driver)...)
}

func (f cniFlags) names() []string {
	return record.Each(f.drivers(), func(d network.Driver) string { return d.Name })
}

// given returns the networks of the conflists that were given.
func (f cniFlags) given() []string { return f.names()[len(f.names())-len(f.lists):] }

// expand replaces "cni" among the networks of a command line with the conflists that were given. If the command
// line names neither a network nor a suite, these are its networks.
func (f cniFlags) expand(args []string, suite bool) ([]string, error) {
	if len(args) == 0 && !suite {
		return f.given(), nil
	}
	i := slices.Index(args, cniAll)
	switch {
	case i < 0:
		return args, nil
	case len(f.lists) == 0:
		return nil, usagef("%s: which network? --cni-conf names its conflist; the reference plugins are %s", cniAll, strings.Join(f.names(), ", "))
	}
	return slices.Replace(slices.Clone(args), i, i+1, f.given()...), nil
}

// one returns the network that "cni" stands for where only one is possible.
func (f cniFlags) one(name string) (string, error) {
	names, err := f.expand([]string{name}, false)
	switch {
	case err != nil:
		return "", err
	case len(names) > 1:
		return "", usagef("%s: several conflists were given; name one of %s", cniAll, strings.Join(names, ", "))
	}
	return names[0], nil
}

// used returns an error unless every conflist that was given is among the networks of a run.
func (f cniFlags) used(networks []string) error {
	for i, name := range f.given() {
		named := func(n string) bool {
			bare := strings.TrimPrefix(n, platforms()[0].plan.Name+":")
			return bare == name || bare == "all"
		}
		if !slices.ContainsFunc(networks, named) {
			return usagef("--cni-conf %s: the run has no network %s: add it, or cni for all conflists", f.conf[i], name)
		}
	}
	return nil
}

// sums returns the sums of the conflists that were given, by their networks.
func (f cniFlags) sums() map[string]string {
	var sums map[string]string
	for i, name := range f.given() {
		if sums == nil {
			sums = map[string]string{}
		}
		sums[name] = f.lists[i].Sum()
	}
	return sums
}

// resumes returns an error unless the conflists of a run to be resumed are given.
func (f cniFlags) resumes(run record.Run) error {
	known, sums := f.names(), f.sums()
	for _, c := range run.Cells {
		switch was := run.Conflists[c.Network]; {
		case !strings.HasPrefix(c.Network, cniAll+"-"):
		case !slices.Contains(known, c.Network):
			return usagef("--resume: the run measures %s: name its conflist again with --cni-conf", c.Network)
		case was != "" && was != sums[c.Network]:
			return usagef("--resume: the run began with another conflist for %s; give that one with --cni-conf, or begin another run", c.Network)
		}
	}
	return nil
}
