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
		each = append(each, saying{text: "There is no " + g.word() + " to compare with."})
	}
	if s := g.missing(); s != "" {
		each = append(each, saying{"Not measured:", s})
	}
	return each
}

// sentence says what one network costs, without its name. It is empty for the one
// that the others are compared with, and where nothing was compared.
func (g group) sentence(l line) string {
	if l.native {
		return ""
	}
	if g.untold(l) {
		return "has too few rounds to be compared with " + g.word() + "."
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
	for _, metric := range []string{g.volume(), record.LatencyP50} {
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
	if f, ok := g.find(l, g.volume()); ok {
		clause := volumes[g.volume()].moves + " " + volumeQuantity(f)
		if cpu, ok := g.find(l, g.cpu()); ok {
			if cpu.Kind.Name == record.CPUPerGB {
				clause += " for " + strconv.FormatFloat(cpu.Summary.Median, 'g', 2, 64) + " CPU seconds per GB"
			} else {
				clause += " for " + roughly(cpu.Kind, cpu.Summary.Median) + " of CPU each"
			}
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
	if g.word() != "native" {
		name = "Baseline"
	}
	if l.name != "native" {
		name += " (" + l.name + ")"
	}
	return saying{name, strings.Join(clauses, "; ") + "."}, true
}

// volume is the metric that says how much goes over the networks of a group.
func (g group) volume() string {
	for _, s := range g.scenarios {
		switch first := record.Primary(s.Cell.Workload)[0]; first {
		case record.TransactionRate, record.PacketRate:
			return first
		}
	}
	return record.Throughput
}

// cpu is the metric of what that costs.
func (g group) cpu() string {
	if g.volume() == record.TransactionRate {
		return record.CPUPerTransaction
	}
	return record.CPUPerGB
}

// volumes are the words for them.
var volumes = map[string]struct{ name, moves string }{
	record.Throughput:      {"throughput", "moves"},
	record.PacketRate:      {"packet rate", "moves"},
	record.TransactionRate: {"transaction rate", "makes"},
}

func volumeQuantity(f analysis.Figure) string {
	if f.Kind.Name != record.TransactionRate {
		return quantity(f.Kind, f.Summary.Median)
	}
	s := scaleFor(f.Kind, f.Summary.Median)
	number := s.number(f.Summary.Median)
	if prefix := strings.TrimSuffix(s.unit, "/s"); prefix != "" {
		number += "\u00a0" + prefix
	}
	return number + " transactions a second"
}

var cpuNames = map[string]string{record.CPUPerGB: "CPU per GB", record.CPUPerTransaction: "CPU per transaction"}

// volumeClause says what becomes of the volume and of the CPU that it costs.
func (g group) volumeClause(l line) string {
	moved, cpu := "", ""
	same := false
	if f, ok := g.find(l, g.volume()); ok && f.Ratio != nil {
		moved = movedClause(*f.Ratio, volumes[g.volume()].name, g.word())
		same = f.Ratio.Verdict == analysis.Indistinguishable
	}
	f, ok := g.find(l, g.cpu())
	if !ok || f.Ratio == nil || g.cpu() == record.CPUPerTransaction && moved == "" {
		return moved
	}
	name := cpuNames[g.cpu()]
	switch cpu = cpuClause(*f.Ratio, name, g.word()); {
	case f.Ratio.Verdict != analysis.Indistinguishable:
		if moved == "" {
			return cpu
		}
		return moved + " and " + cpu
	case moved == "":
		return cpu
	case same:
		return moved + " or " + name
	default:
		return moved + " and " + cpu
	}
}

func movedClause(c analysis.Comparison, what, of string) string {
	switch c.Verdict {
	case analysis.Worse:
		return "keeps " + share(c) + " of " + of + " " + what
	case analysis.Better:
		return "reaches " + share(c) + " of " + of + " " + what
	}
	return "cannot be told from " + of + " in " + what + " (" + changePlusMinus(c) + ")"
}

func cpuClause(c analysis.Comparison, what, of string) string {
	if c.Verdict == analysis.Indistinguishable {
		return "cannot be told from " + of + " in " + what
	}
	if c.Verdict == analysis.Worse && c.Ratio < 1.095 || c.Verdict == analysis.Better {
		word := "more"
		if c.Ratio < 1 {
			word = "less"
		}
		return "costs " + percent(c.Ratio-1) + " " + word + " " + what
	}
	return "costs " + factor(c.Ratio) + " the " + what
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
	if r, same := rank(g.volume()); len(r) > 1 {
		most, least := r[len(r)-1], r[0]
		what := volumes[g.volume()].name
		out = append(out, saying{capital(what) + ":", "of " + countOf(len(r), "network") + ", " + most.name + " has the highest (" + share(most.c) +
			" of " + g.word() + ") and " + least.name + " the lowest (" + share(least.c) + ")." + g.noDifference(what, same)})
	}
	if r, same := rank(g.cpu()); len(r) > 1 {
		unit := strings.TrimPrefix(cpuNames[g.cpu()], "CPU per ")
		out = append(out, saying{"CPU:", "a " + unit + " costs the least CPU over " + r[0].name + " (" + factor(r[0].c.Ratio) + " " + g.word() + ") and the most over " +
			r[len(r)-1].name + " (" + factor(r[len(r)-1].c.Ratio) + ")." + g.noDifference(cpuNames[g.cpu()], same)})
	}
	if r, same := rank(record.LatencyP50); len(r) > 1 {
		first, last := r[0], r[len(r)-1]
		out = append(out, saying{"Latency:", "a transaction is fastest over " + first.name + " (" + quantity(first.f.Kind, first.f.Summary.Median) +
			") and slowest over " + last.name + " (" + quantity(last.f.Kind, last.f.Summary.Median) + ")." + g.noDifference("latency", same)})
	}
	return out
}

func (g group) noDifference(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " Not to be told from " + g.word() + " in " + what + ": " + strings.Join(names, ", ") + "."
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
