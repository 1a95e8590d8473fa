package report

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// mostSentences is how many networks get a sentence each; more get a digest.
const mostSentences = 6

// saying is a sentence about something.
type saying struct{ subject, text string }

func (s saying) String() string { return strings.TrimSpace(s.subject + " " + s.text) }

// summary says in plain sentences what a group shows.
func (g group) summary() []saying {
	var each []saying
	compared := 0
	for _, l := range g.lines {
		if s := g.sentence(l); s != "" {
			each = append(each, saying{l.name, s})
			compared++
		}
	}
	if compared > mostSentences {
		each = g.digest()
	}
	if l, ok := g.native(); ok {
		if s, ok := g.base(l); ok {
			each = append([]saying{s}, each...)
		}
	}
	if len(g.natives()) == 0 && len(g.lines) > 0 {
		each = append(each, saying{text: "There is no native to compare with."})
	}
	if s := g.missing(); s != "" {
		each = append(each, saying{"Not measured:", s})
	}
	return each
}

// sentence says what one network costs, without its name. It is empty for
// native, and where nothing was compared.
func (g group) sentence(l line) string {
	if l.native {
		return ""
	}
	if g.untold(l) {
		return "has too few rounds to be compared with native."
	}
	text := g.volumeClause(l)
	if f, ok := g.find(l, record.LatencyP50); ok && f.Ratio != nil {
		longer := g.longer(l, f)
		switch {
		case text != "":
			text += "; a transaction takes " + longer
		case f.Ratio.Verdict == analysis.Indistinguishable:
			return "takes as long for a transaction, as far as can be told (" + changePlusMinus(*f.Ratio) + ")."
		default:
			return "takes " + longer + " for a transaction."
		}
	}
	if text == "" {
		return ""
	}
	return text + "."
}

// untold reports whether a network was compared in too few rounds for any
// interval.
func (g group) untold(l line) bool {
	some := false
	for _, metric := range []string{record.Throughput, record.LatencyP50} {
		if f, ok := g.find(l, metric); ok && f.Ratio != nil {
			if f.Ratio.Level > 0 {
				return false
			}
			some = true
		}
	}
	return some
}

// base says what native does, in absolute figures.
func (g group) base(l line) (saying, bool) {
	var clauses []string
	if f, ok := g.find(l, record.Throughput); ok {
		clause := "moves " + quantity(f.Kind, f.Summary.Median)
		if cpu, ok := g.find(l, record.CPUPerGB); ok {
			clause += " for " + strconv.FormatFloat(cpu.Summary.Median, 'g', 2, 64) + " CPU seconds per GB"
		}
		clauses = append(clauses, clause)
	}
	if f, ok := g.find(l, record.LatencyP50); ok {
		clause := quantity(f.Kind, f.Summary.Median)
		if len(clauses) > 0 {
			clause = "a transaction takes " + clause
		} else {
			clause = "takes " + clause + " for a transaction"
		}
		clauses = append(clauses, clause)
	}
	if len(clauses) == 0 {
		return saying{}, false
	}
	name := "Native"
	if l.name != "native" {
		name += " (" + l.name + ")"
	}
	return saying{name, strings.Join(clauses, "; ") + "."}, true
}

// volumeClause says what becomes of throughput and of the CPU that it costs.
func (g group) volumeClause(l line) string {
	throughput, cpu := "", ""
	same := false
	if f, ok := g.find(l, record.Throughput); ok && f.Ratio != nil {
		throughput = throughputClause(*f.Ratio)
		same = f.Ratio.Verdict == analysis.Indistinguishable
	}
	f, ok := g.find(l, record.CPUPerGB)
	if !ok || f.Ratio == nil {
		return throughput
	}
	switch cpu = cpuClause(*f.Ratio); {
	case f.Ratio.Verdict != analysis.Indistinguishable:
		if throughput == "" {
			return cpu
		}
		return throughput + " and " + cpu
	case throughput == "":
		return cpu
	case same:
		return throughput + " or CPU per GB"
	default:
		return throughput + " and " + cpu
	}
}

