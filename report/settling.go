package report

import (
	"fmt"
	"slices"

	"nettoll/analysis"
	"nettoll/record"
)

// settlingMatters is the time in seconds from which the wait for a network to fall silent is mentioned.
const settlingMatters = 0.5

// restingMatters is the share of a CPU from which the CPU time of daemons without traffic is mentioned.
const restingMatters = 0.001

// settlingSections describes what networks did without traffic: before they were measured,
// and while others had their turns. There is no section if none of them did much.
func settlingSections(res analysis.Result) []*section {
	sec := &section{
		Title: "What networks do without traffic",
		Meta:  "What networks sent on their own from when they had been built until they fell silent, what the machine used until then beyond its idle use, also for other networks of the same group, and what their daemons used later, while other networks had their turns. No trial includes it.",
	}
	sh := table{Stub: []string{"network", "built"}, Columns: columnsOf("silent after, s", "CPU seconds of the machine until then", "packets until then"), long: true}
	rested := slices.ContainsFunc(res.Settlings, func(s analysis.Settling) bool { return s.Rested > 0 })
	if rested {
		sh.Columns = append(sh.Columns, columnsOf("daemons at rest, % of a CPU")...)
	}
	for _, s := range res.Settlings {
		name := builtName(s.Cell, s.Namespaces)
		used := cell{Value: "–"}
		if s.CPU != nil && s.CPU.Max > 0 { // older files have 0 for other machines
			used = spreadCell(*s.CPU)
		}
		line := tableLine{
			Names: []string{name, count(uint64(s.Built)) + " ×"},
			Cells: []cell{spreadCell(s.Wait), used, {Value: count(uint64(s.Packets.Median)), Spread: upTo(count(uint64(s.Packets.Max)))}},
		}
		if rested {
			resting := cell{Value: "–"}
			if s.Rested > 0 {
				resting = spreadCell(analysis.Spread{Median: 100 * s.Resting.Median, Max: 100 * s.Resting.Max})
			}
			line.Cells = append(line.Cells, resting)
		}
		sh.Lines = append(sh.Lines, line)
		if s.Rested > 0 && s.Resting.Median >= restingMatters {
			sec.Summary = append(sec.Summary, statement{name, fmt.Sprintf("has daemons that used %s of a CPU while it had no traffic (median of %d).",
				analysis.Percent(s.Resting.Median), s.Rested), nil})
		}
		if s.Wait.Median < settlingMatters && s.Silent == s.Built {
			continue
		}
		text := fmt.Sprintf("was watched for %s s until it fell silent (median of %d)", short(s.Wait.Median), s.Built)
		if s.Silent < s.Built {
			fell := "after " + number(s.Built-s.Silent) + " of these it did not fall silent"
			if s.Silent == 0 {
				fell = "it never fell silent"
			}
			text = fmt.Sprintf("was built %s; %s in up to %s s of waiting", countOf(s.Built, "time"), fell, short(s.Wait.Max))
		}
		text += "; until then "
		if s.CPU != nil && s.CPU.Max > 0 {
			text += fmt.Sprintf("the machine used %s s of CPU time more than when idle, and ", short(s.CPU.Median))
		}
		text += packets(uint64(s.Packets.Median)) + " crossed the network's devices (medians)."
		sec.Summary = append(sec.Summary, statement{name, text, nil})
	}
	if len(sec.Summary) == 0 {
		return nil
	}
	sec.Tables = []table{sh}
	return []*section{sec}
}

// builtName returns the name of a network with the conditions under which it was built.
func builtName(c record.Cell, namespaces analysis.Namespaces) string {
	parts := phrases{networkName(c)}
	parts.add(c.Hosts > 1, hostsText(c, namespaces))
	parts.add(isCrowd(c), crowd(c))
	parts.add(c.Underlay != "", "underlay "+c.Underlay)
	return join(append(parts, conditions(c)...))
}

func spreadCell(s analysis.Spread) cell {
	return cell{Value: short(s.Median), Spread: upTo(short(s.Max))}
}

func upTo(most string) string { return "up to " + most }
