package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nettoll/record"
)

// Workload is a workload with its options. In a suite file the name alone is enough; options are further keys,
// named after their dimensions.
type Workload struct {
	// Name of the workload, such as tcp_stream or tcp_rr.
	Name string `yaml:"name"`
	// An option of zero is the tool's default.
	Options record.Options `yaml:"-"`
	// Tools that drive this workload, instead of those of the suite.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
}

// given returns the options that are set.
func (w Workload) given() []record.Dimension {
	return record.Those(record.Dimensions(record.Option), func(d record.Dimension) bool { return d.IsSet(record.Cell{Options: w.Options}) })
}

// Put sets an option of the workload.
func (w *Workload) Put(d record.Dimension, value any) {
	c := record.Cell{Options: w.Options}
	d.Set(&c, value)
	w.Options = c.Options
}

// Parse reads a value of an option or a condition from the text of a flag: a size as ParseSize reads it, a rate as
// ParseBitRate does, a whole number, a name, true or false.
func Parse(d record.Dimension, text string) (any, error) {
	switch d.Value(record.Cell{}).(type) {
	case int:
		return parseNumber(text, d.WrittenIn())
	case bool:
		return text == "true", nil
	}
	return text, nil
}

// parseNumber reads a whole number in a unit.
func parseNumber(text, unit string) (int, error) {
	switch unit {
	case "B":
		n, err := ParseSize(text)
		return int(n), err
	case "bit/s":
		n, err := ParseBitRate(text)
		return int(n), err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number; write digits only", text)
	}
	return n, nil
}

// inUnit writes a number as parseNumber reads it.
func inUnit(n int, unit string) string {
	switch unit {
	case "B":
		return Size(n).String()
	case "bit/s":
		return BitRate(n).String()
	}
	return strconv.Itoa(n)
}

// SetWorkloads replaces the suite's workloads. Errors about them then no longer give places in the file.
func (s *Suite) SetWorkloads(workloads []Workload) {
	s.Workloads = workloads
	s.at = maps.Clone(s.at)
	maps.DeleteFunc(s.at, func(field, _ string) bool { return strings.HasPrefix(field, "workloads[") })
}

func (s Suite) checkWorkloads() error {
	if len(s.Workloads) == 0 {
		return s.fault("workloads", "nothing is to be driven; name workloads, such as tcp_stream")
	}
	for i, w := range s.Workloads {
		if err := s.checkOptions(fmt.Sprintf("workloads[%d]", i), w); err != nil {
			return err
		}
	}
	if len(s.Tools) == 0 {
		return s.fault("tools", "nothing drives the workloads; name tools, such as engine")
	}
	if s.EqualLoad && len(s.loads()) == len(s.Workloads) {
		return s.fault("equal_load", "none of the workloads is measured at equal load; name tcp_rr, or tcp_stream without a bandwidth, or leave it out")
	}
	return nil
}

