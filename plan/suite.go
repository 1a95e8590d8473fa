// Package plan decides what is measured: it reads a suite, expands it into cells and puts the cells of each round
// in an order. It measures nothing, knows no driver and reads no clock.
package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"nettoll/record"
)

// Suite is the content of a suite file. The flags of nettoll run have the same names, with hyphens for underscores.
// A key that is left out has the value of Default.
type Suite struct {
	// Name of the suite, as recorded in the run file. A file without one is named after itself.
	Name string `yaml:"name,omitempty"`
	// One sentence on what the suite is for.
	About string `yaml:"about,omitempty"`
	// Networks to measure, each [platform:]name, such as bridge or docker:bridge; all is every network of the platform, docker:all is every network of the platform docker, and docker its most used ones. Their baseline is added.
	Networks []string `yaml:"networks" jsonschema:"minItems=1,example=bridge"`
	// Platform of networks that are named without one. Without the key it is lab.
	Platform string `yaml:"platform,omitempty"`
	// Network that the others are compared with, such as veth or docker:native. Without the key it is the native network of the first platform other than lab that a network is named from, or else that of the lab: host on one host, native on several.
	Baseline string `yaml:"baseline,omitempty"`
	// Numbers of hosts. Servers are on the first, clients on the others in turn. Without the key it is every number of hosts that a network makes sense on.
	Hosts []int `yaml:"hosts,omitempty" jsonschema:"minItems=1"`
	// IP versions.
	Families []int `yaml:"families,omitempty" jsonschema:"minItems=1"`
	// Workloads to drive through each network.
	Workloads []Workload `yaml:"workloads,omitempty" jsonschema:"minItems=1"`
	// Measure what networks cost at equal load: tcp_stream also at 1 Gbit/s, and tcp_rr also at 10,000 transactions per second. At full speed the faster network has more to do. The engine drives them.
	EqualLoad bool `yaml:"equal_load,omitempty"`
	// Tools that drive the workloads; all is every tool that can, iperf|engine is the first of the two that is installed. A tool that cannot drive a workload leaves it to the others.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
	// Where the processes run: same (client and server on one CPU), distinct (each on its own CPU) or free (wherever the scheduler puts them).
	Placements []string `yaml:"placements,omitempty" jsonschema:"minItems=1"`
	// Numbers of servers. Without the key there is one.
	Servers []int `yaml:"servers,omitempty" sweep:"true"`
	// Numbers of client containers, at least as many as servers. Client i talks to server i modulo the number of servers. Without the key there is one.
	Clients []int `yaml:"clients,omitempty" sweep:"true"`
	// Numbers of client processes in each client container. Without the key there is one.
	Processes []int `yaml:"processes,omitempty" sweep:"true"`
	// Topologies, each SERVERSxCLIENTS or SERVERSxCLIENTSxPROCESSES such as 1x4x16, instead of servers, clients and processes.
	Topologies []Topology `yaml:"topologies,omitempty" sweep:"true"`
	// Shapes of each host's link to the others, in the units of tc(8), such as rate=1gbit,delay=1ms (quoted when in brackets); names of instances such as m4.10xlarge; none is unshaped.
	Underlay []Underlay `yaml:"underlay,omitempty" sweep:"true"`
	// Conditions, each under a key of its own, which is named after its dimension.
	Conditions Conditions `yaml:",inline"`
	// Measured window of one trial.
	Duration time.Duration `yaml:"duration,omitempty"`
	// Time before the window of a whole trial in which traffic flows and is not counted. Turns have their own.
	Warmup time.Duration `yaml:"warmup,omitempty"`
	// Build the networks that are compared at the same time and have them take turns of about a tenth of a second, where their traffic can pause in between; false measures one whole trial after the other. Without the key it is true.
	Turns bool `yaml:"turns,omitempty"`
	// How many networks may stand at once in addition to their baseline; with 1 each stands alone with it. 0 is as many as there is room for.
	Together int `yaml:"together,omitempty"`
	// Wanted half width of the confidence interval, relative to the value: 5% or 0.05.
	Precision Ratio `yaml:"precision,omitempty"`
	// Level of every confidence interval: 95% or 0.95.
	Confidence Ratio `yaml:"confidence,omitempty"`
	// Difference that counts as none, relative to the baseline: 5% or 0.05.
	EqualWithin Ratio `yaml:"equal_within,omitempty"`
	// Rounds that are measured in any case. A run of many networks takes more, so that its comparisons can be concluded.
	MinRounds int `yaml:"min_rounds,omitempty"`
	// Rounds after which the run ends even if the precision was not reached.
	MaxRounds int `yaml:"max_rounds,omitempty"`
	// No round begins that would end later than this after the start of the run; 0s is no limit.
	TimeBudget time.Duration `yaml:"time_budget,omitempty"`
	// Seed of the order of trials. With 0 each run has its own order.
	Seed uint64 `yaml:"seed,omitempty"`
	// A remark for the run file.
	Note string `yaml:"note,omitempty"`
	// Type of the machine that this runs on, such as m4.10xlarge, for the run file.
	Instance string `yaml:"instance,omitempty"`
	// Price of that machine, in dollars per hour.
	Price float64 `yaml:"price,omitempty"`
	// Published measurement that the suite reproduces; a report shows its figures next to the measured ones.
	Source string `yaml:"source,omitempty"`
	// Parts of that source that are not measured, and why.
	Skips []Skip `yaml:"skips,omitempty" jsonschema:"minItems=1"`
	// The source's own repeats and durations, for --as-published.
	AsPublished *Published `yaml:"as_published,omitempty"`

	file  string            // the file that the suite was read from
	at    map[string]string // where each field was written, as file:line:column
	moved bool              // to a platform other than the one it was written for
	eased bool              // its workloads were not chosen for its tools: workloads that none of the tools drives are left out
}

