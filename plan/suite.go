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
	// Networks to measure, each [platform:]technique, such as bridge or docker:bridge; all is every technique. The native network of each number of hosts is added.
	Networks []string `yaml:"networks" jsonschema:"minItems=1,example=bridge"`
	// Numbers of hosts. Servers are on the first, clients on the last. Without the key it is every number that a technique makes sense on.
	Hosts []int `yaml:"hosts,omitempty" jsonschema:"minItems=1"`
	// IP versions.
	Families []int `yaml:"families,omitempty" jsonschema:"minItems=1"`
	// Workloads to drive through each network.
	Workloads []Workload `yaml:"workloads,omitempty" jsonschema:"minItems=1"`
	// Tools that drive the workloads. A tool that cannot drive a workload leaves it to the others.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
	// Where the processes run: same (client and server on one CPU), distinct (on CPUs of their own) or free (wherever the scheduler puts them).
	Placements []string `yaml:"placements,omitempty" jsonschema:"minItems=1"`
	// Number of servers.
	Servers int `yaml:"servers,omitempty"`
	// Number of clients, at least as many as servers. Client i talks to server i modulo the number of servers.
	Clients int `yaml:"clients,omitempty"`
	// Shape of each host's link to the others, in the units of tc(8), such as rate=1gbit,delay=1ms.
	Underlay Underlay `yaml:"underlay,omitempty"`
	// Measured window of one trial.
	Duration time.Duration `yaml:"duration,omitempty"`
	// Time before the window in which traffic flows and is not counted.
	Warmup time.Duration `yaml:"warmup,omitempty"`
	// Wanted half width of the confidence interval, relative to the value: 5% or 0.05.
	Precision Ratio `yaml:"precision,omitempty"`
	// Level of every confidence interval: 95% or 0.95.
	Confidence Ratio `yaml:"confidence,omitempty"`
	// Rounds that are measured in any case.
	MinRounds int `yaml:"min_rounds,omitempty"`
	// Rounds after which the run ends even if the precision was not reached.
	MaxRounds int `yaml:"max_rounds,omitempty"`
	// Time after which no round is begun; 0s is no limit.
	TimeBudget time.Duration `yaml:"time_budget,omitempty"`
	// Seed of the order of trials. With 0 each run has an order of its own.
	Seed uint64 `yaml:"seed,omitempty"`
	// A remark for the run file.
	Note string `yaml:"note,omitempty"`

	file string            // that the suite was read from
	at   map[string]string // where each field was written, as file:line:column
}

// Workload is a workload and its options. In a suite file the name alone will
// do. An option of zero is the tool's default.
type Workload struct {
	// Name of the workload, such as tcp_stream or tcp_rr.
	Name string `yaml:"name"`
	// Flows of each client (-P).
	Streams int `yaml:"streams,omitempty"`
	// Bytes of one write or read of a stream (-l).
	MessageSize Size `yaml:"message_size,omitempty"`
	// Socket buffer in bytes (-w).
	Window Size `yaml:"window,omitempty"`
	// Congestion control (-C), such as cubic.
	Congestion string `yaml:"congestion,omitempty"`
	// The sender of a stream sends a file instead of memory (-Z).
	ZeroCopy bool `yaml:"zero_copy,omitempty"`
	// The receiver of a stream lets the kernel discard what arrives.
	SkipRxCopy bool `yaml:"skip_rx_copy,omitempty"`
	// Bytes of a request.
	RequestSize Size `yaml:"request_size,omitempty"`
	// Bytes of a response.
	ResponseSize Size `yaml:"response_size,omitempty"`
}

// Default is the suite that files and flags begin with. It names no network.
func Default() Suite {
	return Suite{
		Families:   []int{4},
		Workloads:  []Workload{{Name: record.TCPStream}, {Name: record.TCPRR}},
		Tools:      []string{"engine"},
		Placements: []string{record.PlacementDistinct},
		Servers:    1,
		Clients:    1,
		Duration:   time.Second,
		Warmup:     200 * time.Millisecond,
		Precision:  0.05,
		Confidence: 0.95,
		MinRounds:  6,
		MaxRounds:  40,
	}
}

// Options are the workload's options as cells carry them.
func (w Workload) Options() record.Options {
	return record.Options{
		Streams:      w.Streams,
		MessageSize:  int(w.MessageSize),
		Window:       int(w.Window),
		Congestion:   w.Congestion,
		ZeroCopy:     w.ZeroCopy,
		SkipRxCopy:   w.SkipRxCopy,
		RequestSize:  int(w.RequestSize),
		ResponseSize: int(w.ResponseSize),
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
	}
}
