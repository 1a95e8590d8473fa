package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

func (g group) title() string {
	var namespaces analysis.Namespaces
	for _, s := range g.scenarios {
		namespaces = namespaces || s.Namespaces
	}
	return titleOf(g.scenarios[0].Cell, namespaces)
}

// titleOf says where and how cells were measured. Hosts that are namespaces of one machine are called
// that in every heading: no network card is between them.
func titleOf(c record.Cell, namespaces analysis.Namespaces) string {
	var parts []string
	if c.Hosts > 0 {
		parts = append(parts, hostsText(c, namespaces))
	}
	if c.Family > 0 {
		parts = append(parts, fmt.Sprintf("IPv%d", c.Family))
	}
	if c.Clients > 1 || c.Servers > 1 || c.Processes > 1 {
		parts = append(parts, crowd(c))
	}
	switch c.Placement {
	case record.PlacementSame:
		parts = append(parts, "client and server on the same CPU")
	case record.PlacementDistinct:
		parts = append(parts, "client and server on different CPUs")
	case record.PlacementFree:
		parts = append(parts, "client and server on any CPU")
	case "":
	default:
		parts = append(parts, "placement "+c.Placement)
	}
	if c.Underlay != "" {
		parts = append(parts, "underlay "+c.Underlay)
	}
	parts = append(parts, conditions(c)...)
	return capital(strings.Join(parts, ", "))
}

// hostsText is how many hosts there are, and what they are.
func hostsText(c record.Cell, namespaces analysis.Namespaces) string {
	text := countOf(c.Hosts, "host")
	if namespaces {
		text += " (" + namespaces.String() + ")"
	}
	return text
}

// titledGroup is a group with a title that no other group has.
type titledGroup struct {
	group
	name string
}

// titled adds to the titles of groups what they were measured with, where
// that tells them from each other.
func titled(all []group) []titledGroup {
	out := make([]titledGroup, len(all))
	levels := []func(group) string{
		group.title,
		func(g group) string { return g.title() + ": " + g.workloads() },
		func(g group) string { return g.title() + ": " + g.traffic() },
	}
	for i, g := range all {
		for _, title := range levels {
			out[i] = titledGroup{g, title(g)}
			same := 0
			for _, other := range all {
				if title(other) == out[i].name {
					same++
				}
			}
			if same == 1 {
				break
			}
		}
	}
	return out
}

func (g group) workloads() string {
	var names []string
	for _, s := range g.scenarios {
		names = append(names, s.Cell.Workload)
	}
	return join(names)
}

// crowd says how many talk to how many.
func crowd(c record.Cell) string {
	var parts []string
	switch {
	case c.Clients > 0 && c.Processes > 1:
		parts = append(parts, countOf(c.Clients, "client container")+" of "+countOf(c.Processes, "process"))
	case c.Clients > 0:
		parts = append(parts, countOf(c.Clients, "client"))
	case c.Processes > 1:
		parts = append(parts, countOf(c.Processes, "process")+" in each client container")
	}
	if c.Servers > 0 {
		parts = append(parts, countOf(c.Servers, "server"))
	}
	return join(parts)
}

// conditions are what else is on purpose not as usual, and what is compared with.
func conditions(c record.Cell) []string {
	var parts []string
	if c.Neighbours > 0 {
		parts = append(parts, countOf(c.Neighbours, "idle neighbour"))
	}
	if c.Rules > 0 {
		parts = append(parts, countOf(c.Rules, "further firewall rule"))
	}
	if c.MTU > 0 {
		parts = append(parts, "MTU "+strconv.Itoa(c.MTU))
	}
	switch c.Offload {
	case "":
	case record.OffloadOff:
		parts = append(parts, "offloads off")
	default:
		parts = append(parts, "offload "+c.Offload)
	}
	if c.Normalize {
		parts = append(parts, "endpoints made alike")
	}
	if c.Baseline != "" {
		parts = append(parts, "compared with "+c.Baseline)
	}
	return parts
}

// coordinate is a property of a cell that only some runs have.
type coordinate struct{ name, value string }

// coordinates lists those that are set.
func coordinates(c record.Cell) []coordinate {
	var all []coordinate
	for _, d := range record.Dimensions(record.Path, record.Condition, record.Beside) {
		if d.IsSet(c) && !slices.Contains(everyRun, d.Name) {
			all = append(all, coordinate{d.Name, d.Text(c)})
		}
	}
	return all
}

// everyRun are the dimensions that every run has, and columns have of their own.
var everyRun = []string{"network", "hosts", "family", "servers", "clients", "underlay", "twin"}

// traffic says what was driven through the networks of a group.
func (g group) traffic() string {
	var parts []string
	for _, s := range g.scenarios {
		parts = append(parts, traffic(s.Cell))
	}
	return strings.Join(parts, "; ")
}

func traffic(c record.Cell) string {
	parts := []string{c.Workload}
	if c.Tool != "" {
		parts[0] += " by " + c.Tool
	}
	if o := optionsText(c.Options); o != "" {
		parts = append(parts, o)
	}
	return strings.Join(parts, ", ")
}

func optionsText(o record.Options) string {
	var parts []string
	if o.Streams > 0 {
		parts = append(parts, strconv.Itoa(o.Streams)+" "+plural(o.Streams, "stream"))
	}
	if o.MessageSize > 0 {
		parts = append(parts, "messages of "+size(o.MessageSize))
	}
	if o.RequestSize > 0 || o.ResponseSize > 0 {
		parts = append(parts, size(o.RequestSize)+" there, "+size(o.ResponseSize)+" back")
	}
	if o.Window > 0 {
		parts = append(parts, "socket buffers of "+size(o.Window))
	}
	if o.Bandwidth > 0 {
		rate := prefixed(bigPrefixes, float64(o.Bandwidth), "bit/s")
		parts = append(parts, "each flow offers "+strconv.FormatFloat(float64(o.Bandwidth)/rate.factor, 'g', 4, 64)+" "+rate.unit)
	}
	if o.Rate > 0 {
		parts = append(parts, "each flow offers "+count(uint64(o.Rate))+"/s")
	}
	if o.Reverse {
		parts = append(parts, "server sends")
	}
	if o.NoKeepAlive {
		parts = append(parts, "a connection for each request")
	}
	if o.GSO {
		parts = append(parts, "datagrams in batches")
	}
	if o.Congestion != "" {
		parts = append(parts, o.Congestion)
	}
	if o.ZeroCopy {
		parts = append(parts, "zero copy")
	}
	if o.SkipRxCopy {
		parts = append(parts, "discarded in the kernel")
	}
	return strings.Join(parts, ", ")
}

func networkName(c record.Cell) string {
	if c.Twin != 0 {
		return fmt.Sprintf("%s #%d", c.Network, c.Twin)
	}
	return c.Network
}

func countOf(n int, thing string) string { return number(n) + " " + plural(n, thing) }

// number writes a count: a small one in words.
func number(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return count(uint64(max(n, 0)))
}

func plural(n int, thing string) string {
	switch {
	case n == 1:
		return thing
	case strings.HasSuffix(thing, "s"):
		return thing + "es"
	}
	return thing + "s"
}

// size writes bytes as they are chosen: in powers of two where they are one.
func size(n int) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + " MiB"
	case n > 0 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " B"
}
