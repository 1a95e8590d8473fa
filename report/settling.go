package report

import (
	"fmt"
	"strings"

	"nettoll/analysis"
)

// settlingMatters is from how many seconds on it is worth a word how long a network took to
// fall silent.
const settlingMatters = 0.5

// settlingSections say what networks did by themselves before they could be measured, if
// any of them did much.
func settlingSections(res analysis.Result) []section {
	sec := section{
		title: "Until networks were silent",
		meta:  "What they sent and used by themselves after they had been built. No trial contains it: trials begin afterwards.",
	}
	sh := sheet{stub: []string{"network", "built"}, columns: []string{"silent after, s", "CPU seconds", "packets"}, long: true}
	for _, s := range res.Settlings {
		name := settlingName(s)
		sh.lines = append(sh.lines, sheetLine{
			names: []string{name, count(uint64(s.Built)) + " ×"},
			cells: []sheetCell{spreadCell(s.Wait), spreadCell(s.CPU), {value: count(uint64(s.Packets.Median)), spread: upTo(count(uint64(s.Packets.Max)))}},
		})
		if s.Wait.Median < settlingMatters && s.Silent == s.Built {
			continue
		}
		text := fmt.Sprintf("fell silent %s s after it had been built (median of %d)", short(s.Wait.Median), s.Built)
		if s.Silent < s.Built {
			text = fmt.Sprintf("was built %s and did not fall silent %s, for up to %s s", countOf(s.Built, "time"), countOf(s.Built-s.Silent, "time"), short(s.Wait.Max))
		}
		text += fmt.Sprintf("; until then the machine used %s CPU seconds beyond its idle ones, and %s packets crossed the network's devices (medians).",
			short(s.CPU.Median), count(uint64(s.Packets.Median)))
		sec.sayings = append(sec.sayings, saying{name, text})
	}
	if len(sec.sayings) == 0 {
		return nil
	}
	sec.sheets = []sheet{sh}
	return []section{sec}
}

// settlingName is a network with what else was built.
func settlingName(s analysis.Settling) string {
	c := s.Cell
	parts := []string{networkName(c)}
	if c.Hosts > 1 {
		parts = append(parts, hostsText(c, s.Namespaces))
	}
	if c.Clients > 1 || c.Servers > 1 || c.Processes > 1 {
		parts = append(parts, crowd(c))
	}
	if c.Underlay != "" {
		parts = append(parts, "underlay "+c.Underlay)
	}
	return strings.Join(append(parts, conditions(c)...), ", ")
}

func spreadCell(s analysis.Spread) sheetCell {
	return sheetCell{value: short(s.Median), spread: upTo(short(s.Max))}
}

func upTo(most string) string { return "up to " + most }

type jsonSettling struct {
	Network    string     `json:"network"`
	Hosts      int        `json:"hosts"`
	Servers    int        `json:"servers"`
	Clients    int        `json:"clients"`
	Processes  int        `json:"processes,omitempty"`
	Neighbours int        `json:"neighbours,omitempty"`
	Rules      int        `json:"rules,omitempty"`
	MTU        int        `json:"mtu,omitempty"`
	Underlay   string     `json:"underlay,omitempty"`
	HostsAre   string     `json:"hosts_are,omitempty"`
	Built      int        `json:"built"`
	Silent     int        `json:"silent"`
	Wait       jsonSpread `json:"wait_s"`
	CPU        jsonSpread `json:"cpu_s"`
	Packets    jsonSpread `json:"packets"`
}

type jsonSpread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func jsonSettlings(res analysis.Result) (all []jsonSettling) {
	for _, s := range res.Settlings {
		c := s.Cell
		all = append(all, jsonSettling{
			Network: c.Network, Hosts: c.Hosts, Servers: c.Servers, Clients: c.Clients, Processes: c.Processes,
			Neighbours: c.Neighbours, Rules: c.Rules, MTU: c.MTU, Underlay: c.Underlay, HostsAre: kindOfHosts(s.Namespaces), Built: s.Built, Silent: s.Silent,
			Wait: jsonSpread(s.Wait), CPU: jsonSpread(s.CPU), Packets: jsonSpread(s.Packets),
		})
	}
	return all
}
