package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nettoll/record"
)

// Known is what this program can measure. The caller fills it from its drivers.
type Known struct {
	Platforms []Platform // the first is the default and needs no prefix
	Networks  []Network
	Tools     []Tool
	Instances []Instance
	Sources   []string // published measurements that reports can show; nil is not known
	Files     int      // that one process may open; 0 is not known
}

// Platform is what a plan needs to know of a platform.
type Platform struct {
	Name string
	// Native is its network without containers: the baseline of runs that name networks of this platform. If
	// it is empty, networks are compared with the native network of the default platform, which record.Native
	// names.
	Native string
	// Visit and Container are the extra time that building a network and starting a container take there, compared
	// with the lab.
	Visit, Container time.Duration
	// Usual are the networks that the platform's name stands for where a network is expected.
	Usual []string
	// AtOnce is how many of its networks can stand at once; 0 is any number.
	AtOnce int
	// Crowd is how many containers the networks that stand at once may have together; 0 is any number.
	Crowd int
}

// Network is what a plan needs to know of a network.
type Network struct {
	Name      string
	Hosts     []int    // numbers of hosts that it makes sense on; 2 is any number above 1
	Families  []int    // IP versions; empty is both
	Platforms []string // that it is for; empty is any
	// Like is the network of another platform that this one is the real form of: in a suite that is moved to this
	// platform, that name means this network. Empty is none.
	Like string
	// Endpoints is how many one host can hold, such as 1023 for the ports of a Linux bridge; 0 is MaxEndpoints.
	Endpoints int
	// Overflow says that neighbours beyond that limit get further bridges, so that they do not count against it.
	Overflow bool
	// Single says that two of its kind cannot stand at once on hosts that they share, as twins would.
	Single bool
	// Apart says that it disturbs whatever is measured while it stands, even if nothing is sent over it.
	Apart bool
	// Relays says that its traffic is relayed with the machine's own congestion control.
	Relays bool
	// Carried says that daemons carry its payload: see TurnOf.
	Carried bool
	// Has is what it has of that which conditions need, such as record.Services.
	Has []string
	// Startup is the extra time that building and removing the network take, beyond VisitOverhead: that of its
	// daemons.
	Startup time.Duration
}

// Tool is a generator of traffic.
type Tool struct {
	Name   string
	Drives []Drive
	// MinDuration is its shortest window: a shorter one is extended to that.
	MinDuration time.Duration
	// Step is the unit of its warm-up and window: a program that accepts whole seconds only has a step of 1 s. 0 is
	// any length.
	Step time.Duration
	// Lead is the time that one of its trials takes in addition to warm-up, window and TrialOverhead.
	Lead time.Duration
	// Missing returns why the tool cannot be used here, or "" if it can. It is nil for a tool that is always there.
	Missing func() string
}

// Drive is a workload that a tool can drive.
type Drive struct {
	Workload string
	Options  []string // that it honours, by the names of their flags
	IPv4Only bool
	Bounds   []record.Bounds // of sizes, where the tool cannot have all that record.Dimension allows
	Warmed   bool            // it cannot be driven without a warm-up
	Turns    bool            // its traffic can pause while other networks have their turn
}

// tools returns the names of all tools.
func (k Known) tools() []string {
	return record.Each(k.Tools, func(t Tool) string { return t.Name })
}

// tool finds a tool by its name.
func (k Known) tool(name string) (Tool, bool) {
	return record.First(k.Tools, func(t Tool) bool { return t.Name == name })
}

// driving returns the names of the tools that drive a workload and whose Drive satisfies so.
func (k Known) driving(w Workload, so func(Drive) bool) (names []string) {
	for _, t := range k.Tools {
		if d, ok := t.drives(w.Name); ok && so(d) {
			names = append(names, t.Name)
		}
	}
	return names
}

// drives finds how the tool drives a workload.
func (t Tool) drives(workload string) (Drive, bool) {
	return record.First(t.Drives, func(d Drive) bool { return d.Workload == workload })
}

func (t Network) on(platform string) bool {
	return len(t.Platforms) == 0 || slices.Contains(t.Platforms, platform)
}

// Spans reports whether the network makes sense on that number of hosts.
func (t Network) Spans(hosts int) bool {
	return slices.Contains(t.Hosts, hosts) || hosts > 2 && slices.Contains(t.Hosts, 2)
}

