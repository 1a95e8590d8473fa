package report

import (
	"slices"

	"nettoll/record"
)

// reduction takes a part of one metric away.
type reduction struct {
	metric string
	part   part
}

// reductions is the order in which a table gives way when columns are few.
// What stays longest is what a decision needs: the difference from native in
// throughput.
var reductions = slices.Concat(
	each(valueSpread, record.Jitter, record.Loss, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99, record.CPUPerTransaction,
		record.CPUPerGB, record.LatencyAdded, record.LatencyP50, record.Throughput, record.PacketRate),
	each(ratioSpread, record.Jitter, record.Loss, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99, record.CPUPerTransaction, record.CPUPerGB,
		record.LatencyAdded),
	each(ratio, record.Loss, record.Jitter),
	each(value, record.CPUPerTransaction, record.CPUPerGB),
	each(ratio, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99, record.CPUPerTransaction, record.LatencyAdded),
	each(ratioSpread, record.LatencyP50),
	each(value, record.Jitter, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99),
	each(ratio, record.CPUPerGB),
	each(value, record.Loss, record.LatencyAdded),
	each(valueSpread, record.TransactionRate),
	each(value, record.LatencyP50),
	each(ratioSpread, record.Throughput),
	each(ratio, record.LatencyP50),
	each(value, record.Throughput),
	each(ratioSpread, record.PacketRate, record.TransactionRate),
	each(ratio, record.Throughput),
	each(value, record.PacketRate, record.TransactionRate),
)

// each takes the same part away from one metric after the other.
func each(p part, metrics ...string) []reduction {
	var all []reduction
	for _, m := range metrics {
		all = append(all, reduction{m, p})
	}
	return all
}

// fit drops parts until the table is no wider than width and names what is
// no longer shown.
func (t *textTable) fit(width int) (hidden []string) {
	if width <= 0 {
		return nil
	}
	if t.fitBars(width) {
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
			t.shown[i][r.part] = false
			if before && !t.visible(i) {
				hidden = append(hidden, t.g.heading(c))
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

// fitBars adds bars where there is room for them beside the whole table: they show once more what it says.
func (t *textTable) fitBars(width int) bool {
	room := min(width-t.width()-len(gap), mostBarColumns)
	if room < fewestBarColumns {
		return false
	}
	bars, ok := newTextBars(t.g, room)
	if ok {
		t.bars = bars
	}
	return ok
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
