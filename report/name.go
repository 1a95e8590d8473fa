package report

import (
	"fmt"
	"strconv"
	"strings"

	"nettoll/record"
)

func (g group) title() string {
	c := g.scenarios[0].Cell
	parts := []string{"one host"}
	if c.Hosts != 1 {
		parts[0] = countOf(c.Hosts, "host")
	}
	parts = append(parts, fmt.Sprintf("IPv%d", c.Family))
	if c.Clients > 1 || c.Servers > 1 {
		parts = append(parts, countOf(c.Clients, "client")+", "+countOf(c.Servers, "server"))
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
	title := strings.Join(parts, ", ")
	return strings.ToUpper(title[:1]) + title[1:]
}

// traffic says what was driven through the networks of a group.
func (g group) traffic() string {
	var parts []string
	for _, s := range g.scenarios {
		parts = append(parts, traffic(s.Cell))
	}
	return strings.Join(parts, "; ")
}

func traffic(c record.Cell) string {
	parts := []string{c.Workload + " by " + c.Tool}
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

func countOf(n int, thing string) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six"}
	number := count(uint64(max(n, 0)))
	if n >= 0 && n < len(words) {
		number = words[n]
	}
	return number + " " + plural(n, thing)
}

func plural(n int, thing string) string {
	if n == 1 {
		return thing
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
