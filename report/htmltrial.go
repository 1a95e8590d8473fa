package report

import (
	"strconv"

	"nettoll/record"
)

// manyTrials is how many rows are too many for paper.
const manyTrials = 200

// trialsView is the table of every trial.
type trialsView struct {
	Columns []trialColumn
	Rows    []trialRow
	Many    bool
}

type trialColumn struct{ Title, Unit string }

type trialRow struct {
	Round, Order      int
	Network, Workload string
	Where             string
	Status            string
	Values            []trialValue
	Elapsed           string
	Remark            string
}

// trialValue carries the exact value, for sorting.
type trialValue struct{ Text, Exact string }

func newTrialsView(trials []record.Trial) trialsView {
	v := trialsView{Many: len(trials) > manyTrials}
	var kinds []record.Kind
	var scales []scale
	for _, k := range record.Kinds() {
		for _, t := range trials {
			if m, ok := t.Metrics[k.Name]; ok {
				s := scaleFor(k, m.Value)
				kinds, scales = append(kinds, k), append(scales, s)
				v.Columns = append(v.Columns, trialColumn{k.Title, s.unit})
				break
			}
		}
	}
	for _, t := range trials {
		r := trialRow{
			Round: t.Round, Order: t.Order, Network: networkName(t.Cell), Workload: t.Cell.Workload, Where: place(t.Cell),
			Status: string(t.Status), Elapsed: strconv.FormatFloat(t.Elapsed, 'f', 1, 64), Remark: remark(t),
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
