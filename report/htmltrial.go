package report

import (
	"iter"
	"slices"
	"strconv"

	"nettoll/record"
)

// trialsView is the table of every trial.
type trialsView struct {
	Varied  []variedColumn // what differs between the trials' cells on purpose
	Columns []trialColumn
	Rows    iter.Seq[trialRow] // made one after the other, since there may be thousands; nil where there are none
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
	var v trialsView
	kinds := kindsOf(trials)
	var scales []scale
	for _, k := range kinds {
		s := scaleFor(k, firstValue(trials, k.Name))
		scales = append(scales, s)
		v.Columns = append(v.Columns, trialColumn{k.Title, s.unit})
	}
	varied := variedIn(trials)
	for _, f := range varied {
		_, number := f.Number(record.Cell{})
		v.Varied = append(v.Varied, variedColumn{f.Name, number})
	}
	row := func(t record.Trial) trialRow {
		r := trialRow{
			Round: t.Round, Order: t.Order, Network: networkName(t.Cell), Workload: t.Cell.Workload, Where: place(t.Cell),
			Status: string(t.Status), Elapsed: strconv.FormatFloat(t.Elapsed, 'f', 1, 64), Remark: remark(t),
		}
		for _, f := range varied {
			r.Varied = append(r.Varied, trialValue{Text: f.Text(t.Cell)})
		}
		for i, k := range kinds {
			value := trialValue{}
			if m, ok := t.Metrics[k.Name]; ok {
				value = trialValue{scales[i].number(m.Value), exact(m.Value)}
			}
			r.Values = append(r.Values, value)
		}
		return r
	}
	if len(trials) > 0 {
		v.Rows = func(yield func(trialRow) bool) {
			for _, t := range trials {
				if !yield(row(t)) {
					return
				}
			}
		}
	}
	return v
}

// variedIn are the dimensions that differ between trials and that the table shows nowhere else.
func variedIn(trials []record.Trial) []record.Dimension {
	shown := []string{"network", "hosts", "family", "workload", "placement", "twin"}
	// Requests and bulk transfers have options of their own; only a difference
	// within a workload was made on purpose.
	return slices.DeleteFunc(record.Dimensions(), func(d record.Dimension) bool {
		if slices.Contains(shown, d.Name) {
			return true
		}
		first := map[string]string{}
		for _, t := range trials {
			v := d.Text(t.Cell)
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