// Conditions are the values of conditions by their keys: ints, strings, or bools of a switch.
type Conditions map[string][]any

// SetCondition sets the values of a condition.
func (s *Suite) SetCondition(d record.Dimension, values []any) { s.Conditions[d.Identifier()] = values }

// SetPlatform moves the suite to a platform other than the one it was written for: names without a prefix refer to
// that platform. Networks that the platform does not have are left out and listed by Skipped.
func (s *Suite) SetPlatform(name string) { s.Platform, s.moved = name, true }

// Budgeted reports whether the suite's file sets a time budget.
func (s Suite) Budgeted() bool { return s.written("time_budget") }

// LeaveUndriven has the suite leave out workloads that none of its tools drives, for suites whose tools were chosen
// after the workloads.
func (s *Suite) LeaveUndriven() { s.eased = true }

// Default returns the suite that files and flags start from. It names no network.
func Default() Suite {
	return Suite{
		Conditions: Conditions{},
		Families:   []int{4},
		Workloads:  []Workload{{Name: record.TCPStream}, {Name: record.TCPRR}},
		Tools:      []string{"engine"},
		Placements: []string{record.PlacementDistinct},
		Duration:   240 * time.Millisecond,
		Warmup:     200 * time.Millisecond,
		Turns:      true,
		Precision:  0.05,
		Confidence: 0.95, EqualWithin: record.DefaultEqualWithin,
		MinRounds: 6,
		MaxRounds: 40,
	}
}

// Settings returns the settings of a run of the suite, as its run file has them.
func Settings(s Suite) record.Settings {
	return record.Settings{
		Duration:   s.Duration.Seconds(),
		Warmup:     s.Warmup.Seconds(),
		Precision:  float64(s.Precision),
		Confidence: float64(s.Confidence),
		MinRounds:  s.MinRounds,
		MaxRounds:  s.MaxRounds,
		Budget:     s.TimeBudget.Seconds(),
		Seed:       s.Seed,

		EqualWithin: float64(s.EqualWithin),
		Turns:       s.Turns,
		Together:    s.Together,
	}
}

// Skip is something that a suite would measure but does not.
type Skip struct {
	// Network that is not measured, by its name in the source.
	Network string `yaml:"network,omitempty"`
	// Underlay on which nothing is measured.
	Underlay string `yaml:"underlay,omitempty"`
	// Why it is skipped.
	Reason string `yaml:"reason"`
}

