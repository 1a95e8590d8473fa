package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

func (g group) title() string { return titleOf(g.scenarios[0].Cell, anyNamespaces(g.scenarios)) }

func anyNamespaces(all []analysis.Scenario) analysis.Namespaces {
	return analysis.Namespaces(slices.ContainsFunc(all, func(s analysis.Scenario) bool { return bool(s.Namespaces) }))
}

// phrases collects the parts of a text that apply.
type phrases []string

func (p *phrases) add(when bool, text string) {
	if when {
		*p = append(*p, text)
	}
}

// some adds texts that are not empty.
func (p *phrases) some(texts ...string) {
	for _, text := range texts {
		p.add(text != "", text)
	}
}

// titleOf describes where and how cells were measured. Hosts that are namespaces of one
// machine are named so in every heading: there is no network card between them.
func titleOf(c record.Cell, namespaces analysis.Namespaces) string {
	same := "client and server on the same CPU"
	if c.Hosts > 1 && !namespaces {
		same = "client and server on one CPU of each host"
	}
	placements := map[string]string{
		record.PlacementSame: same, record.PlacementDistinct: "client and server on different CPUs",
		record.PlacementFree: "client and server on any CPU",
	}
	var parts phrases
	parts.add(c.Hosts > 0, hostsText(c, namespaces))
	parts.add(c.Family > 0, fmt.Sprintf("IPv%d", c.Family))
	parts.add(isCrowd(c), crowd(c))
	parts.add(c.Placement != "", cmp.Or(placements[c.Placement], "placement "+c.Placement))
	parts.add(c.Underlay != "", "underlay "+c.Underlay)
	return capital(join(append(parts, conditions(c)...)))
}

// hostsText returns the number of hosts and their kind.
func hostsText(c record.Cell, namespaces analysis.Namespaces) string {
	text := countOf(c.Hosts, "host")
	if namespaces {
		text += " (" + namespaces.String() + ")"
	}
	return text
}

// titled gives groups their names: their titles, with the workload or the traffic if titles
// would otherwise be equal.
func titled(all []group) []group {
	levels := []func(group) string{
		group.title,
		func(g group) string { return g.title() + ": " + g.workloads() },
		func(g group) string { return g.title() + ": " + g.traffic() },
	}
	open := make([]int, len(all)) // groups without a title of their own
	for i := range all {
		open[i] = i
	}
	for _, title := range levels {
		titles, times := record.Each(all, title), map[string]int{}
		for _, t := range titles {
			times[t]++
		}
		for _, i := range open {
			all[i].name = titles[i]
		}
		open = slices.DeleteFunc(open, func(i int) bool { return times[titles[i]] == 1 })
	}
	return all
}

func (g group) workloads() string {
	return join(record.Each(g.scenarios, func(s analysis.Scenario) string { return s.Cell.Workload }))
}

// isCrowd reports whether there are several clients or servers.
func isCrowd(c record.Cell) bool { return c.Clients > 1 || c.Servers > 1 || c.Processes > 1 }

// crowd describes the numbers of clients and servers.
func crowd(c record.Cell) string {
	var parts phrases
	parts.add(c.Clients > 0 && c.Processes > 1, countOf(c.Clients, "client container")+" of "+countOf(c.Processes, "process"))
	parts.add(c.Clients > 0 && c.Processes <= 1, countOf(c.Clients, "client"))
	parts.add(c.Clients <= 0 && c.Processes > 1, countOf(c.Processes, "process")+" in each client container")
	parts.add(c.Servers > 0, countOf(c.Servers, "server"))
	return join(parts)
}

// conditions describes the deliberate deviations from the usual setup, and the chosen baseline: small numbers in words,
// others by title.
func conditions(c record.Cell) []string {
	var parts phrases
	for _, d := range record.Dimensions(record.Condition) {
		text := d.Phrase(c)
		if n, things, ok := d.Counted(c); ok {
			text = number(n) + " " + things
		}
		parts.add(d.IsSet(c), text)
	}
	parts.add(c.Baseline != "", "compared with "+c.Baseline)
	return parts
}

// coordinate is a property of a cell that only some runs have.
type coordinate struct{ name, value string }

