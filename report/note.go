package report

import (
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// notes numbers warnings; the same warning keeps its number wherever it appears. Those that differ in nothing but counts and amounts
// are one, with the range of them.
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
	seen := map[int]bool{}
	for _, row := range l.rows {
		if row == nil {
			continue
		}
		for _, w := range row.Warnings {
			if isOfTheRun(w) {
				continue
			}
			if k := n.number(w); !seen[k] {
				seen[k] = true
				marks = append(marks, k)
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

// beginsWithName reports whether the first word of a text is a name, such as that of a host or a device, and no word.
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
