package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// notes numbers warnings; the same warning has the same number wherever it appears. Warnings that differ only in counts
// and amounts are merged into one, which gives their range.
type notes struct {
	list []analysis.Warning
	at   map[noteKey]int  // in the list, whose order must not change any more; nil until something is looked for
	told map[noteKey]bool // by tables of single scenarios, so that sweeps need not tell it
}

func (n *notes) number(w analysis.Warning) int {
	if n.at == nil {
		n.at = map[noteKey]int{}
		for i, have := range n.list {
			n.at[keyOf(have)] = i
		}
	}
	i, known := n.at[keyOf(w)]
	if !known {
		n.list = append(n.list, w)
		n.at[keyOf(w)] = len(n.list) - 1
		return len(n.list)
	}
	if have := &n.list[i]; have.Text != w.Text {
		have.Text = mergeAmounts(mergeCounts(have.Text, w.Text), w.Text)
	}
	return i + 1
}

// marks gives the numbers of all warnings of a line, each once.
func (n *notes) marks(l line) []int {
	var marks []int
	for _, row := range l.rows {
		if row == nil {
			continue
		}
		for _, w := range row.Warnings {
			if !isOfTheRun(w) {
				marks = appendNew(marks, n.number(w))
			}
		}
	}
	slices.Sort(marks)
	return marks
}

// superscript writes marks as raised digits.
func superscript(marks []int) string {
	raised := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var parts []string
	for _, m := range marks {
		parts = append(parts, strings.Map(func(r rune) rune { return raised[r-'0'] }, strconv.Itoa(m)))
	}
	return strings.Join(parts, " ")
}

func sentenceOf(w analysis.Warning) string {
	text := strings.TrimRight(w.Text, ". ")
	if !beginsWithName(text) {
		text = capital(text)
	}
	if w.Advice == "" {
		return text + "."
	}
	return text + ". " + capital(strings.TrimRight(w.Advice, ". ")) + "."
}

// beginsWithName reports whether the first word of a text is a name, such as that of a host or a device.
func beginsWithName(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	return strings.HasSuffix(first, "'s") || strings.HasSuffix(first, ":") || strings.ContainsAny(first, "0123456789/_")
}

func capital(s string) string {
	for i, r := range s {
		return strings.ToUpper(string(r)) + s[i+len(string(r)):]
	}
	return s
}

// absence says why a network has no figures, or not all.
type absence struct {
	Network  string // or several
	workload string // empty when it holds for every workload of the group
	status   record.Status
	reason   string
	remedy   string
	counted  string // how many trials, where only some are missing
}

// absences lists what is missing from a group and why; the same reason for
// every workload is given once.
func (g group) absences() []absence {
	var all []absence
	for _, l := range g.lines {
		var own []absence
		for i, row := range l.rows {
			if row == nil {
				continue
			}
			if a, ok := absenceOf(*row); ok {
				a.Network, a.workload = l.name, g.scenarios[i].Cell.Workload
				own = append(own, a)
			}
		}
		if shared(own) && len(own) == len(g.scenarios) {
			own[0].workload = ""
			own = own[:1]
		}
		all = append(all, own...)
	}
	return gathered(all)
}

// gathered names networks that are missing for the same reason together.
func gathered(all []absence) []absence {
	var out []absence
	for _, a := range all {
		at := slices.IndexFunc(out, func(b absence) bool {
			b.Network = a.Network
			return a == b
		})
		if at < 0 {
			out = append(out, a)
			continue
		}
		out[at].Network += ", " + a.Network
	}
	return out
}

func absenceOf(row analysis.Row) (absence, bool) {
	a := absence{status: row.Status, reason: row.Reason, remedy: row.Remedy}
	if row.Status != record.OK {
		return a, true
	}
	total := 0
	for _, n := range row.Counts {
		total += n
	}
	for _, status := range []record.Status{record.Failed, record.Invalid, record.Skipped} {
		if n := row.Counts[status]; n > 0 {
			a.status = status
			a.counted = strconv.Itoa(n) + " of " + strconv.Itoa(total) + " trials"
			return a, true
		}
	}
	return a, false
}

func shared(all []absence) bool {
	if len(all) == 0 {
		return false
	}
	for _, a := range all {
		if a.status != all[0].status || a.reason != all[0].reason || a.counted != all[0].counted {
			return false
		}
	}
	return true
}

// Why is the absence without what would fix it.
func (a absence) Why() string {
	a.remedy = ""
	return a.text()
}

// Remedy is what would fix it, as a sentence of its own.
func (a absence) Remedy() string { return capital(a.remedy) }

