package main

import (
	"errors"
	"slices"
	"strings"

	"nettoll/plan"
)

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
	for name, set := range map[string]func() error{
		"hosts":        func() error { s.Hosts = f.hosts; return nil },
		"tools":        func() error { f.chooseTools(s); return nil },
		"placement":    func() error { s.Placements = f.placements; return nil },
		"servers":      func() error { s.Servers = f.servers; return nil },
		"clients":      func() error { s.Clients = f.clients; return nil },
		"processes":    func() error { s.Processes = f.processes; return nil },
		"topology":     func() (err error) { s.Topologies, err = parseAll(f.topologies, plan.ParseTopology); return err },
		"underlay":     func() (err error) { s.Underlay, err = parseShapes(f.underlays); return err },
		"mtu":          func() error { s.MTU = f.mtu; return nil },
		"rules":        func() error { s.Rules = f.rules; return nil },
		"neighbours":   func() error { s.Neighbours = f.neighbours; return nil },
		"offload":      func() error { s.Offload = f.offload; return notEmpty(f.offload) },
		"normalize":    func() error { s.Normalize = f.normalize; return nil },
		"instance":     func() error { s.Instance = f.instance; return nil },
		"price":        func() error { s.Price = f.price; return nil },
		"duration":     func() error { s.Duration = f.duration; return nil },
		"equal-load":   func() error { s.EqualLoad = f.equalLoad; return nil },
		"turns":        func() error { s.Turns = f.turns; return nil },
		"warmup":       func() error { s.Warmup = f.warmup; return nil },
		"min-rounds":   func() error { s.MinRounds = f.minRounds; return nil },
		"max-rounds":   func() error { s.MaxRounds = f.maxRounds; return nil },
		"time-budget":  func() error { s.TimeBudget = f.budget; return nil },
		"seed":         func() error { s.Seed = f.seed; return nil },
		"note":         func() error { s.Note = f.note; return nil },
		"workloads":    func() error { f.chooseWorkloads(s); return nil },
		"precision":    func() (err error) { s.Precision, err = plan.ParseRatio(f.precision); return err },
		"equal-within": func() (err error) { s.EqualWithin, err = plan.ParseRatio(f.within); return err },
		"confidence":   func() (err error) { s.Confidence, err = plan.ParseRatio(f.level); return err },
	} {
		if given(name) {
			if err := set(); err != nil {
				return usagef("--%s: %w", name, err)
			}
		}
	}
	// A limit that is given moves a default limit on the other side of it.
	if given("max-rounds") && !given("min-rounds") {
		s.MinRounds = min(s.MinRounds, max(f.maxRounds, 1))
	}
	if given("min-rounds") && !given("max-rounds") {
		s.MaxRounds = max(s.MaxRounds, f.minRounds)
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
	for flag, value := range map[string]string{"platform": f.platform, "baseline": f.baseline} {
		if f.given(flag) && value == "" {
			return usagef("--%s: no value is given", flag)
		}
	}
	switch {
	case f.given("platform") && named:
		means := func(n string) bool {
			return !strings.Contains(n, ":") && !slices.Contains(usualNames(), n) || strings.HasPrefix(n+":", f.platform+":")
		}
		if !slices.ContainsFunc(s.Networks, means) {
			return usagef("--platform %s: every network is named with its own platform; leave it out", f.platform)
		}
		s.Platform = f.platform
	case f.given("platform"):
		s.SetPlatform(f.platform)
	}
	if f.given("baseline") {
		s.Baseline = f.baseline
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
	s.Tools = f.tools
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