// checkOptions refuses values that are not possible, and options that have no effect on the workload: the record of
// the cell would be false.
func (s Suite) checkOptions(field string, w Workload) error {
	if !isName(w.Name) {
		return s.fault(field, "%q is not a workload; write a name such as tcp_stream", w.Name)
	}
	c := record.Cell{Options: w.Options}
	for _, d := range record.Dimensions(record.Option) {
		name := field + "." + d.Identifier()
		if n, ok := d.Raw(c); ok && (n < 0 || n > d.Most || n == 0 && !d.Open && s.written(name)) {
			what := "a number"
			if d.Unit == "bit/s" {
				what = d.Unit
			}
			return s.fault(name, "%s is not possible; write %s from 1 to %s, or leave it out", inUnit(n, d.Unit), what, inUnit(d.Most, d.Unit))
		}
	}
	if strings.Trim(w.Options.Congestion, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || len(w.Options.Congestion) > 15 {
		return s.fault(field+".congestion", "%q is not a congestion control; write a name such as cubic", w.Options.Congestion)
	}
	for _, o := range w.given() {
		if !o.Takes(w.Name) {
			return s.fault(field+"."+o.Identifier(), "has no effect on %s; leave it out", w.Name)
		}
	}
	return nil
}

// allTools stands for every tool that can drive a workload with its options.
const allTools = "all"

// drive is a workload, driven by a tool.
type drive struct {
	tool     string
	workload string
	options  record.Options
	ipv4Only bool
}

func (d drive) speaks(family int) bool { return family == 4 || !d.ipv4Only }

// drives pairs the tools with the workloads that they can drive. It is an error if a tool that is named does not
// honour an option of a workload.
func (s Suite) drives(known Known) ([]drive, error) {
	var workloads []string
	for _, t := range known.Tools {
		for _, d := range t.Drives {
			workloads = append(workloads, d.Workload)
		}
	}
	for j, name := range s.Tools { // also of workloads that have tools of their own
		if _, err := s.available(name, fmt.Sprintf("tools[%d]", j), known); err != nil {
			return nil, err
		}
	}
	var all []drive
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
		before := len(all)
		for j, name := range names {
			if slices.Contains(names[:j], name) {
				continue
			}
			place := fmt.Sprintf("%s[%d]", from, j)
			name, err := s.available(name, place, known)
			if err != nil {
				return nil, err
			}
			found, err := s.driversOf(w, name, place, field, known)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		if len(all) == before {
			undriven = append(undriven, s.undriven(field, w, known))
		}
	}
	if len(undriven) > 0 && (!s.eased || len(all) == 0) {
		return nil, undriven[0]
	}
	// By tools, in the order in which the suite names them.
	byTool := record.Gather(all, func(d drive) string { return d.tool })
	place := func(of []drive) int {
		i := slices.IndexFunc(s.Tools, func(names string) bool { return slices.Contains(strings.Split(names, orElse), of[0].tool) })
		if i < 0 {
			return len(s.Tools)
		}
		return i
	}
	slices.SortStableFunc(byTool, func(a, b []drive) int { return place(a) - place(b) })
	return once(slices.Concat(byTool...)), nil
}

// LeftOut returns what the suite names and leaves out: workloads that none of its tools drives, and of its networks the
// numbers of hosts and the IP versions that they do not have.
func LeftOut(s Suite, known Known) []Skip { return append(s.undrivable(known), s.partly(known)...) }

// undrivable returns the workloads that none of the tools drives, each with the tools that do.
func (s Suite) undrivable(known Known) (all []Skip) {
	drives, err := s.drives(known)
	if err != nil {
		return nil
	}
	for _, w := range s.Workloads {
		if slices.ContainsFunc(drives, func(d drive) bool { return d.workload == w.Name }) {
			continue
		}
		able := known.driving(w, func(d Drive) bool { return s.can(d, w) })
		all = append(all, Skip{Network: w.Name, Reason: fmt.Sprintf("%s cannot drive it; %s can", strings.Join(s.Tools, ", "), strings.Join(able, ", "))})
	}
	return all
}

// Equal load, per flow: well below what networks usually carry at full speed.
const (
	equalBandwidth = 1_000_000_000 // bit/s
	equalRate      = 10_000        // transactions per second
)

// loads returns the workloads, followed by those of equal load.
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

// orElse separates tools, as in iperf|engine: the first that is installed drives the workloads.
const orElse = "|"

// available returns the first of several tools that is installed, or else the first of all, whose trials then
// report why they cannot be done.
func (s Suite) available(names, field string, known Known) (string, error) {
	several := strings.Split(names, orElse)
	for _, name := range several {
		if _, ok := known.tool(name); !ok && names != allTools {
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

// driversOf returns how the tool of that name, or every tool if the name is allTools, drives a workload. The list
// is empty if the tool does not drive the workload. The field names the tool, and the other the workload.
func (s Suite) driversOf(w Workload, name, field, load string, known Known) ([]drive, error) {
	var found []drive
	for _, t := range known.Tools {
		d, ok := t.drives(w.Name)
		if !ok || name != allTools && name != t.Name {
			continue
		}
		switch missing := d.missing(w); {
		case s.can(d, w):
			found = append(found, drive{t.Name, w.Name, w.Options, d.IPv4Only})
		case name == allTools:
		case missing != "":
			return nil, s.fault(field, "%s does not honour %s on %s; %s", t.Name, missing, w.Name, honouring(missing, w, known))
		case d.IPv4Only && !slices.Contains(s.Families, 4):
			return nil, s.fault(field, "%s drives %s over IPv4 only; add 4 to families, or leave %s out", t.Name, w.Name, t.Name)
		default:
			return nil, s.cannot(load, w, t.Name, d)
		}
	}
	return found, nil
}

// can reports whether a tool drives a workload with its options, in an IP version of the suite.
func (s Suite) can(d Drive, w Workload) bool {
	return d.missing(w) == "" && (!d.IPv4Only || slices.Contains(s.Families, 4)) && s.cannot("", w, "", d) == nil
}

// withArticle puts an article before what is not several.
func withArticle(thing string) string {
	if first, _, _ := strings.Cut(thing, " "); strings.HasSuffix(first, "s") {
		return thing
	}
	return "a " + thing
}

// cannot returns the fault of a workload with a size that the tool cannot have, or without a warm-up that it needs.
func (s Suite) cannot(field string, w Workload, tool string, d Drive) error {
	for _, b := range d.Bounds {
		if o, _ := record.DimensionOf(b.Option); !b.Admits(w.Options) {
			n, _ := o.Raw(record.Cell{Options: w.Options})
			return s.fault(field+"."+o.Identifier(), "%s is not possible; %s drives %s with %s from %s to %s", inUnit(n, o.Unit), tool, w.Name, withArticle(o.Title),
				inUnit(b.Least, o.Unit), inUnit(b.Most, o.Unit))
		}
	}
	if d.Warmed && s.Warmup == 0 {
		return s.fault("warmup", "%s drives %s only after a warm-up, such as 200ms", tool, w.Name)
	}
	return nil
}

// missing returns an option of the workload that the tool does not honour.
func (d Drive) missing(w Workload) string {
	o, _ := record.First(w.given(), func(o record.Dimension) bool { return !slices.Contains(d.Options, o.Name) })
	return o.Name
}

// honouring describes which tools honour the option.
func honouring(option string, w Workload, known Known) string {
	able := known.driving(w, func(d Drive) bool { return slices.Contains(d.Options, option) })
	if len(able) == 0 {
		return "no tool does; leave the option out"
	}
	return fmt.Sprintf("%s can; name one that can, or leave the option out", strings.Join(able, ", "))
}

// undriven is the fault of a workload that no tool of the suite drives.
func (s Suite) undriven(field string, w Workload, known Known) error {
	able := known.driving(w, func(d Drive) bool { return s.can(d, w) })
	if len(able) > 0 {
		return s.fault(field, "no tool that was asked for drives %s; measure with %s, too", w.Name, either(able))
	}
	for _, t := range known.Tools {
		if d, ok := t.drives(w.Name); ok && d.missing(w) == "" && s.cannot(field, w, t.Name, d) != nil {
			return s.cannot(field, w, t.Name, d) // of its options, not the choice but a value is at fault
		}
	}
	if len(w.given()) > 0 {
		names := record.Each(w.given(), func(o record.Dimension) string { return o.Name })
		return s.fault(field, "no tool drives %s with %s; leave options out", w.Name, strings.Join(names, ", "))
	}
	return s.fault(field, "no tool drives %s over IPv6; add 4 to families", w.Name)
}
