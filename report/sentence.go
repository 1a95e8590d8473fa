package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/internal/oneline"
	"nettoll/record"
)

// mostSentences is the largest number of networks that get a sentence each; more get a digest.
const mostSentences = 6

func (s statement) String() string { return strings.TrimSpace(s.Subject + " " + s.Text) }

// summary describes in plain sentences what a group shows. It claims only what holds among
// all primary comparisons of the run, and gives every size with its interval.
func (g group) summary() []statement {
	each := g.sentences()
	if len(each) > mostSentences {
		each = g.digest()
	}
	if l, ok := g.native(); ok {
		if s, ok := g.base(l); ok {
			each = append([]statement{s}, each...)
		}
	}
	if limit := g.commonLimit(); limit != "" {
		each = append(each, statement{Text: "All are limited by " + limit + "."})
	}
	if len(g.natives()) == 0 && len(g.lines) > 0 {
		each = append(each, statement{Text: "There is no " + g.word() + " to compare with."})
	}
	if s := g.missing(); s != "" {
		each = append(each, statement{"Not measured:", s + ".", nil})
	}
	return each
}

// commonLimit returns what limits the streams of all networks of a group, if it is the same.
func (g group) commonLimit() (common string) {
	measured := 0
	for _, l := range g.lines {
		row := g.rowOf(l, g.volume())
		if len(row.Figures) == 0 {
			continue
		}
		measured++
		row.Limit.Softirq = 0 // may differ
		switch words := limitWords(row.Limit); {
		case words == "" || common != "" && words != common:
			return ""
		default:
			common = words
		}
	}
	if measured < 2 {
		return ""
	}
	return common
}

// limitWords returns in words what limits a stream.
func limitWords(l analysis.Limit) string {
	where := "CPU " + strconv.Itoa(l.CPU)
	if l.End != "" {
		where += " of the " + l.End + "'s machine"
	}
	words := map[string]string{
		analysis.LimitSender: "the sender's CPU", analysis.LimitReceiver: "the receiver's CPU", analysis.LimitBoth: "the CPUs of both ends",
		analysis.LimitLink: "the link's rate", analysis.LimitWindow: "the TCP window", analysis.LimitGenerator: "the generator itself",
		analysis.LimitSoftirq: "the kernel's work on packets (softirq) on " + where,
	}[l.By]
	if l.Softirq > 0 && words != "" {
		words += " (" + percent(l.Softirq) + " of it softirq)"
	}
	return words
}

// sentences describes the cost of each network.
func (g group) sentences() []statement { return record.Found(g.lines, g.sentence) }

// sentence describes the cost of one network. There is none for the baseline itself, and if nothing was compared.
func (g group) sentence(l line) (statement, bool) {
	if l.native {
		return statement{}, false
	}
	volume, moved := g.primary(l, g.volume())
	latency, took := g.transaction(func(metric string) (analysis.Figure, bool) { return g.primary(l, metric) })
	var clauses []string
	switch {
	case !moved && !took:
		return statement{}, false
	case (!moved || untested(volume)) && (!took || untested(latency)):
		return statement{l.name, "has too few rounds to be compared with " + g.wordFor(l) + ".", nil}, true
	}
	colon := ""
	if moved && !untested(volume) {
		clause := g.volumeClause(l, volume)
		if cost := g.costClause(l); cost != "" {
			clause += " " + cost
		}
		if limit := limitWords(g.rowOf(l, g.volume()).Limit); limit != "" && g.commonLimit() == "" {
			clause += ", limited by " + limit
		}
		clauses = append(clauses, clause)
		if volume.Comparison().Outcome == analysis.NotKnown {
			colon = ":"
		}
	}
	rate := latency.Kind.Name == record.TransactionRate
	if took && !untested(latency) {
		if rate {
			clauses = append(clauses, g.volumeClause(l, latency))
		} else {
			clauses = append(clauses, g.latencyClause(latency))
		}
		if len(clauses) == 1 && (!rate || latency.Comparison().Outcome == analysis.NotKnown) {
			colon = ":"
		}
	}
	switch {
	case moved && untested(volume):
		clauses = append(clauses, "too few rounds to compare its "+volumes[volume.Kind.Name].name)
	case took && untested(latency):
		clauses = append(clauses, "too few rounds to compare its "+cmp.Or(volumes[latency.Kind.Name].name, "latency"))
	}
	return statement{l.name + colon, strings.Join(clauses, "; ") + ".", nil}, true
}

