package report

import "nettoll/record"

// reduction takes parts of one metric away.
type reduction struct {
	metric string
	parts  []part
}

// reductions is the order in which a table gives way when columns are few.
// What stays longest is what a decision needs: the difference from native in
// throughput.
var reductions = []reduction{
	{record.LatencyP99, []part{valueSpread}},
	{record.CPUPerTransaction, []part{valueSpread}},
	{record.CPUPerGB, []part{valueSpread}},
	{record.LatencyP50, []part{valueSpread}},
	{record.Throughput, []part{valueSpread}},
	{record.LatencyP99, []part{ratioSpread}},
	{record.CPUPerTransaction, []part{ratioSpread}},
	{record.CPUPerGB, []part{ratioSpread}},
	{record.CPUPerTransaction, []part{value}},
	{record.CPUPerGB, []part{value}},
	{record.LatencyP99, []part{ratio}},
	{record.CPUPerTransaction, []part{ratio}},
	{record.LatencyP50, []part{ratioSpread}},
	{record.LatencyP99, []part{value}},
	{record.CPUPerGB, []part{ratio}},
	{record.TransactionRate, []part{valueSpread}},
	{record.TransactionRate, []part{ratioSpread, value, ratio}},
	{record.LatencyP50, []part{value}},
	{record.Throughput, []part{ratioSpread}},
	{record.LatencyP50, []part{ratio}},
	{record.Throughput, []part{value}},
}

// fit drops parts until the table is no wider than width and names what is
// no longer shown.
func (t *textTable) fit(width int) (hidden []string) {
	if width <= 0 {
		return nil
	}
	if width < 60 {
		for i, name := range t.names {
			t.names[i] = cut(name, max(width/3, 4))
		}
	}
	for _, r := range reductions {
		if t.width() <= width {
			break
		}
		for i, c := range t.g.columns {
			if c.kind.Name != r.metric || t.last(i) {
				continue
			}
			before := t.visible(i)
			for _, p := range r.parts {
				t.shown[i][p] = false
			}
			if before && !t.visible(i) {
				hidden = append(hidden, c.kind.Title)
			}
		}
	}
	if over := t.width() - width; over > 0 {
		longest := 0
		for _, name := range t.names {
			longest = max(longest, displayWidth(name))
		}
		for i, name := range t.names {
			t.names[i] = cut(name, max(longest-over, 4))
		}
	}
	return hidden
}

// last reports whether a column is the only one left, or all that is left of it is one part.
func (t *textTable) last(column int) bool {
	for i := range t.g.columns {
		if i != column && t.visible(i) {
			return false
		}
	}
	left := 0
	for _, shown := range t.shown[column] {
		if shown {
			left++
		}
	}
	return left <= 1
}

func (t *textTable) visible(column int) bool { return t.shown[column] != [parts]bool{} }