// text is the absence as one sentence after the network's name.
func (a absence) text() string {
	what := string(a.status)
	if what == "" {
		what = "was never tried"
	}
	if a.counted != "" {
		what = a.counted + " " + what
	}
	if a.workload != "" {
		what = "(" + a.workload + ") " + what
	}
	if a.reason != "" {
		what += ": " + a.reason
	}
	if a.remedy != "" {
		what += "; fix: " + a.remedy
	}
	return strings.TrimRight(what, ".") + "."
}

// noteKind says what a doubt is about.
type noteKind int

const (
	failures noteKind = iota // something was not measured, or broke
	setUp                    // networks or tools that are not set up alike, or limit what they measure
	noise                    // what varies by itself, and too few rounds to see through it
)

var noteTitles = []string{failures: "Failures", setUp: "Set-up", noise: "Noise"}

// noteKinds are the kinds of doubts by their codes. Codes that only tools use concern their setup.
var noteKinds = map[string]noteKind{
	analysis.WarnFailed: failures, analysis.WarnInvalid: failures, analysis.WarnSkipped: failures, analysis.WarnNotMeasured: failures,
	analysis.WarnNoNative: failures, analysis.WarnUnpaired: failures, analysis.WarnHistogram: failures, analysis.WarnUnknownMetric: failures,
	analysis.WarnTruncated: failures, analysis.WarnUnfinished: failures,
	"network-fault": failures, "container-cpu": failures, "wrong-checksums": failures, "mtu-black-hole": failures,

	analysis.WarnTooFewRounds: noise, analysis.WarnNotPrecise: noise, analysis.WarnShort: noise, analysis.WarnBusy: noise, analysis.WarnSteal: noise, analysis.WarnDrift: noise,
	analysis.WarnNoisy: noise, analysis.WarnOutliers: noise, analysis.WarnAlike: noise, analysis.WarnUncovered: noise, analysis.WarnUnstationary: noise,
	"foreign-cpu": noise, "foreign-packets": noise, "idle-was-busy": noise, "not-silent": noise, "starved-flows": noise, "cold-flows": noise,
	"maybe-stalled": noise,
}

func noteKindOf(w analysis.Warning) noteKind {
	if k, known := noteKinds[w.Code]; known {
		return k
	}
	return setUp
}

// newNotes numbers all doubts of a report by kind, and within a kind by code, so that every format has the same
// numbers in ascending order.
func newNotes(res analysis.Result) *notes {
	var met notes
	for _, g := range apart(res) {
		for _, l := range g.lines {
			met.marks(l)
		}
	}
	met.told = map[noteKey]bool{}
	for _, w := range met.list {
		met.told[keyOf(w)] = true
	}
	sweeps, _ := shownSweeps(res.Sweeps)
	sweepMarks(sweeps, &met)
	agreementSections(res, &met)
	first := map[string]int{}
	for i, w := range met.list {
		if _, known := first[w.Code]; !known {
			first[w.Code] = i
		}
	}
	slices.SortStableFunc(met.list, func(a, b analysis.Warning) int {
		return cmp.Or(cmp.Compare(noteKindOf(a), noteKindOf(b)), cmp.Compare(first[a.Code], first[b.Code]))
	})
	met.at = nil
	return &met
}

// noteGroup has all doubts of one kind.
type noteGroup struct {
	ID, Title string
	Notes     []numberedNote
	OfRun     []string // about the run as a whole, which nothing refers to
}

type numberedNote struct {
	Number int
	Text   string
}

