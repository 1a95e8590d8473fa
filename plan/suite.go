// Package plan says what is to be measured: it reads a suite, expands it into
// cells and puts the cells of each round in an order. It measures nothing, knows
// no driver and reads no clock.
package plan

import (
	"time"

	"nettoll/record"
)

// Suite is what a suite file says. The flags of nettoll run have the same names,
// with hyphens for underscores. A key that is left out has the value of Default.
type Suite struct {
	// Name of the suite, as it stands in the run file. A file that gives none is named after itself.
	Name string `yaml:"name,omitempty"`
	// One sentence on what the suite is for.
	About string `yaml:"about,omitempty"`
	// Networks to measure, each [platform:]name, such as bridge or docker:bridge; all is every network of the platform, docker:all every one of another, docker those that it is mostly used with. What they are compared with is added.
	Networks []string `yaml:"networks" jsonschema:"minItems=1,example=bridge"`
	// Platform of networks that are named without one. Without the key it is lab.
	Platform string `yaml:"platform,omitempty"`
	// Network that the others are compared with, such as veth or docker:native. Without the key it is the native of the first other platform that a network is named of, or else that of the lab: host on one host, native on several.
	Baseline string `yaml:"baseline,omitempty"`
	// Numbers of hosts. Servers are on the first, clients on the last. Without the key it is every number that a network makes sense on.
	Hosts []int `yaml:"hosts,omitempty" jsonschema:"minItems=1"`
	// IP versions.
	Families []int `yaml:"families,omitempty" jsonschema:"minItems=1"`
	// Workloads to drive through each network.
	Workloads []Workload `yaml:"workloads,omitempty" jsonschema:"minItems=1"`
	// Measure what networks cost at equal load, too: for tcp_stream one of 1 Gbit/s, and for tcp_rr 10,000 transactions a second. At full speed the faster network has more to do. The engine drives them.
	EqualLoad bool `yaml:"equal_load,omitempty"`
	// Tools that drive the workloads; all is every tool that can, iperf|engine is the first of the two that is installed. A tool that cannot drive a workload leaves it to the others.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
	// Where the processes run: same (client and server on one CPU), distinct (on CPUs of their own) or free (wherever the scheduler puts them).
	Placements []string `yaml:"placements,omitempty" jsonschema:"minItems=1"`
	// Numbers of servers. Without the key there is one.
	Servers []int `yaml:"servers,omitempty" sweep:"true"`
	// Numbers of client containers, at least as many as servers. Client i talks to server i modulo the number of servers. Without the key there is one.
	Clients []int `yaml:"clients,omitempty" sweep:"true"`
	// Numbers of client processes in each client container. Without the key there is one.
	Processes []int `yaml:"processes,omitempty" sweep:"true"`
	// Topologies, each SERVERSxCLIENTS or SERVERSxCLIENTSxPROCESSES such as 1x4x16, instead of servers, clients and processes.
	Topologies []Topology `yaml:"topologies,omitempty" sweep:"true"`
	// Shapes of each host's link to the others, in the units of tc(8), such as rate=1gbit,delay=1ms (in quotes, where it stands in brackets); names of instances such as m4.10xlarge; none is unshaped.
	Underlay []Underlay `yaml:"underlay,omitempty" sweep:"true"`
	// Largest packets of the underlay, in bytes. Without the key it is 1500.
	MTU []int `yaml:"mtu,omitempty" sweep:"true"`
	// Numbers of further firewall rules on each host, none of which matches.
	Rules []int `yaml:"rules,omitempty" sweep:"true"`
	// Numbers of containers that exist beside those that talk.
	Neighbours []int `yaml:"neighbours,omitempty" sweep:"true"`
	// Whether devices segment, merge and check: on is as the kernel has it, off is none of it.
	Offload []string `yaml:"offload,omitempty" sweep:"true"`
	// Give all endpoints the MTU that every network can offer.
	Normalize bool `yaml:"normalize,omitempty"`
	// Measured window of one trial.
	Duration time.Duration `yaml:"duration,omitempty"`
	// Time before the window in which traffic flows and is not counted.
	Warmup time.Duration `yaml:"warmup,omitempty"`
	// Build the networks that are compared at once and have them take turns of some hundredths of a second, where their traffic can rest between them; false is one whole trial after the other. Without the key it is true.
	Turns bool `yaml:"turns,omitempty"`
	// Wanted half width of the confidence interval, relative to the value: 5% or 0.05.
	Precision Ratio `yaml:"precision,omitempty"`
	// Level of every confidence interval: 95% or 0.95.
	Confidence Ratio `yaml:"confidence,omitempty"`
	// Difference that counts as none, relative to what is compared with: 5% or 0.05.
	EqualWithin Ratio `yaml:"equal_within,omitempty"`
	// Rounds that are measured in any case. A run of many networks takes more, so that its comparisons can be concluded.
	MinRounds int `yaml:"min_rounds,omitempty"`
	// Rounds after which the run ends even if the precision was not reached.
	MaxRounds int `yaml:"max_rounds,omitempty"`
	// Time after which no round is begun; 0s is no limit.
	TimeBudget time.Duration `yaml:"time_budget,omitempty"`
	// Seed of the order of trials. With 0 each run has an order of its own.
	Seed uint64 `yaml:"seed,omitempty"`
	// A remark for the run file.
	Note string `yaml:"note,omitempty"`
	// Type of the machine that this runs on, such as m4.10xlarge, for the run file.
	Instance string `yaml:"instance,omitempty"`
	// What that machine costs, in dollars an hour.
	Price float64 `yaml:"price,omitempty"`
	// Published measurement that the suite reproduces; a report sets its figures beside those measured.
	Source string `yaml:"source,omitempty"`
	// What of that source is not measured, and why.
	Skips []Skip `yaml:"skips,omitempty" jsonschema:"minItems=1"`
	// The source's own repeats and durations, for --as-published.
	AsPublished *Published `yaml:"as_published,omitempty"`

	file  string            // that the suite was read from
	at    map[string]string // where each field was written, as file:line:column
	moved bool              // to another platform than the one it was written for
	eased bool              // its workloads were not chosen for its tools: those that none drives are left out
}

// SetPlatform moves the suite to another platform than it was written for: names
// without a prefix mean that one. What it does not have is left out, and Skipped
// says so.
func (s *Suite) SetPlatform(name string) { s.Platform, s.moved = name, true }

// Budgeted reports whether the suite's file says how long a run may take.
func (s Suite) Budgeted() bool { return s.written("time_budget") }

// LeaveUndriven has the suite leave out workloads that none of its tools drives: its tools were
// chosen, and the workloads were not chosen for them.
func (s *Suite) LeaveUndriven() { s.eased = true }

// Default is the suite that files and flags begin with. It names no network.
func Default() Suite {
	return Suite{
		Families:   []int{4},
		Workloads:  []Workload{{Name: record.TCPStream}, {Name: record.TCPRR}},
		Tools:      []string{"engine"},
		Placements: []string{record.PlacementDistinct},
		Duration:   120 * time.Millisecond,
		Warmup:     200 * time.Millisecond,
		Turns:      true,
		Precision:  0.05,
		Confidence: 0.95, EqualWithin: record.DefaultEqualWithin,
		MinRounds: 6,
		MaxRounds: 40,
	}
}

// Settings are the limits of a run of the suite.
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
	}
}
