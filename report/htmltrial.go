package report

import (
	"slices"
	"strconv"

	"nettoll/record"
)

// manyTrials is how many rows are too many for paper.
const manyTrials = 200

// trialsView is the table of every trial.
type trialsView struct {
	Varied  []variedColumn // what differs between the trials' cells on purpose
	Columns []trialColumn
	Rows    []trialRow
	Many    bool
}

type trialColumn struct{ Title, Unit string }

type variedColumn struct {
	Title  string
	Number bool
}

type trialRow struct {
	Round, Order      int
	Network, Workload string
	Where             string
	Status            string
	Varied            []trialValue
	Values            []trialValue
	Elapsed           string
	Remark            string
}

// trialValue carries the exact value, for sorting.
type trialValue struct{ Text, Exact string }

func newTrialsView(trials []record.Trial) trialsView {
	v := trialsView{Many: len(trials) > manyTrials}
	kinds := kindsOf(trials)
	var scales []scale
	for _, k := range kinds {
		s := scaleFor(k, firstValue(trials, k.Name))
		scales = append(scales, s)
		v.Columns = append(v.Columns, trialColumn{k.Title, s.unit})
	}
	varied := variedFields(trials)
	for _, f := range varied {
		v.Varied = append(v.Varied, variedColumn{f.title, f.number})
	}
	for _, t := range trials {
		r := trialRow{
			Round: t.Round, Order: t.Order, Network: networkName(t.Cell), Workload: t.Cell.Workload, Where: place(t.Cell),
			Status: string(t.Status), Elapsed: strconv.FormatFloat(t.Elapsed, 'f', 1, 64), Remark: remark(t),
		}
		for _, f := range varied {
			r.Varied = append(r.Varied, trialValue{Text: f.of(t.Cell)})
		}
		for i, k := range kinds {
			value := trialValue{}
			if m, ok := t.Metrics[k.Name]; ok {
				value = trialValue{scales[i].number(m.Value), exact(m.Value)}
			}
			r.Values = append(r.Values, value)
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// cellField is something of a cell that gets a column where it varies.
type cellField struct {
	title  string
	number bool
	of     func(record.Cell) string
}

func variedFields(trials []record.Trial) []cellField {
	whole := func(title string, of func(record.Cell) int) cellField {
		return cellField{title, true, func(c record.Cell) string { return strconv.Itoa(of(c)) }}
	}
	all := []cellField{
		{"tool", false, func(c record.Cell) string { return c.Tool }},
		whole("servers", func(c record.Cell) int { return c.Servers }),
		whole("clients", func(c record.Cell) int { return c.Clients }),
		whole("processes", func(c record.Cell) int { return max(c.Processes, 1) }),
		whole("streams", func(c record.Cell) int { return c.Options.Streams }),
		whole("message", func(c record.Cell) int { return c.Options.MessageSize }),
		whole("neighbours", func(c record.Cell) int { return c.Neighbours }),
		whole("rules", func(c record.Cell) int { return c.Rules }),
		whole("MTU", func(c record.Cell) int {
			if c.MTU == 0 {
				return 1500
			}
			return c.MTU
		}),
		{"offload", false, func(c record.Cell) string { return c.Offload }},
		{"alike", false, func(c record.Cell) string {
			if c.Normalize {
				return "yes"
			}
			return "no"
		}},
		{"underlay", false, func(c record.Cell) string { return c.Underlay }},
		{"baseline", false, func(c record.Cell) string { return c.Baseline }},
	}
	// Requests and bulk transfers have options of their own; only a difference
	// within a workload was made on purpose.
	return slices.DeleteFunc(all, func(f cellField) bool {
		first := map[string]string{}
		for _, t := range trials {
			v := f.of(t.Cell)
			if was, seen := first[t.Cell.Workload]; seen && was != v {
				return false
			}
			first[t.Cell.Workload] = v
		}
		return true
	})
}

// kindsOf lists the metrics that any of the trials has.
func kindsOf(trials []record.Trial) []record.Kind {
	return slices.DeleteFunc(record.Kinds(), func(k record.Kind) bool {
		return !slices.ContainsFunc(trials, func(t record.Trial) bool { _, ok := t.Metrics[k.Name]; return ok })
	})
}

// firstValue is the value that the unit of a column is chosen for.
func firstValue(trials []record.Trial, metric string) float64 {
	for _, t := range trials {
		if m, ok := t.Metrics[metric]; ok && m.Value != 0 {
			return m.Value
		}
	}
	return 0
}

func place(c record.Cell) string {
	where := countOf(c.Hosts, "host") + ", IPv" + strconv.Itoa(c.Family)
	if c.Placement != "" {
		where += ", " + c.Placement
	}
	if o := optionsText(c.Options); o != "" {
		where += ", " + o
	}
	return where
}

func remark(t record.Trial) string {
	text := t.Reason
	for _, w := range t.Warnings {
		if text != "" {
			text += "; "
		}
		text += w.Text
	}
	return text
}
