package analysis

import (
	"cmp"
	"encoding/json"
	"slices"

	"nettoll/record"
)

// Extreme is the network with the highest or the lowest figure of a scenario, beside the
// next to it.
type Extreme struct {
	Kind          record.Kind
	Highest       bool
	Network, Next record.Cell
	Figure        Figure      // of Network
	Ratio         *Comparison // Network ÷ Next, paired by round
}

// MarshalJSON names the networks.
func (e Extreme) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Metric  string      `json:"metric"`
		Highest bool        `json:"highest"` // else the lowest
		Network string      `json:"network"`
		Next    string      `json:"next"`
		Ratio   *Comparison `json:"ratio,omitempty"`
		Shown   bool        `json:"shown"`
	}{e.Kind.Name, e.Highest, e.Network.Network, e.Next.Network, e.Ratio, e.Shown()})
}

// Shown reports whether the network can be called the highest, or the lowest: it is beyond
// the next one, by a verdict among all extremes of the run. Testing the two that come first
// keeps the level: Gutmann and Maymin, Is the selected population the best?, Ann. Statist. 15
// (1987). The order of the estimates can contradict that of the common rounds, since cells that
// are known are not measured on.
func (e Extreme) Shown() bool {
	return e.Ratio != nil && e.Ratio.Verdict == Different && (e.Ratio.Value > 1) == e.Highest
}

// extremes are the highest and the lowest of the networks that are compared, in the metric
// that they are ranked by and in its CPU cost. They are ordered by their ratio to the
// baseline, which is paired by round. If one of them has no ratio, as with a throughput of 0,
// its rank is unknown, and there are no extremes.
func extremes(s Scenario, j judging) []Extreme {
	answers := s.Answers()
	var out []Extreme
	for i, k := range answers {
		if i > 0 && k.Name != record.CPUPerGB && k.Name != record.CPUPerTransaction {
			continue
		}
		type ranked struct {
			cell  record.Cell
			f     Figure
			ratio float64
		}
		var all []ranked
		placed := true
		for _, r := range s.Rows {
			f, ok := r.Figure(k.Name)
			switch {
			case !ok || r.Native || r.Cell.Twin != 0:
			case f.Ratio == nil:
				placed = false
			default:
				all = append(all, ranked{r.Cell, f, f.Ratio.Value})
			}
		}
		if !placed || len(all) < 2 {
			continue
		}
		slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.ratio, a.ratio) })
		add := func(highest bool, a, b ranked) {
			out = append(out, Extreme{Kind: k, Highest: highest, Network: a.cell, Next: b.cell, Figure: a.f,
				Ratio: compare(pairUp(a.f.Points, b.f.Points), k.Better, j)})
		}
		add(true, all[0], all[1])
		add(false, all[len(all)-1], all[len(all)-2])
	}
	return out
}