// primary returns the figure of a metric, if it has a verdict.
func (g group) primary(l line, metric string) (analysis.Figure, bool) {
	f, ok := g.find(l, metric)
	c := f.Comparison()
	return f, ok && c != nil && c.Primary
}

// transaction returns the figure of single transactions, as find finds it by its metric: the median of their latency, or if the tool
// does not know that, their rate, unless that is the volume, or the mean: the order in which networks are ranked by them.
func (g group) transaction(find func(metric string) (analysis.Figure, bool)) (analysis.Figure, bool) {
	for _, metric := range []string{record.LatencyP50, record.TransactionRate, record.LatencyMean} {
		if f, ok := find(metric); ok && metric != g.volume() {
			return f, true
		}
	}
	return analysis.Figure{}, false
}

func untested(f analysis.Figure) bool {
	c := f.Comparison()
	return c.Outcome == analysis.Untested
}

// base gives the absolute figures of native.
func (g group) base(l line) (statement, bool) {
	var clauses []string
	if f, ok := g.find(l, g.volume()); ok {
		clause := volumes[g.volume()].moves + " " + volumeQuantity(f)
		if cpu, ok := g.find(l, g.cost()); ok {
			if cpu.Kind.Name == record.CPUPerGB {
				clause += " for " + oneline.Number(cpu.Summary.Estimate, 2) + " CPU seconds per GB" + known(cpu)
			} else {
				clause += " for " + quantity(cpu.Kind, cpu.Summary.Estimate) + " of CPU each" + known(cpu)
			}
		}
		clauses = append(clauses, clause)
	}
	if f, ok := g.transaction(func(metric string) (analysis.Figure, bool) { return g.find(l, metric) }); ok {
		clause := quantity(f.Kind, f.Summary.Estimate) + known(f)
		switch {
		case f.Kind.Name == record.TransactionRate:
			clause = "makes " + volumeQuantity(f)
		case len(clauses) > 0:
			clause = "a transaction takes " + clause
		default:
			clause = "takes " + clause + " for a transaction"
		}
		clauses = append(clauses, clause)
	}
	if len(clauses) == 0 {
		return statement{}, false
	}
	name := "Native"
	if g.word() != "native" {
		name = "Baseline"
	}
	if l.name != "native" {
		name += " (" + l.name + ")"
	}
	return statement{name, strings.Join(clauses, "; ") + ".", nil}, true
}

// known returns the interval of a figure, if it has one.
func known(f analysis.Figure) string {
	if f.Summary.Level == 0 || f.Summary.Low <= 0 {
		return ""
	}
	return " (" + spread(scaleFor(f.Kind, f.Summary.Estimate), f.Summary) + ")"
}

// volume returns the metric of how much goes over the networks of a group.
func (g group) volume() string {
	for _, s := range g.scenarios {
		switch first := record.Primary(s.Cell.Workload)[0]; first {
		case record.TransactionRate, record.PacketRate:
			return first
		}
	}
	return record.Throughput
}

// cost returns the metric of the CPU cost of the volume.
func (g group) cost() string {
	if g.volume() == record.TransactionRate {
		return record.CPUPerTransaction
	}
	return record.CPUPerGB
}

// volumes are the words for how much goes over a network.
var volumes = map[string]struct{ name, moves, less, more, as string }{
	record.Throughput:      {"throughput", "moves", "less", "more", "as much"},
	record.PacketRate:      {"packet rate", "moves", "fewer packets", "more packets", "as many packets"},
	record.TransactionRate: {"transaction rate", "makes", "fewer transactions", "more transactions", "as many transactions"},
}

