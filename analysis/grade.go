package analysis

import (
	"slices"

	"nettoll/record"
)

// Widths returns to within what half of the changes of a run are known, and to within what all of them are: the lower median and the
// maximum of the half widths of the intervals of all primary comparisons, relative, and how many there are.
func (res Result) Widths() (half, most float64, n int) {
	var all []float64
	for _, r := range res.Rows() {
		for _, f := range r.Figures {
			c := f.Comparison()
			if h, known := c.HalfWidth(); known && h > 0 && c.Primary {
				all = append(all, h)
			}
		}
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2], all[len(all)-1], len(all)
}

// disturbing are the codes of caveats about what went on during a run and was no part of it.
var disturbing = []string{WarnBusy, record.WarnForeignCPU, WarnSteal, record.WarnIdleBusy, record.WarnForeignPackets, record.WarnNotSilent}

// DisturbedBy returns the codes of caveats of a run, or of its networks, that say what disturbed it. Work that lasted throughout
// (WarnBusy) is also why single trials met others' work.
func (res Result) DisturbedBy() []string {
	met := slices.Clone(res.Warnings)
	for _, r := range res.Rows() {
		met = append(met, r.Warnings...)
	}
	has := func(code string) bool {
		return slices.ContainsFunc(met, func(w Warning) bool { return w.Code == code })
	}
	busy := has(WarnBusy)
	return slices.DeleteFunc(slices.Clone(disturbing), func(code string) bool { return !has(code) || busy && code == record.WarnForeignCPU })
}
