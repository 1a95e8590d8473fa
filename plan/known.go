package plan

import (
	"slices"
	"strings"
	"time"
)

// Known is what this program can measure. The caller fills it from its drivers.
type Known struct {
	Platforms []Platform // the first is the default and needs no prefix
	Networks  []Network
	Tools     []Tool
	Instances []Instance
	Files     int // that one process may open; 0 is not known
}

// Platform is what a plan must know of one.
type Platform struct {
	Name string
	// Native is the network that stands for its hosts without containers:
	// what a run that names its networks is compared with. Empty is none, and networks
	// are compared with those of the default platform, which record.Native names.
	Native string
	// Visit and Container are the time that building a network and starting a container
	// of it take there, more than in the lab.
	Visit, Container time.Duration
	// Usual are the networks that its name alone means, as a network.
	Usual []string
	// AtOnce is how many of its networks can stand at once; 0 is any number.
	AtOnce int
}

// Network is what a plan must know of one.
type Network struct {
	Name      string
	Hosts     []int    // numbers of hosts that it makes sense on; 2 is any number above 1
	Families  []int    // IP versions; empty is both
	Platforms []string // that it is for; empty is any
	// Like is the network of another platform that it is the real form of: a suite that is
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

// tools are the names of all tools.
func (k Known) tools() (names []string) {
	for _, t := range k.Tools {
		names = append(names, t.Name)
	}
	return names
}

// tool finds a tool by its name.
func (k Known) tool(name string) (Tool, bool) {
	return first(k.Tools, func(t Tool) bool { return t.Name == name })
}

// driving are the names of tools that drive a workload in such a way.
func (k Known) driving(w Workload, so func(Drive) bool) (names []string) {
	for _, t := range k.Tools {
		if d, ok := t.drives(w.Name); ok && so(d) {
			names = append(names, t.Name)
		}
	}
	return names
}

// first is the first of some values that is such a one, and whether there is one.
func first[T any](all []T, such func(T) bool) (one T, ok bool) {
	if i := slices.IndexFunc(all, such); i >= 0 {
		return all[i], true
	}
	return one, false
}

// drives finds how the tool drives a workload.
func (t Tool) drives(workload string) (Drive, bool) {
	return first(t.Drives, func(d Drive) bool { return d.Workload == workload })
}

func (t Network) on(platform string) bool {
	return len(t.Platforms) == 0 || slices.Contains(t.Platforms, platform)
}

// spans reports whether the network makes sense on so many hosts.
func (t Network) spans(hosts int) bool {
	return slices.Contains(t.Hosts, hosts) || hosts > 2 && slices.Contains(t.Hosts, 2)
}

// span says in words on how many hosts it makes sense.
func (t Network) span() string {
	switch {
	case slices.Contains(t.Hosts, 1) && slices.Contains(t.Hosts, 2):
		return "any number of hosts"
	case slices.Contains(t.Hosts, 2):
		return "2 or more hosts"
	}
	return hostCount(t.Hosts)
}

func (t Network) speaks(family int) bool {
	return len(t.Families) == 0 || slices.Contains(t.Families, family)
}

// usual are the networks that the name of a platform means, as a network.
func (k Known) usual(platform string) (all []Network) {
	p, _ := first(k.Platforms, func(p Platform) bool { return p.Name == platform })
	for _, name := range p.Usual {
		if t, ok := k.find(platform, name); ok {
			all = append(all, t)
		}
	}
	return all
}

// platforms are the names of all platforms.
func (k Known) platforms() (names []string) {
	for _, p := range k.Platforms {
		names = append(names, p.Name)
	}
	return names
}

// platformOf is the platform of a cell's network.
func (k Known) platformOf(network string) Platform {
	name, _, ok := strings.Cut(network, ":")
	p, _ := first(k.Platforms, func(p Platform) bool { return !ok || p.Name == name })
	return p
}

// kindOf is the kind of a cell's network.
func (k Known) kindOf(network string) Network {
	t, _ := k.find(k.platformOf(network).Name, network[strings.Index(network, ":")+1:])
	return t
}

// on are the networks of a platform.
func (k Known) on(platform string) (all []Network) {
	for _, t := range k.Networks {
		if t.on(platform) {
			all = append(all, t)
		}
	}
	return all
}

// find finds a network of a platform.
func (k Known) find(platform, name string) (Network, bool) {
	return first(k.on(platform), func(t Network) bool { return t.Name == name })
}

// like finds the network of a platform that is the real form of another platform's.
func (k Known) like(platform, name string) (Network, bool) {
	return first(k.on(platform), func(t Network) bool { return t.Like == name && name != "" })
}

// elsewhere are the other platforms that have a network of that name.
func (k Known) elsewhere(platform, name string) (others []string) {
	for _, p := range k.platforms() {
		if _, ok := k.find(p, name); ok && p != platform {
			others = append(others, p)
		}
	}
	return others
}

// name is what cells call a network on a platform.
func (k Known) name(platform, name string) string {
	if len(k.Platforms) == 0 || platform == k.Platforms[0].Name {
		return name
	}
	return platform + ":" + name
}