func volumeQuantity(f analysis.Figure) string {
	if f.Kind.Name != record.TransactionRate {
		return quantity(f.Kind, f.Summary.Estimate) + known(f)
	}
	s := scaleFor(f.Kind, f.Summary.Estimate)
	number := s.number(f.Summary.Estimate)
	if prefix := strings.TrimSuffix(s.unit, "/s"); prefix != "" {
		number += "\u00a0" + prefix
	}
	return number + " transactions per second" + known(f)
}

var costNames = map[string]string{record.CPUPerGB: "CPU per GB", record.CPUPerTransaction: "CPU per transaction"}

// volumeClause describes the change of the volume.
func (g group) volumeClause(l line, f analysis.Figure) string {
	words, of := volumes[f.Kind.Name], g.wordFor(l)
	c, ends := primaryComparison(f)
	less, lower := words.less, "lower"
	if rises(*c) {
		less, lower = words.more, "higher"
	}
	than := " " + less + " than " + of
	if byFactor(*c) {
		than = " " + words.as + " as " + of
	}
	switch {
	case c.Verdict == analysis.Same:
		return words.moves + " " + words.as + " as " + of + " within " + g.margin() + " (" + ends + ")"
	case c.Outcome == analysis.NotKnown:
		return "not known whether it " + words.moves + " more or " + words.less + " than " + of + " (" + ends + ")"
	case c.Minus:
		clause := "a " + words.name + " " + times(f.Kind, *c) + " " + lower + " than " + of + "'s"
		if c.Verdict != analysis.Different {
			return "may have " + clause + uncertain(*g.res)
		}
		return "has " + clause
	case c.Verdict != analysis.Different:
		return "may " + strings.TrimSuffix(words.moves, "s") + " " + byHowMuch(*c) + than + uncertain(*g.res)
	case c.Doubtful(1):
		return words.moves + " " + byHowMuch(*c) + than
	case c.Value < 1:
		return "keeps " + share(*c) + " of " + of + " " + words.name
	}
	return "reaches " + share(*c) + " of " + of + " " + words.name
}

// primaryComparison returns the comparison of a primary figure, with the ends of its
// interval: if a value is 0 there is no ratio, and the comparison is the difference.
func primaryComparison(f analysis.Figure) (c *analysis.Comparison, ends string) {
	c = f.Comparison()
	if c.Minus {
		return c, differenceBounds(scaleFor(f.Kind, math.Max(math.Abs(c.Low), math.Abs(c.High))), *c)
	}
	return c, bounds(*c)
}

// rises reports whether the value is greater than the baseline's.
func rises(c analysis.Comparison) bool {
	if c.Minus {
		return c.Value > 0
	}
	return c.Value > 1
}

// uncertain explains why a difference is not claimed.
func uncertain(res analysis.Result) string {
	return fmt.Sprintf(" (not certain given %d comparisons)", res.Multiplicity.Tested())
}

// costClause gives the CPU cost, unless it follows from the volume.
func (g group) costClause(l line) string {
	f, ok := g.find(l, g.cost())
	if !ok || f.Ratio == nil || f.Ratio.Verdict != analysis.Different || g.rowOf(l, g.cost()).CostFollows() {
		return ""
	}
	c := *f.Ratio
	if c.Low >= 1.095 || byFactor(c) {
		return "for " + factorRange(c) + " the " + costNames[g.cost()]
	}
	more := "more"
	if c.Value < 1 {
		more = "less"
	}
	return "for " + byHowMuch(c) + " " + more + " " + costNames[g.cost()]
}

// byFactor reports whether a change is given as a multiple of the baseline's value: twice as much is 100% more.
func byFactor(c analysis.Comparison) bool { return c.Value >= 10 || c.Low >= 2 }

// byHowMuch returns the least and the greatest size of a change, in either direction, or its factors.
func byHowMuch(c analysis.Comparison) string {
	if byFactor(c) {
		return factorRange(c)
	}
	low, high := math.Abs(c.Low-1), math.Abs(c.High-1)
	return between(100*min(low, high), 100*max(low, high), changeDecimals(c)) + "%"
}

