package main

import (
	"slices"

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
	for name, set := range map[string]func() error{
		"hosts":       func() error { s.Hosts = f.hosts; return nil },
		"tools":       func() error { s.Tools = f.tools; return nil },
		"placement":   func() error { s.Placements = f.placements; return nil },
		"servers":     func() error { s.Servers = f.servers; return nil },
		"clients":     func() error { s.Clients = f.clients; return nil },
		"duration":    func() error { s.Duration = f.duration; return nil },
		"warmup":      func() error { s.Warmup = f.warmup; return nil },
		"min-rounds":  func() error { s.MinRounds = f.minRounds; return nil },
		"max-rounds":  func() error { s.MaxRounds = f.maxRounds; return nil },
		"time-budget": func() error { s.TimeBudget = f.budget; return nil },
		"seed":        func() error { s.Seed = f.seed; return nil },
		"note":        func() error { s.Note = f.note; return nil },
		"workloads":   func() error { f.chooseWorkloads(s); return nil },
		"underlay":    func() (err error) { s.Underlay, err = plan.ParseUnderlay(f.underlay); return err },
		"precision":   func() (err error) { s.Precision, err = plan.ParseRatio(f.precision); return err },
		"confidence":  func() (err error) { s.Confidence, err = plan.ParseRatio(f.level); return err },
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
	return f.overrideWorkloads(s, given)
}

// chooseWorkloads keeps the suite's options of the workloads that it has already.
func (f *runFlags) chooseWorkloads(s *plan.Suite) {
	var chosen []plan.Workload
	for _, name := range f.workloads {
		i := slices.IndexFunc(s.Workloads, func(w plan.Workload) bool { return w.Name == name })
		if i < 0 {
			chosen = append(chosen, plan.Workload{Name: name})
			continue
		}
		chosen = append(chosen, s.Workloads[i])
	}
	s.Workloads = chosen
}

// overrideWorkloads gives the options to the workloads that have them.
func (f *runFlags) overrideWorkloads(s *plan.Suite, given func(string) bool) error {
	sizes := map[string]plan.Size{}
	for name, text := range map[string]string{
		"message-size": f.message, "window": f.window, "request-size": f.request, "response-size": f.response,
	} {
		if !given(name) {
			continue
		}
		size, err := plan.ParseSize(text)
		if err != nil {
			return usagef("--%s: %w", name, err)
		}
		if size < 1 {
			return usagef("--%s %s: at least one byte is needed", name, text)
		}
		sizes[name] = size
	}
	if given("streams") && f.streams < 1 {
		return usagef("--streams %d: at least one is needed", f.streams)
	}
	s.Workloads = slices.Clone(s.Workloads)
	used := map[string]bool{}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for name, set := range map[string]func(){
			"streams":       func() { w.Streams = f.streams },
			"message-size":  func() { w.MessageSize = sizes["message-size"] },
			"window":        func() { w.Window = sizes["window"] },
			"congestion":    func() { w.Congestion = f.congestion },
			"zero-copy":     func() { w.ZeroCopy = f.zeroCopy },
			"skip-rx-copy":  func() { w.SkipRxCopy = f.skipRxCopy },
			"request-size":  func() { w.RequestSize = sizes["request-size"] },
			"response-size": func() { w.ResponseSize = sizes["response-size"] },
		} {
			if given(name) && plan.Takes(w.Name, name) {
				set()
				used[name] = true
			}
		}
	}
	for _, name := range []string{"streams", "message-size", "window", "congestion", "zero-copy", "skip-rx-copy", "request-size", "response-size"} {
		if given(name) && !used[name] {
			return usagef("--%s: no workload of this run has it", name)
		}
	}
	return nil
}
