package main

import (
	"fmt"
	"maps"
	"slices"

	"nettoll/analysis"
	"nettoll/record"
)

// compared is a network in one metric, beside the baseline of as many hosts.
type compared struct {
	network       string
	hosts, family int
	workload      string
	metric        string
}

func (c compared) String() string {
	hosts := "1 host"
	if c.hosts > 1 {
		hosts = fmt.Sprintf("%d hosts", c.hosts)
	}
	return fmt.Sprintf("%s, %s, IPv%d, %s", c.network, hosts, c.family, c.metric)
}

// ratiosOf are the ratios to the baseline of a run file, one a round, of the metric that cells
// are ranked by. Those that have none are there with nothing.
func ratiosOf(f *record.File) map[compared]ratios {
	all := map[compared]ratios{}
	for row, among := range rows(f) {
		if c := row.Cell; !row.Native {
			at := compared{c.Network, c.Hosts, c.Family, c.Workload, record.Primary(c.Workload)[0]}
			all[at] = append(all[at], ratiosOfRow(row, among)...)
		}
	}
	return all
}

func ratiosOfRow(row analysis.Row, among []analysis.Row) (all ratios) {
	native := slices.IndexFunc(among, func(r analysis.Row) bool { return r.Native })
	of, ok := row.Primary()
	if native < 0 || !ok {
		return nil
	}
	base, _ := among[native].Figure(of.Kind.Name)
	for _, p := range of.Points {
		if i := slices.IndexFunc(base.Points, func(b analysis.Point) bool { return b.Round == p.Round }); i >= 0 {
			all = append(all, p.Value/base.Points[i].Value)
		}
	}
	return all
}

// sides are two ways to measure the same networks.
type sides struct {
	names [2]string
	of    [2]map[compared]ratios
}

func newSides(one, other string) *sides {
	return &sides{[2]string{one, other}, [2]map[compared]ratios{{}, {}}}
}

func (s *sides) add(side int, f *record.File) {
	for at, r := range ratiosOf(f) {
		s.of[side][at] = append(s.of[side][at], r...)
	}
}

// sameWithin is how far ratios may be apart that are to be the same.
const sameWithin = 0.05

// show judges by two one-sided tests at 5 % whether both sides have the same ratios within
// sameWithin: they have if the interval at 90 % lies within it. Schuirmann, A comparison of the two
// one-sided tests procedure and the power approach for assessing the equivalence of average
// bioavailability, J. Pharmacokinet. Biopharm. 15 (1987). What is tested are the differences of
// logarithms of rounds that follow each other on either side, by signed ranks: machines of others
// give trials tails that a mean would follow. Where one side has more rounds these are put together.
func (s *sides) show() {
	met := 0
	cells := slices.SortedFunc(maps.Keys(s.of[0]), func(a, b compared) int {
		return slices.Compare([]string{a.metric, fmt.Sprint(a.hosts, a.family), a.network}, []string{b.metric, fmt.Sprint(b.hosts, b.family), b.network})
	})
	for _, at := range cells {
		n := min(len(s.of[0][at]), len(s.of[1][at]))
		one, other := inParts(s.of[0][at], n), inParts(s.of[1][at], n)
		c := analysis.Paired(one, other, 0.90, sameWithin)
		if c == nil || c.Level == 0 {
			fmt.Printf("%-44s n=%d: %s\n", at, n, verdict(false, "not known: too few rounds"))
			continue
		}
		if c.Outcome == analysis.Same {
			met++
		}
		fmt.Printf("%-44s %s %.3f, %s %.3f: ÷ %.3f  (90 %%: %.3f to %.3f, n=%d)  aim within %.2f of 1: %s\n",
			at, s.names[0], one.geometric(), s.names[1], other.geometric(), c.Value, c.Low, c.High, n, sameWithin,
			verdict(c.Outcome == analysis.Same, map[bool]string{true: "different", false: "not known"}[c.Outcome == analysis.Different]))
	}
	fmt.Printf("%s ÷ %s: %d of %d the same within %.0f %%: %s\n", s.names[0], s.names[1], met, len(cells), 100*sameWithin,
		verdict(met == len(cells) && met > 0, "not all"))
}

// inParts are the geometric means of n parts, of nearly the same length, of values in their order.
func inParts(values ratios, n int) (means ratios) {
	for i := range n {
		means = append(means, values[i*len(values)/n:(i+1)*len(values)/n].geometric())
	}
	return means
}