// factorRange returns the interval of a ratio as factors.
func factorRange(c analysis.Comparison) string {
	return between(c.Low, c.High, factorDecimals(c.Low)) + "×"
}

// latencyClause describes the change of the time that a transaction takes. The difference in
// time is computed from the rounds, not as a ratio times one figure.
func (g group) latencyClause(f analysis.Figure) string {
	c, ends := primaryComparison(f)
	longer := "longer"
	if !rises(*c) {
		longer = "less time"
	}
	size := byHowMuch(*c) + " " + longer
	if byFactor(*c) {
		size = byHowMuch(*c) + " as long"
	}
	if d := f.Difference; c.Minus || d != nil && d.Level > 0 && (d.Low > 0 || d.High < 0) && (d.Value > 0) == (c.Value > 1) {
		size = times(f.Kind, *d) + " " + longer
	}
	switch {
	case c.Verdict == analysis.Same:
		return "a transaction takes the same time within " + g.margin() + " (" + ends + ")"
	case c.Outcome == analysis.NotKnown:
		return "not known whether a transaction takes longer or shorter (" + ends + ")"
	case c.Verdict != analysis.Different:
		return "a transaction may take " + size + uncertain(*g.res)
	}
	return "a transaction takes " + size
}

// times returns a range of time, in the unit that suits its middle.
func times(k record.Kind, c analysis.Comparison) string {
	s := scaleFor(k, math.Abs(c.Value))
	low, high := math.Abs(c.Low)/s.factor, math.Abs(c.High)/s.factor
	low, high = min(low, high), max(low, high)
	return between(low, high, decimalsFor(low, 2)) + "\u00a0" + s.unit
}

// share returns a ratio and its interval as shares of the baseline.
func share(c analysis.Comparison) string {
	value, ends := shareAndEnds(c)
	return value + " (" + ends + ")"
}

// shareAndEnds returns a ratio, and the ends of its interval, as shares of the baseline. See sharesDecimals for edges.
func shareAndEnds(c analysis.Comparison, edges ...float64) (value, ends string) {
	value, ends = inRange(100*c.Value, 100*c.Low, 100*c.High, sharesDecimals(c.Value, c, edges...))
	return value + "%", ends + "%"
}

// sharesDecimals returns the decimals for a share, and more where an end of the interval would be written as no difference, or as one
// of the edges of what counts as the same, and lies on one side of it.
func sharesDecimals(share float64, c analysis.Comparison, edges ...float64) int {
	decimals := shareDecimals(share)
	if c.Low > 1 || c.High < 1 {
		edges = append(edges, 1)
	}
	for _, edge := range edges {
		for _, end := range []float64{c.Low, c.High} {
			written := func() string { return strconv.FormatFloat(100*end, 'f', decimals, 64) }
			for decimals < 2 && end != edge && written() == strconv.FormatFloat(100*edge, 'f', decimals, 64) {
				decimals++
			}
		}
	}
	return decimals
}

// margin returns the largest difference that counts as the same.
func (g group) margin() string { return analysis.Percent(g.res.Margin) }