// Published holds the repeats and durations of the measurement that a suite reproduces. What is left out has the
// suite's own value.
type Published struct {
	// Measured window of one trial.
	Duration time.Duration `yaml:"duration,omitempty"`
	// Number of rounds, neither more nor fewer.
	Rounds int `yaml:"rounds,omitempty"`
	// Workloads, if they differ from those of the suite.
	Workloads []Workload `yaml:"workloads,omitempty" jsonschema:"minItems=1"`
	// Tools, if they differ from those of the suite.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
}

// Published returns the suite with its source's own repeats and durations, and without a time budget.
func (s Suite) Published() (Suite, error) {
	p := s.AsPublished
	if p == nil {
		return s, errors.New("the suite does not say how its source measured")
	}
	s.AsPublished, s.TimeBudget, s.Turns, s.Together = nil, 0, false, 0
	at := maps.Clone(s.at)
	moved := func(from, to string) {
		maps.DeleteFunc(at, func(field, _ string) bool { return field == to || strings.HasPrefix(field, to+"[") })
		for field, where := range s.at {
			if rest, ok := strings.CutPrefix(field, "as_published."+from); ok {
				at[to+rest] = where
			}
		}
	}
	if p.Duration != 0 {
		s.Duration = p.Duration
		moved("duration", "duration")
	}
	if p.Rounds != 0 {
		s.MinRounds, s.MaxRounds = p.Rounds, p.Rounds
		moved("rounds", "min_rounds")
		moved("rounds", "max_rounds")
	}
	if p.Workloads != nil {
		s.Workloads = p.Workloads
		moved("workloads", "workloads")
	}
	if p.Tools != nil {
		s.Tools = p.Tools
		moved("tools", "tools")
	}
	s.at = at
	return s, nil
}

// Skipped returns what the suite leaves out, with reasons: its own skips, except for networks that it measures
// after all; networks that the platform it was moved to does not have; underlays that cannot be shaped; and
// what LeftOut returns.
func Skipped(s Suite, known Known) []Skip {
	measured := slices.Concat(s.Networks, record.Each(s.regained(known), func(t Network) string { return t.Name }))
	skips := record.Those(s.Skips, func(k Skip) bool { return k.Network == "" || !slices.Contains(measured, k.Network) })
	skips = append(skips, LeftOut(s, known)...)
	if _, elsewhere, err := s.networks(known); err == nil {
		skips = append(skips, elsewhere...)
	}
	if _, shapeless, err := s.conditions(known); err == nil {
		skips = append(skips, shapeless...)
	}
	return skips
}

func (s Suite) checkPublished() error {
	for i, k := range s.Skips {
		field := fmt.Sprintf("skips[%d]", i)
		switch {
		case k.Network == "" && k.Underlay == "":
			return s.fault(field, "says neither network nor underlay; write which one is skipped")
		case k.Reason == "":
			return s.fault(field, "gives no reason; write for example reason: it is not a network yet")
		case strings.ContainsFunc(k.Network+k.Underlay+k.Reason, unicode.IsControl):
			return s.fault(field, "must be one line; leave out line breaks and control characters")
		}
	}
	if s.AsPublished == nil {
		return nil
	}
	for _, f := range []struct {
		name string
		zero bool
	}{{"as_published.duration", s.AsPublished.Duration == 0}, {"as_published.rounds", s.AsPublished.Rounds == 0}} {
		if f.zero && s.written(f.name) {
			return s.fault(f.name, "must be above zero; leave it out for what the suite says")
		}
	}
	p, _ := s.Published() // which fails only where there is none
	err := p.firstFault(Suite.checkWorkloads, Suite.checkNumbers, Suite.checkTimes, Suite.checkRounds)
	if fault, ok := errors.AsType[*FieldError](err); ok {
		fault.Field = "as_published." + strings.TrimPrefix(strings.TrimPrefix(fault.Field, "min_"), "max_")
	}
	return err
}
