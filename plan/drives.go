package plan

import (
	"fmt"
	"slices"
	"strings"

	"nettoll/record"
)

// allTools is every tool that can drive a workload with its options.
const allTools = "all"

// drive is a workload, driven by a tool.
type drive struct {
	tool     string
	workload string
	options  record.Options
	ipv4Only bool
}

func (d drive) speaks(family int) bool { return family == 4 || !d.ipv4Only }

// drives pairs the tools with the workloads that they can drive. A tool that is
// named and does not honour an option of a workload is an error.
func (s Suite) drives(known Known) ([]drive, error) {
	var workloads []string
	for _, t := range known.Tools {
		for _, d := range t.Drives {
			workloads = append(workloads, d.Workload)
		}
	}
	by := make(map[string][]drive) // tool: its drives
	var order []string
	var undriven []error
	for i, w := range s.loads() {
		field := fmt.Sprintf("workloads[%d]", i)
		if !slices.Contains(workloads, w.Name) {
			return nil, s.unknown(field, "workload", w.Name, workloads)
		}
		names, from := s.Tools, "tools"
		if len(w.Tools) > 0 {
			names, from = w.Tools, field+".tools"
		}
		driven := false
		for j, name := range names {
			place := fmt.Sprintf("%s[%d]", from, j)
			name, err := s.available(name, place, known)
			if err != nil {
				return nil, err
			}
			found, err := s.driversOf(w, name, place, known)
			if err != nil {
				return nil, err
			}
			for _, d := range found {
				driven = true
				if by[d.tool] == nil {
					order = append(order, d.tool)
				}
				by[d.tool] = append(by[d.tool], d)
			}
		}
		if !driven {
			undriven = append(undriven, s.undriven(field, w, known))
		}
	}
	if len(undriven) > 0 && (!s.eased || len(order) == 0) {
		return nil, undriven[0]
	}
	var all []drive
	for _, t := range s.inOrder(order) {
		all = append(all, by[t]...)
	}
	return once(all), nil
}

// Undriven says of each workload that the suite leaves out, since none of its tools drives it,
// which tools do.
func Undriven(s Suite, known Known) (all []Skip) {
	drives, err := s.drives(known)
	if err != nil {
		return nil
	}
	for _, w := range s.Workloads {
		if slices.ContainsFunc(drives, func(d drive) bool { return d.workload == w.Name }) {
			continue
		}
		able := known.driving(w, func(d Drive) bool { return d.missing(w) == "" })
		all = append(all, Skip{Network: w.Name, Reason: fmt.Sprintf("%s cannot drive it; %s can", strings.Join(s.Tools, ", "), strings.Join(able, ", "))})
	}
	return all
}

// Equal load is what every network of today carries without effort, per flow.
const (
	equalBandwidth = 1_000_000_000 // bit/s
	equalRate      = 10_000        // transactions a second
)

// loads are the workloads, and those of equal load beside them.
func (s Suite) loads() []Workload {
	all := slices.Clone(s.Workloads)
	if !s.EqualLoad {
		return all
	}
	for _, w := range s.Workloads {
		w.Tools = []string{"engine"}
		switch {
		case w.Name == record.TCPStream && w.Options.Bandwidth == 0:
			w.Options.Bandwidth = equalBandwidth
		case w.Name == record.TCPRR:
			w.Name, w.Options.Rate = record.PacedRR, equalRate
		default:
			continue
		}
		all = append(all, w)
	}
	return all
}

// orElse stands between tools of which the first that is there drives.
const orElse = "|"

// available is the first of several tools that is not missing; or else the first of
// all, whose trials then say why there are none.
func (s Suite) available(names, field string, known Known) (string, error) {
	if !strings.Contains(names, orElse) {
		return names, nil
	}
	several := strings.Split(names, orElse)
	for _, name := range several {
		if _, ok := known.tool(name); !ok {
			return "", s.unknown(field, "tool", name, known.tools())
		}
	}
	for _, name := range several {
		if t, _ := known.tool(name); t.Missing == nil || t.Missing() == "" {
			return name, nil
		}
	}
	return several[0], nil
}

// inOrder puts the tools in the order in which the suite names them.
func (s Suite) inOrder(tools []string) []string {
	place := func(t string) int {
		i := slices.IndexFunc(s.Tools, func(names string) bool { return slices.Contains(strings.Split(names, orElse), t) })
		if i < 0 {
			return len(s.Tools)
		}
		return i
	}
	slices.SortStableFunc(tools, func(a, b string) int { return place(a) - place(b) })
	return tools
}

// driversOf is the drives of a workload by the tool of that name, or by all. There
// are none where the tool does not know the workload.
func (s Suite) driversOf(w Workload, name, field string, known Known) ([]drive, error) {
	var found []drive
	for _, t := range known.Tools {
		d, ok := t.drives(w.Name)
		if !ok || name != allTools && name != t.Name {
			continue
		}
		missing := d.missing(w)
		six := d.IPv4Only && !slices.Contains(s.Families, 4)
		if name != allTools {
			switch {
			case missing != "":
				return nil, s.fault(field, "%s does not honour %s on %s; %s", t.Name, missing, w.Name, honouring(missing, w, known))
			case six:
				return nil, s.fault(field, "%s drives %s over IPv4 only; add 4 to families, or leave %s out", t.Name, w.Name, t.Name)
			}
		}
		if missing == "" && !six {
			found = append(found, drive{t.Name, w.Name, w.Options, d.IPv4Only})
		}
	}
	if _, ok := known.tool(name); !ok && name != allTools {
		return nil, s.unknown(field, "tool", name, known.tools())
	}
	return found, nil
}

// missing is an option of the workload that the tool does not honour.
func (d Drive) missing(w Workload) string {
	for _, o := range w.given() {
		if !slices.Contains(d.Options, o.Name) {
			return o.Name
		}
	}
	return ""
}

// honouring says which tools honour the option.
func honouring(option string, w Workload, known Known) string {
	able := known.driving(w, func(d Drive) bool { return slices.Contains(d.Options, option) })
	if len(able) == 0 {
		return "no tool does; leave the option out"
	}
	return fmt.Sprintf("%s can; name one that can, or leave the option out", strings.Join(able, ", "))
}

// undriven is the fault of a workload that no tool of the suite drives.
func (s Suite) undriven(field string, w Workload, known Known) error {
	able := known.driving(w, func(d Drive) bool { return d.missing(w) == "" && (!d.IPv4Only || slices.Contains(s.Families, 4)) })
	switch {
	case len(able) > 0:
		return s.fault(field, "no tool of the suite drives %s; add one of %s to tools", w.Name, strings.Join(able, ", "))
	case len(w.given()) > 0:
		var names []string
		for _, o := range w.given() {
			names = append(names, o.Name)
		}
		return s.fault(field, "no tool drives %s with %s; leave options out", w.Name, strings.Join(names, ", "))
	}
	return s.fault(field, "no tool drives %s over IPv6; add 4 to families", w.Name)
}