// digest summarizes many networks: how many differ, which do not, and which are first and last.
func (g group) digest() []statement {
	var out []statement
	for _, metric := range record.AddNew([]string{g.volume()}, record.LatencyP50, record.LatencyMean, record.TransactionRate) {
		words, isVolume := volumes[metric]
		than := " than " + g.word()
		if !isVolume {
			words.name, words.moves, words.less, words.more = "latency", "takes", "less time", "longer"
			than += " for a transaction"
		}
		move := strings.TrimSuffix(words.moves, "s")
		const less, more, same, unknown, untested = 0, 1, 2, 3, 4
		var names [5][]string
		total := 0
		for _, l := range g.lines {
			f, ok := g.primary(l, metric)
			if !ok || l.native {
				continue
			}
			of := less
			switch c := f.Comparison(); {
			case c.Verdict == analysis.Same:
				of = same
			case c.Verdict == analysis.Untested:
				of = untested
			case c.Verdict != analysis.Different:
				of = unknown
			case (c.Effect == analysis.Better) == (f.Kind.Better == record.HigherIsBetter):
				of = more
			}
			names[of], total = append(names[of], l.name), total+1
		}
		var parts []string
		for of, does := range [5]struct{ one, many string }{
			less:     {words.moves + " " + words.less + than, move + " " + words.less + than},
			more:     {words.moves + " " + words.more + than, move + " " + words.more + than},
			same:     {"is the same within " + g.margin(), "are the same within " + g.margin()},
			unknown:  {"is neither known to differ nor known to be the same", "are neither known to differ nor known to be the same"},
			untested: {"has too few rounds to be compared", "have too few rounds to be compared"},
		} {
			how := " " + does.many + " (" + join(names[of]) + ")"
			switch n := len(names[of]); {
			case n == 1:
				parts = append(parts, "one "+does.one+" ("+names[of][0]+")")
			case n > 1 && n == total:
				parts = append(parts, "all"+how)
			case n > 1:
				parts = append(parts, number(n)+how)
			}
		}
		if total == 0 {
			continue
		}
		text := "of " + countOf(total, "network") + ", " + strings.Join(parts, "; ") + "."
		if ends := g.ends(metric); ends != "" {
			text += " " + ends
		}
		out = append(out, statement{capital(words.name) + ":", text, nil})
	}
	if s := g.ends(g.cost()); s != "" {
		out = append(out, statement{costNames[g.cost()] + ":", lower(s), nil})
	}
	return out
}

// ends names the first and the last of the networks, if they differ from their neighbours in the ranking.
func (g group) ends(metric string) string {
	var parts []string
	for _, s := range g.scenarios {
		if metric == g.cost() && g.costFollows(s) {
			continue
		}
		for _, e := range s.Extremes {
			if e.Kind.Name != metric || !e.Shown() || e.Figure.Ratio == nil || e.Figure.Ratio.Level == 0 {
				continue
			}
			word, next := "highest", "ahead of"
			switch {
			case metric == g.cost() && e.Highest:
				word = "most expensive"
			case metric == g.cost():
				word = "cheapest"
			case e.Kind.Unit == "s" && e.Highest:
				word, next = "slowest", "behind"
			case e.Kind.Unit == "s":
				word = "fastest"
			case !e.Highest:
				word, next = "lowest", "behind"
			}
			text := "the " + word + " is " + networkName(e.Network) + " (" + shareRange(*e.Figure.Ratio) + shareOf(*e.Figure.Ratio) + g.word() + ")"
			if metric != g.cost() {
				text += ", " + next + " " + networkName(e.Next)
			}
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return capital(strings.Join(parts, "; ")) + "."
}

// shareOf returns what joins a range to the baseline: a share is "of" it, a factor needs no word.
func shareOf(c analysis.Comparison) string {
	if c.Low >= 2 {
		return " "
	}
	return " of "
}

// shareRange returns the interval of a ratio, as shares of the baseline, or as factors from 2 up.
func shareRange(c analysis.Comparison) string {
	if c.Low >= 2 {
		return factorRange(c)
	}
	return between(100*c.Low, 100*c.High, sharesDecimals(c.Low, c)) + "%"
}

// costFollows reports whether the CPU cost of every network follows from its throughput.
func (g group) costFollows(s analysis.Scenario) bool {
	return !slices.ContainsFunc(s.Rows, func(r analysis.Row) bool { return !r.Native && r.Status == record.OK && !r.CostFollows() })
}

// missing names the networks that have no figure at all.
func (g group) missing() string {
	without := record.Those(g.lines, func(l line) bool {
		return !slices.ContainsFunc(l.planned(), func(r *analysis.Row) bool { return r.Status == record.OK })
	})
	return join(record.Each(without, func(l line) string { return l.name }))
}