// groups are all doubts of a report, each once, by kind. Kinds without doubts are left out.
func (n *notes) groups(res analysis.Result) []noteGroup {
	var all []noteGroup
	for kind, title := range noteTitles {
		g := noteGroup{ID: fileName(title), Title: title}
		for i, w := range n.list {
			if noteKindOf(w) == noteKind(kind) {
				g.Notes = append(g.Notes, numberedNote{i + 1, sentenceOf(w)})
			}
		}
		for _, w := range res.Warnings {
			if noteKindOf(w) == noteKind(kind) {
				g.OfRun = append(g.OfRun, sentenceOf(w))
			}
		}
		if len(g.Notes)+len(g.OfRun) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// groupOf is the id of the group of a note.
func (n *notes) groupOf(number int) (id string) {
	if number < 1 || number > len(n.list) {
		return ""
	}
	return fileName(noteTitles[noteKindOf(n.list[number-1])])
}

// counts matches how often a doubt was seen, such as "9 of 10 trials". Merged doubts have "1 to 5 of 8" or "all of
// 9 to 10".
var counts = regexp.MustCompile(`\b(?:(\d+)(?: to (\d+))?|all) of (\d+)(?: to (\d+))? (trials|values|rounds|flows)\b`)

// noteKey is a doubt without its counts and amounts.
type noteKey struct{ code, text, advice string }

func keyOf(w analysis.Warning) noteKey {
	return noteKey{w.Code, amounts.ReplaceAllString(counts.ReplaceAllString(w.Text, "# of # $5"), "#$3"), w.Advice}
}

// counted is one count: how many, of how many.
type counted struct {
	least, most     int
	ofLeast, ofMost int
	all             bool // each time as many as there are
}

func parseCount(m []string) counted {
	number := func(texts ...string) int {
		for _, s := range texts {
			if v, err := strconv.Atoi(s); err == nil {
				return v
			}
		}
		return 0
	}
	c := counted{least: number(m[1], m[3]), most: number(m[2], m[1], m[4], m[3]), ofLeast: number(m[3]), ofMost: number(m[4], m[3])}
	c.all = m[1] == "" || c.least == c.ofLeast && c.least == c.most && c.ofLeast == c.ofMost
	return c
}

func (c counted) with(d counted) counted {
	return counted{min(c.least, d.least), max(c.most, d.most), min(c.ofLeast, d.ofLeast), max(c.ofMost, d.ofMost), c.all && d.all}
}

func (c counted) String() string {
	of := fromTo(c.ofLeast, c.ofMost)
	if c.all && c.ofLeast < c.ofMost {
		return "all of " + of
	}
	return fromTo(c.least, c.most) + " of " + of
}

func fromTo(least, most int) string {
	if least == most {
		return strconv.Itoa(least)
	}
	return strconv.Itoa(least) + " to " + strconv.Itoa(most)
}

// mergeCounts merges the counts of two texts that are otherwise equal.
func mergeCounts(text, other string) string {
	more := counts.FindAllStringSubmatch(other, -1)
	var b strings.Builder
	end := 0
	for i, at := range counts.FindAllStringSubmatchIndex(text, -1) {
		if i == len(more) {
			break
		}
		m := counts.FindStringSubmatch(text[at[0]:at[1]])
		b.WriteString(text[end:at[0]] + parseCount(m).with(parseCount(more[i])).String() + " " + m[5])
		end = at[1]
	}
	return b.String() + text[end:]
}

// amounts matches numbers that may differ within one doubt.
var amounts = regexp.MustCompile(`(\d[\d.]*)(?: to (\d[\d.]*))?( CPU seconds a second of | bytes were still on their way| % of its CPU time in user space|%: the rest passed in slow ones)`)

// mergeAmounts merges the amounts of two texts that are otherwise equal.
func mergeAmounts(text, other string) string {
	more := amounts.FindAllStringSubmatch(other, -1)
	i := -1
	return amounts.ReplaceAllStringFunc(text, func(part string) string {
		m := amounts.FindStringSubmatch(part)
		if i++; i == len(more) {
			return part
		}
		all := slices.DeleteFunc([]string{m[1], m[2], more[i][1], more[i][2]}, func(s string) bool { return s == "" })
		slices.SortFunc(all, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return cmp.Compare(x, y)
		})
		if least, most := all[0], all[len(all)-1]; least != most {
			return least + " to " + most + m[3]
		}
		return part
	})
}

// sweepMarks numbers the doubts of each sweep's networks. Doubts of one code are one, in the words of
// the first cell, unless the tables of single scenarios have shown all of them.
func sweepMarks(sweeps []analysis.Sweep, n *notes) []map[string][]int {
	first := map[string]analysis.Warning{}
	cells := map[string]map[string]bool{}
	told := map[string]bool{}
	var codes []string
	each := func(visit func(sweep int, network string, w analysis.Warning, cell string)) {
		for i, s := range sweeps {
			for l, row := range s.Rows() {
				for _, w := range row.Warnings {
					if !isOfTheRun(w) {
						visit(i, l.Network, w, row.Cell.Key())
					}
				}
			}
		}
	}
	each(func(_ int, _ string, w analysis.Warning, cell string) {
		if _, known := first[w.Code]; !known {
			first[w.Code], cells[w.Code], told[w.Code] = w, map[string]bool{}, true
			codes = append(codes, w.Code)
		}
		told[w.Code] = told[w.Code] && n.told[keyOf(w)]
		cells[w.Code][cell] = true
	})
	numbers := map[string]int{}
	for _, code := range codes {
		w := first[code]
		if told[code] {
			continue
		}
		if count := len(cells[code]); count > 1 {
			w.Text = strings.TrimRight(w.Text, ". ") + fmt.Sprintf("; it is much the same in %d cells in all", count)
		}
		numbers[code] = n.number(w)
	}
	marks := make([]map[string][]int, len(sweeps))
	for i := range marks {
		marks[i] = map[string][]int{}
	}
	each(func(i int, network string, w analysis.Warning, _ string) {
		k, known := numbers[w.Code]
		if !known {
			k = n.number(w)
		}
		marks[i][network] = appendNew(marks[i][network], k)
		slices.Sort(marks[i][network])
	})
	return marks
}
