package main

import (
	"context"
	"maps"
	"math"
	"strings"
	"sync"
	"syscall"
	"time"

	"nettoll/internal/program"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/workload"
)

// expand gives the cells of the suite.
func (f *runFlags) expand(s *plan.Suite) ([]record.Cell, error) {
	expand, k := plan.Expand, known(f.paths, f.cni, f.private)
	if f.selfCheck {
		expand = plan.SelfCheck
	}
	if !f.lifts() && !f.stretches() {
		return expand(*s, k)
	}
	budget := s.TimeBudget
	s.TimeBudget = 0
	cells, err := expand(*s, k)
	e := plan.Estimate(cells, plan.Settings(*s), k)
	switch {
	case e.Min <= budget || budget == 0:
		s.TimeBudget = budget
	case f.stretches():
		least := time.Duration(s.MinRounds) * e.Round
		s.TimeBudget = max(budget, least.Truncate(time.Minute)+time.Minute)
	}
	return cells, err
}

// stretches reports whether the time budget is that of a suite which was moved to another
// platform: where networks take longer to build, it is made to hold the least rounds.
func (f *runFlags) stretches() bool { return f.given("platform") && !f.given("time-budget") }

// lifts reports whether the time budget is only that of the default suite, which
// nobody named: it is for what that measures itself, and not for what
// arguments, flags and suite files ask for instead.
func (f *runFlags) lifts() bool {
	return (!f.given("suite") || !f.budgeted) && !f.given("time-budget")
}

// known is what the planner must know of the drivers, where engines are private or those of the
// user.
func known(paths program.Paths, conflists cniFlags, private bool) plan.Known {
	var k plan.Known
	for _, v := range venues(engines{cni: conflists}) {
		name := v.platform.Name()
		atOnce := 0
		if _, bounded := v.platform.(platform.Engines); bounded {
			if atOnce = 1; private {
				atOnce = docker.PrivateAtOnce
			}
		}
		k.Platforms = append(k.Platforms, plan.Platform{Name: name, Native: v.native, Visit: v.visit, Container: v.container, Usual: v.usual, AtOnce: atOnce})
		for _, d := range v.drivers {
			k.Networks = append(k.Networks, plan.Network{
				Name: d.Name, Hosts: d.Hosts, Families: d.Families, Platforms: []string{name},
				Like: d.Like, Endpoints: d.Endpoints, Overflow: d.Overflow, Startup: d.Startup,
			})
		}
	}
	for _, t := range tools(paths) {
		tool := plan.Tool{Name: t.Name()}
		for _, d := range t.Drives() {
			tool.Drives = append(tool.Drives, plan.Drive(d))
		}
		if program, ok := t.(workload.Prober); ok {
			tool.Step, tool.Lead = programStep, programLead
			tool.Missing = missing(program)
		}
		k.Tools = append(k.Tools, tool)
	}
	for _, i := range reference.Instances() {
		k.Instances = append(k.Instances, plan.Instance{
			Provider: i.Provider, Name: i.Name, Price: i.Price, Network: i.Network, Rate: uint64(max(i.Rate, 0)),
		})
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		k.Files = int(min(files.Max, math.MaxInt32)) // the Go runtime takes all of it
	}
	return k
}

// Programs know whole seconds only. Their clients go on for a moment after the
// window, and take one to start.
const (
	programStep = time.Second
	programLead = 600 * time.Millisecond
)

// missing says why a program cannot be used. It is asked once, and does not take
// longer than a program needs to say its version.
func missing(p workload.Prober) func() string {
	const patience = 10 * time.Second
	return sync.OnceValue(func() string {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Probe(ctx); err != nil {
			return err.Error()
		}
		return ""
	})
}

// skipsOf is what the suite leaves out, as the run file has it.
func skipsOf(s plan.Suite, k plan.Known) []record.Skip {
	var skips []record.Skip
	for _, left := range plan.Skipped(s, k) {
		name := left.Network
		if left.Underlay != "" {
			name = strings.TrimSpace(name + " on the underlay " + left.Underlay)
		}
		skips = append(skips, record.Skip{Network: name, Reason: left.Reason})
	}
	return skips
}

// versions are those of the tools that the cells name, as far as they are here.
func versions(ctx context.Context, cells []record.Cell, by map[string]workload.Tool) map[string]string {
	all := map[string]string{}
	for _, c := range cells {
		t := by[c.Tool]
		if _, asked := all[c.Tool]; asked || t == nil {
			continue
		}
		all[c.Tool] = ""
		if version, err := t.Version(ctx); err == nil {
			all[c.Tool] = version
		}
	}
	maps.DeleteFunc(all, func(_, version string) bool { return version == "" })
	return all
}
