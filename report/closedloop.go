package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// closed reports whether a column is a tail of transactions that follow each other, in which
// a stall is one of thousands.
func (g group) closed(c column) bool {
	tail := c.kind.Name == record.LatencyP99 || c.kind.Name == record.LatencyP999
	return tail && g.scenarios[c.scenario].Cell.ClosedLoop()
}

// heading is the title of a column. A tail of a closed loop is called so.
func (g group) heading(c column) string {
	if g.closed(c) {
		return c.kind.Title + ", closed loop"
	}
	return c.kind.Title
}

// shortHeading is the title of a column where there is little room.
func (g group) shortHeading(c column) string {
	title, short := shortTitles[c.kind.Name]
	switch {
	case !short:
		return c.kind.Title
	case g.closed(c):
		return "closed " + title
	}
	return title
}

// loopRemark explains the tails of closed loops.
const loopRemark = "Closed loop: a transaction begins when the one before has ended, so a stall is one of thousands and barely changes the p99 of transactions. " +
	"p99 by time weights each with its duration: at 99% of all moments the transaction under way takes no longer."

// anyLoops reports whether any scenario is a closed loop of which latencies are known.
func anyLoops(res analysis.Result) bool {
	for s, r := range res.Rows() {
		if _, known := r.Figure(record.LatencyP99); known && s.Cell.ClosedLoop() {
			return true
		}
	}
	return false
}

// measuredWith says what was driven through the networks of a group, and which congestion
// control its streams turned out to use, which is part of the result whether it was asked
// for or not.
func (g group) measuredWith() string {
	text := g.traffic()
	if used := g.congestions(); len(used) > 0 {
		text += "; congestion control in use: " + strings.Join(used, ", ")
	}
	return text
}

// congestions are the congestion controls that the streams of a group turned out to use.
func (g group) congestions() (used []string) {
	for _, s := range g.scenarios {
		for _, r := range s.Rows {
			for _, f := range r.Flows {
				if f.Bytes > 0 && f.TCP != nil && f.TCP.Congestion != "" && !slices.Contains(used, f.TCP.Congestion) {
					used = append(used, f.TCP.Congestion)
				}
			}
		}
	}
	slices.Sort(used)
	return used
}