// Span describes the numbers of hosts that the network makes sense on.
func (t Network) Span() string {
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

// usual returns the networks that the name of a platform stands for where a network is expected.
func (k Known) usual(platform string) []Network {
	p, _ := record.First(k.Platforms, func(p Platform) bool { return p.Name == platform })
	return record.Found(p.Usual, func(name string) (Network, bool) { return k.find(platform, name) })
}

// taking returns a network of each platform that takes a condition, one of the usual ones if any of these does.
func (k Known) taking(d record.Dimension) []string {
	return record.Found(k.platforms(), func(p string) (string, bool) {
		taker, ok := record.First(append(k.usual(p), k.on(p)...), func(n Network) bool { return d.TakenBy(n.Has) })
		return k.name(p, taker.Name), ok
	})
}

// platforms returns the names of all platforms.
func (k Known) platforms() []string {
	return record.Each(k.Platforms, func(p Platform) string { return p.Name })
}

// platformOf returns the platform of a cell's network.
func (k Known) platformOf(network string) Platform {
	name, _, ok := strings.Cut(network, ":")
	p, _ := record.First(k.Platforms, func(p Platform) bool { return !ok || p.Name == name })
	return p
}

// kindOf returns the kind of a cell's network.
func (k Known) kindOf(network string) Network {
	t, _ := k.find(k.platformOf(network).Name, network[strings.Index(network, ":")+1:])
	return t
}

// on returns the networks of a platform.
func (k Known) on(platform string) []Network {
	return record.Those(k.Networks, func(t Network) bool { return t.on(platform) })
}

// find finds a network of a platform by its name.
func (k Known) find(platform, name string) (Network, bool) {
	return record.First(k.on(platform), func(t Network) bool { return t.Name == name })
}

// like finds the network of a platform that is the real form of another platform's network.
func (k Known) like(platform, name string) (Network, bool) {
	return record.First(k.on(platform), func(t Network) bool { return t.Like == name && name != "" })
}

// elsewhere returns the other platforms that have a network of that name.
func (k Known) elsewhere(platform, name string) []string {
	return record.Those(k.platforms(), func(p string) bool {
		_, ok := k.find(p, name)
		return ok && p != platform
	})
}

// name returns the name that cells use for a network of a platform.
func (k Known) name(platform, name string) string {
	if len(k.Platforms) == 0 || platform == k.Platforms[0].Name {
		return name
	}
	return platform + ":" + name
}

// allNetworks stands for every network of a platform.
const allNetworks = "all"

// named is a network that a suite names, on a platform.
type named struct {
	name     string // as cells have it
	platform string
	kind     Network
	field    string // the field that names it; empty if it came with "all" or the name of its platform
	moved    bool   // the suite was moved here from another platform: what does not fit is left out
}

// home returns the platform of names without a prefix.
func (s Suite) home(known Known) string {
	if s.Platform == "" && len(known.Platforms) > 0 {
		return known.Platforms[0].Name
	}
	return s.Platform
}

// networks looks up the networks that the suite names, each once. The skips list what is left out because the suite
// was moved to another platform.
func (s Suite) networks(known Known) (nets []named, skips []Skip, err error) {
	if s.Platform != "" && !slices.Contains(known.platforms(), s.Platform) {
		return nil, nil, s.unknown("platform", "platform", s.Platform, known.platforms())
	}
	seen := make(map[string]int)
	add := func(n named) {
		if i, ok := seen[n.name]; !ok {
			seen[n.name] = len(nets)
			nets = append(nets, n)
		} else if nets[i].field == "" {
			nets[i].field = n.field
		}
	}
	for i, text := range s.Networks {
		field := fmt.Sprintf("networks[%d]", i)
		platform, name, err := s.split(text, field, known)
		if err != nil {
			return nil, nil, err
		}
		moved := s.moved && name == text
		several, all := known.usual(text), name == allNetworks
		if all {
			several = known.on(platform)
		} else if len(several) > 0 {
			platform = text
		}
		for _, t := range several {
			add(named{known.name(platform, t.Name), platform, t, "", false})
		}
		if all || len(several) > 0 {
			continue
		}
		t, ok := known.find(platform, name)
		if moved && !ok {
			t, ok = known.like(platform, name)
		}
		switch {
		case ok:
			n := named{known.name(platform, t.Name), platform, t, field, moved}
			if why, _ := s.unfit(n); why != "" && moved {
				skips = append(skips, Skip{Network: text, Reason: why})
			}
			add(n)
		case moved && len(known.elsewhere(platform, name)) > 0:
			skips = append(skips, Skip{Network: text, Reason: fmt.Sprintf("%s has no network %s", platform, name)})
		default:
			return nil, nil, s.unknownNetwork(field, platform, name, known)
		}
	}
	for _, t := range s.regained(known) {
		add(named{known.name(s.Platform, t.Name), s.Platform, t, "", true})
	}
	if len(nets) == 0 {
		return nil, nil, s.fault("platform", "%s has none of the networks that are named; name others, or another platform", s.home(known))
	}
	return nets, once(skips), nil
}

// regained returns networks that the suite skips because the platform it was written for lacks them, and that the
// platform it was moved to has.
func (s Suite) regained(known Known) []Network {
	if !s.moved {
		return nil
	}
	return record.Found(s.Skips, func(k Skip) (Network, bool) { return known.find(s.Platform, k.Network) })
}

// split splits the name of a network into platform and name.
func (s Suite) split(text, field string, known Known) (platform, name string, err error) {
	platform, name, ok := strings.Cut(text, ":")
	if !ok {
		return s.home(known), text, nil
	}
	if !slices.Contains(known.platforms(), platform) {
		return "", "", s.unknown(field, "platform", platform, known.platforms())
	}
	return platform, name, nil
}

// look finds the network of a platform that a field names.
func (s Suite) look(field, platform, name string, known Known) (named, error) {
	t, ok := known.find(platform, name)
	if !ok {
		return named{}, s.unknownNetwork(field, platform, name, known)
	}
	return named{name: known.name(platform, name), platform: platform, kind: t}, nil
}

// clusters are names that people try, of networks that exist only in a cluster.
var clusters = []string{"cilium", "k8s", "antrea", "kube-router"}

// unknownNetwork is the fault of a field that names a network which its platform does not have. If another platform
// has it, that one was probably meant.
func (s Suite) unknownNetwork(field, platform, name string, known Known) error {
	if others := known.elsewhere(platform, name); len(others) > 0 {
		return s.fault(field, "%s has no network %q, %s has: did you mean %q? nettoll list networks shows all",
			platform, name, others[0], s.spelled(known, others[0], name))
	}
	if slices.Contains(known.platforms(), name) {
		return s.fault(field, "%s is a platform; write %s:%s for all of its networks. nettoll list networks %s shows them", name, name, allNetworks, name)
	}
	if slices.Contains(clusters, name) {
		return s.fault(field, "%s needs a cluster with its agents, which nettoll does not start; calico-… and flannel-… can be measured without one, and what a CNI plugin builds by itself (--cni-conf)", name)
	}
	here := record.Each(known.on(platform), func(t Network) string { return s.spelled(known, platform, t.Name) })
	if _, near := Nearest(s.spelled(known, platform, name), here); !near {
		if of, ok := Nearest(name, known.platforms()); ok {
			return s.fault(field, "unknown network %q; %s is a platform: write %[2]s:%s for all of its networks. nettoll list networks %[2]s shows them", name, of, allNetworks)
		}
	}
	return s.unknown(field, "network", s.spelled(known, platform, name), here)
}

// spelled returns how the suite names a network of a platform.
func (s Suite) spelled(known Known, platform, name string) string {
	if platform == s.home(known) {
		return name
	}
	return platform + ":" + name
}

// base is the baseline of the cells on one number of hosts.
type base struct {
	named
	chosen string // as cells have it; empty is record.Native
}

// baselines returns the baseline for each number of hosts: the one that the suite names; or else the native network
// of the first platform other than the default that it names a network of; or else record.Native. fits are the
// numbers of hosts that each network is measured on.
func (s Suite) baselines(known Known, nets []named, fits [][]int) (map[int]base, error) {
	candidates, err := s.candidates(known, nets)
	if err != nil {
		return nil, err
	}
	all := make(map[int]base)
	for i, net := range nets {
		for _, h := range fits[i] {
			b, ok := all[h]
			if !ok {
				at := slices.IndexFunc(candidates, func(c named) bool { return c.kind.Spans(h) })
				switch {
				case at >= 0:
					b = base{candidates[at], candidates[at].name}
				case s.Baseline != "":
					c := candidates[0]
					return nil, s.fault("baseline", "%s makes sense on %s, %s is measured on %d; change the number of hosts, or name another baseline",
						c.name, c.kind.Span(), net.name, h)
				default:
					b = base{named: named{name: record.Native(h)}}
				}
				if b.name == record.Native(h) {
					b.chosen = ""
				}
				all[h] = b
			}
			if err := s.checkBaseline(known, net, b, h); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// candidates returns the networks that may be the baseline, the likeliest first.
func (s Suite) candidates(known Known, nets []named) (all []named, err error) {
	const field = "baseline"
	if s.Baseline != "" {
		platform, name, err := s.split(s.Baseline, field, known)
		if err != nil {
			return nil, err
		}
		net, err := s.look(field, platform, name, known)
		return []named{net}, err
	}
	for _, net := range nets {
		native := known.native(net.platform)
		if native == "" {
			continue
		}
		base, err := s.look(field, net.platform, native, known)
		if err != nil {
			return nil, err
		}
		all = append(all, base)
	}
	return all, nil
}

// native returns the baseline of a platform's networks, or "" where that is the default platform's.
func (k Known) native(platform string) string {
	if i := slices.Index(k.platforms(), platform); i > 0 {
		return k.Platforms[i].Native
	}
	return ""
}

// checkBaseline refuses to compare a network with a baseline that does not carry its IP versions, or with one of
// the lab if its own platform has a native network.
func (s Suite) checkBaseline(known Known, net named, b base, hosts int) error {
	for _, f := range s.Families {
		if net.kind.speaks(f) && !b.kind.speaks(f) {
			return s.fault("baseline", "%s carries IPv%s only, %s is measured over IPv%d too; change families, or name another baseline",
				b.name, list(b.kind.Families), net.name, f)
		}
	}
	if native := known.native(net.platform); native != "" && s.Baseline == "" && b.platform == "" {
		return s.fault("baseline", "%s has no native on %d hosts to compare %s with; change the number of hosts, or name a baseline",
			net.platform, hosts, net.name)
	}
	return nil
}