// coordinates lists the properties that are set.
func coordinates(c record.Cell) []coordinate {
	set := record.Those(record.Dimensions(record.Path, record.Condition, record.Beside), func(d record.Dimension) bool {
		return d.IsSet(c) && !slices.Contains(everyRun, d.Name)
	})
	return record.Each(set, func(d record.Dimension) coordinate { return coordinate{d.Identifier(), d.Text(c)} })
}

// described lists all properties of a cell, for formats that have them as columns or labels.
func described(s analysis.Scenario, c record.Cell) []coordinate {
	return append([]coordinate{
		{"network", networkName(c)}, {"workload", c.Workload}, {"tool", c.Tool}, {"hosts", strconv.Itoa(c.Hosts)},
		{"family", strconv.Itoa(c.Family)}, {"servers", strconv.Itoa(c.Servers)}, {"clients", strconv.Itoa(c.Clients)},
		{"placement", c.Placement}, {"underlay", c.Underlay}, {"options", optionsText(c.Options)}, {"hosts_are", s.Namespaces.String()},
	}, coordinates(c)...)
}

// everyRun are the dimensions that coordinates leaves out: its callers list them themselves, a twin as part of the
// network's name.
var everyRun = []string{"network", "hosts", "family", "servers", "clients", "twin"}

// traffic describes the traffic of a group.
func (g group) traffic() string {
	return strings.Join(record.Each(g.scenarios, func(s analysis.Scenario) string { return traffic(s.Cell) }), "; ")
}

func traffic(c record.Cell) string {
	parts := phrases{c.Workload}
	if c.Tool != "" {
		parts[0] += " by " + c.Tool
	}
	parts.some(optionsText(c.Options))
	return join(parts)
}

// optionsText describes the options of a workload: those in inWords that way, all others by title.
func optionsText(o record.Options) string {
	var parts phrases
	cell := record.Cell{Options: o}
	for _, d := range record.Dimensions(record.Option) {
		if text, ok := inWords[d.Name]; ok && d.IsSet(cell) {
			parts.some(text(o))
			continue
		}
		parts.add(d.IsSet(cell), d.Phrase(cell))
	}
	return join(parts)
}

// inWords has the options that are described in their own words, by their names.
var inWords = map[string]func(record.Options) string{
	"streams":       func(o record.Options) string { return count(uint64(o.Streams)) + " " + plural(o.Streams, "stream") },
	"message-size":  func(o record.Options) string { return "messages of " + size(o.MessageSize) },
	"request-size":  func(o record.Options) string { return size(o.RequestSize) + " there" },
	"response-size": func(o record.Options) string { return size(o.ResponseSize) + " back" },
	"window":        func(o record.Options) string { return "socket buffers of " + size(o.Window) },
	"bandwidth": func(o record.Options) string {
		rate := prefixed(bigPrefixes, float64(o.Bandwidth), "bit/s")
		return "each flow offers " + strconv.FormatFloat(float64(o.Bandwidth)/rate.factor, 'f', -1, 64) + " " + rate.unit
	},
	"rate":       func(o record.Options) string { return "each flow offers " + count(uint64(o.Rate)) + "/s" },
	"congestion": func(o record.Options) string { return o.Congestion },
}

func networkName(c record.Cell) string {
	if c.Twin != 0 {
		return fmt.Sprintf("%s #%d", c.Network, c.Twin)
	}
	return c.Network
}

func countOf(n int, thing string) string { return number(n) + " " + plural(n, thing) }

// number formats a count, a small one in words.
func number(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return count(uint64(max(n, 0)))
}

// oneOr returns the word for one thing, or that for another number of them.
func oneOr(n int, one, others string) string {
	if n == 1 {
		return one
	}
	return others
}

func plural(n int, thing string) string {
	if strings.HasSuffix(thing, "s") {
		return oneOr(n, thing, thing+"es")
	}
	return oneOr(n, thing, thing+"s")
}

// size formats bytes in KiB or MiB if they are a multiple of these.
func size(n int) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + " MiB"
	case n > 0 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " B"
}

func join(parts []string) string { return strings.Join(parts, ", ") }
