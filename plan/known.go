package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Known is what this program can measure. The caller fills it from its drivers.
type Known struct {
	Platforms  []string // the first is the default and needs no prefix
	Techniques []Technique
	Tools      []Tool
}

// Technique is what a plan must know of one.
type Technique struct {
	Name      string
	Hosts     []int    // numbers of hosts that it makes sense on
	Families  []int    // IP versions; empty is both
	Platforms []string // that it is for; empty is any
	// Endpoints is how many one host can hold, such as BridgePorts; 0 is MaxEndpoints.
	Endpoints int
}

// Tool is a generator of traffic.
type Tool struct {
	Name   string
	Drives []Drive
}

// Drive is a workload that a tool can drive.
type Drive struct {
	Workload string
	Options  []string // that it honours, by the names of their flags
	IPv4Only bool
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

func (t Technique) speaks(family int) bool {
	return len(t.Families) == 0 || slices.Contains(t.Families, family)
}

// network is a technique on a platform.
type network struct {
	name      string // as cells have it
	technique Technique
	field     string // that names it; empty where it came with "all"
}

// networks looks up what the suite names. Each stands there once.
func (s Suite) networks(known Known) ([]network, error) {
	var nets []network
	seen := make(map[string]int)
	add := func(platform string, t Technique, field string) {
		name := t.Name
		if len(known.Platforms) > 0 && platform != known.Platforms[0] {
			name = platform + ":" + name
		}
		if i, ok := seen[name]; ok {
			if nets[i].field == "" {
				nets[i].field = field
			}
			return
		}
		seen[name] = len(nets)
		nets = append(nets, network{name, t, field})
	}
	for i, text := range s.Networks {
		field := fmt.Sprintf("networks[%d]", i)
		platform, name, ok := strings.Cut(text, ":")
		if !ok {
			platform, name = "", text
			if len(known.Platforms) > 0 {
				platform = known.Platforms[0]
			}
		} else if !slices.Contains(known.Platforms, platform) {
			return nil, s.unknown(field, "platform", platform, known.Platforms)
		}
		var here []string
		for _, t := range known.Techniques {
			if t.on(platform) {
				here = append(here, t.Name)
				switch name {
				case "all":
					add(platform, t, "")
				case t.Name:
					add(platform, t, field)
				}
			}
		}
		if name != "all" && !slices.Contains(here, name) {
			return nil, s.unknown(field, "technique", name, here)
		}
	}
	return nets, nil
}

// drive is a workload, driven by a tool.
type drive struct {
	tool     string
	workload Workload
}

// drives pairs the tools with the workloads that they can drive.
func (s Suite) drives(known Known) ([]drive, error) {
	var tools, names []string
	can := make(map[drive]bool)
	for _, t := range known.Tools {
		tools = append(tools, t.Name)
		for _, d := range t.Drives {
			names = append(names, d.Workload)
			can[drive{t.Name, Workload{Name: d.Workload}}] = true
		}
	}
	for i, t := range s.Tools {
		if !slices.Contains(tools, t) {
			return nil, s.unknown(fmt.Sprintf("tools[%d]", i), "tool", t, tools)
		}
	}
	driven := make(map[string]bool)
	var out []drive
	for _, t := range once(s.Tools) {
		for _, w := range once(s.Workloads) {
			if can[drive{t, Workload{Name: w.Name}}] {
				out = append(out, drive{t, w})
				driven[w.Name] = true
			}
		}
	}
	for i, w := range s.Workloads {
		field := fmt.Sprintf("workloads[%d]", i)
		switch {
		case !slices.Contains(names, w.Name):
			return nil, s.unknown(field, "workload", w.Name, names)
		case !driven[w.Name]:
			var able []string
			for _, t := range known.Tools {
				if _, ok := t.drives(w.Name); ok {
					able = append(able, t.Name)
				}
			}
			return nil, s.fault(field, "no tool of the suite drives %s; add one of %s to tools", w.Name, strings.Join(able, ", "))
		}
	}
	return out, nil
}

// once leaves out what stood there before.
func once[T comparable](list []T) []T {
	var out []T
	seen := make(map[T]bool)
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}
