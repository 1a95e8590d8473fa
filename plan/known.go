package plan

import (
	"slices"
	"time"
)

// Known is what this program can measure. The caller fills it from its drivers.
type Known struct {
	Platforms  []Platform // the first is the default and needs no prefix
	Techniques []Technique
	Tools      []Tool
	Instances  []Instance
	Files      int // that one process may open; 0 is not known
}

// Platform is what a plan must know of one.
type Platform struct {
	Name string
	// Native is the technique whose network stands for its hosts without containers:
	// what a run that names its networks is compared with. Empty is none, and networks
	// are compared with those of the default platform, which record.Native names.
	Native string
	// Visit and Container are the time that building a network and starting a container
	// of it take there, more than in the lab.
	Visit, Container time.Duration
	// Usual are the techniques that its name alone means, as a network.
	Usual []string
	// AtOnce is how many of its networks can stand at once; 0 is any number.
	AtOnce int
}

// Technique is what a plan must know of one.
type Technique struct {
	Name      string
	Hosts     []int    // numbers of hosts that it makes sense on; 2 is any number above 1
	Families  []int    // IP versions; empty is both
	Platforms []string // that it is for; empty is any
	// Like is the technique of another platform that it is the real form of: a suite that is
	// moved to this one means it by that name. Empty: it has none.
	Like string
	// Endpoints is how many one host can hold, such as BridgePorts; 0 is MaxEndpoints.
	Endpoints int
	// Overflow: neighbours beyond that limit get further bridges, so that they do
	// not count against it.
	Overflow bool
	// Startup is the time that building its network takes, and taking it down, more than
	// VisitOverhead: that of its daemons.
	Startup time.Duration
}

// Tool is a generator of traffic.
type Tool struct {
	Name   string
	Drives []Drive
	// MinDuration is its shortest window: a shorter one is made that long.
	MinDuration time.Duration
	// Step is what its warm-up and window are multiples of: a program that knows
	// whole seconds only has one of 1 s. 0 is any length.
	Step time.Duration
	// Lead is the time that one of its trials takes beside warm-up and window, more
	// than TrialOverhead.
	Lead time.Duration
	// Missing says why it cannot be used here; empty is that it can. Nil is a tool
	// that is always there.
	Missing func() string
}

// Drive is a workload that a tool can drive.
type Drive struct {
	Workload string
	Options  []string // that it honours, by the names of their flags
	IPv4Only bool
	Turns    bool // its traffic can rest while other networks have their turn
}

// drives finds how the tool drives a workload.
func (t Tool) drives(workload string) (Drive, bool) {
	for _, d := range t.Drives {
		if d.Workload == workload {
			return d, true
		}
	}
	return Drive{}, false
}

func (t Technique) on(platform string) bool {
	return len(t.Platforms) == 0 || slices.Contains(t.Platforms, platform)
}

// spans reports whether the technique makes sense on so many hosts.
func (t Technique) spans(hosts int) bool {
	return slices.Contains(t.Hosts, hosts) || hosts > 2 && slices.Contains(t.Hosts, 2)
}

// span says in words on how many hosts it makes sense.
func (t Technique) span() string {
	switch {
	case slices.Contains(t.Hosts, 1) && slices.Contains(t.Hosts, 2):
		return "any number of hosts"
	case slices.Contains(t.Hosts, 2):
		return "2 or more hosts"
	}
	return hostCount(t.Hosts)
}

func (t Technique) speaks(family int) bool {
	return len(t.Families) == 0 || slices.Contains(t.Families, family)
}