func throughputClause(c analysis.Comparison) string {
	switch c.Verdict {
	case analysis.Worse:
		return "keeps " + share(c) + " of native throughput"
	case analysis.Better:
		return "reaches " + share(c) + " of native throughput"
	}
	return "cannot be told from native in throughput (" + changePlusMinus(c) + ")"
}

func cpuClause(c analysis.Comparison) string {
	if c.Verdict == analysis.Indistinguishable {
		return "cannot be told from native in CPU per GB"
	}
	if c.Verdict == analysis.Worse && c.Ratio < 1.095 || c.Verdict == analysis.Better {
		word := "more"
		if c.Ratio < 1 {
			word = "less"
		}
		return "costs " + percent(c.Ratio-1) + " " + word + " CPU per GB"
	}
	return "costs " + factor(c.Ratio) + " the CPU per GB"
}

// longer gives the difference in time, taken from the paired ratio.
func (g group) longer(l line, f analysis.Figure) string {
	if f.Ratio.Verdict == analysis.Indistinguishable {
		return "as long, as far as can be told (" + changePlusMinus(*f.Ratio) + ")"
	}
	word := "longer"
	if f.Ratio.Ratio < 1 {
		word = "shorter"
	}
	native, ok := g.nativeOf(l)
	if !ok {
		return percent(f.Ratio.Ratio-1) + " " + word
	}
	base, ok := g.find(native, f.Kind.Name)
	if !ok {
		return percent(f.Ratio.Ratio-1) + " " + word
	}
	difference := math.Abs(f.Ratio.Ratio-1) * base.Summary.Median
	return roughly(f.Kind, difference) + " " + word
}

func share(c analysis.Comparison) string {
	if lopsided(c) {
		return percent(c.Low) + " to " + percent(c.High)
	}
	if d := changeDecimals(c); d > 0 {
		return percentTo(c.Ratio, d) + " ± " + percentTo(halfWidth(c), d)
	}
	return percent(c.Ratio) + " ± " + percent(halfWidth(c))
}

// digest says of many networks which are best, worst and no different.
func (g group) digest() []saying {
	type ranked struct {
		name string
		c    analysis.Comparison
		f    analysis.Figure
	}
	rank := func(metric string) (best []ranked, same []string) {
		for _, l := range g.lines {
			f, ok := g.find(l, metric)
			if !ok || f.Ratio == nil {
				continue
			}
			best = append(best, ranked{l.name, *f.Ratio, f})
			if f.Ratio.Verdict == analysis.Indistinguishable {
				same = append(same, l.name)
			}
		}
		sort.SliceStable(best, func(i, j int) bool { return best[i].c.Ratio < best[j].c.Ratio })
		return best, same
	}
	var out []saying
	if r, same := rank(record.Throughput); len(r) > 1 {
		most, least := r[len(r)-1], r[0]
		out = append(out, saying{"Throughput:", "of " + countOf(len(r), "network") + ", " + most.name + " has the most throughput (" + share(most.c) +
			" of native) and " + least.name + " the least (" + share(least.c) + ")." + noDifference("throughput", same)})
	}
	if r, same := rank(record.CPUPerGB); len(r) > 1 {
		out = append(out, saying{"CPU:", "a GB costs the least CPU over " + r[0].name + " (" + factor(r[0].c.Ratio) + " native) and the most over " +
			r[len(r)-1].name + " (" + factor(r[len(r)-1].c.Ratio) + ")." + noDifference("CPU per GB", same)})
	}
	if r, same := rank(record.LatencyP50); len(r) > 1 {
		first, last := r[0], r[len(r)-1]
		out = append(out, saying{"Latency:", "a transaction is fastest over " + first.name + " (" + quantity(first.f.Kind, first.f.Summary.Median) +
			") and slowest over " + last.name + " (" + quantity(last.f.Kind, last.f.Summary.Median) + ")." + noDifference("latency", same)})
	}
	return out
}

func noDifference(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " Not to be told from native in " + what + ": " + strings.Join(names, ", ") + "."
}

// missing names the networks that have no figure at all.
func (g group) missing() string {
	var names []string
	for _, l := range g.lines {
		measured := false
		for _, row := range l.rows {
			measured = measured || row != nil && row.Status == record.OK
		}
		if !measured {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + "."
}
