package report

import (
	"fmt"
	"slices"

	"nettoll/analysis"
	"nettoll/record"
)

// inForceSections shows how long it took until a service or a policy was in force: a table for each of the two, with networks as
// lines and the numbers of others as columns.
func inForceSections(res analysis.Result) []*section {
	if len(res.InForce) == 0 {
		return nil
	}
	sec := &section{
		Title: "Time until services and policies are in force",
		Meta: "How long after the API server had accepted a service, or a policy, the first greeting passed. It was made when all others were in force. " +
			"Greetings were sent every 5 ms. Each build of a network has one value, and no trial includes it.",
	}
	for _, of := range record.Gather(res.InForce, func(f analysis.InForce) string { return f.Of }) {
		sec.Tables = append(sec.Tables, inForceTable(of))
	}
	return []*section{sec}
}

func inForceTable(all []analysis.InForce) table {
	of := map[string]struct{ title, others string }{
		analysis.OfService: {"until a service is in force", "further services"},
		analysis.OfPolicy:  {"until a policy that admits everything is in force", "further policies"},
	}[all[0].Of]
	var numbers []int
	least, most := all[0].N, all[0].N
	longest := 0.0
	for _, f := range all {
		n, _ := f.Further()
		numbers = record.AddNew(numbers, n)
		least, most, longest = min(least, f.N), max(most, f.N), max(longest, f.Estimate)
	}
	slices.Sort(numbers)
	kind := record.Kind{Name: all[0].Of + "_in_force", Title: "time " + of.title, Unit: "s", Better: record.LowerIsBetter}
	sc := scaleFor(kind, longest)
	builds := fmt.Sprintf("Each figure is of %s.", countOf(most, "build"))
	if least < most {
		builds = fmt.Sprintf("Figures are of %s to %s.", number(least), countOf(most, "build"))
	}
	sh := table{Title: unitTitle(kind, sc) + ", by number of " + of.others, Note: builds, Stub: []string{"network"}, blank: absentCell(nil)}
	sh.Columns = columnsOf(record.Each(numbers, func(n int) string { return count(uint64(n)) })...)
	for _, f := range all {
		n, rest := f.Further()
		line := sh.line(builtName(rest, f.Namespaces))
		line.Cells[slices.Index(numbers, n)] = cell{Value: sc.number(f.Estimate), Spread: inForceSpread(sc, f.Summary), Key: sortKey(f.Estimate)}
	}
	if slices.ContainsFunc(all, func(f analysis.InForce) bool { return f.Level == 0 && f.N > 1 }) {
		sh.Note += " Where they are too few for an interval, the least and the greatest are in brackets."
	}
	return sh
}

// inForceSpread returns the interval, or the range if there are too few builds for one.
func inForceSpread(sc scale, s analysis.Summary) string {
	if s.Level == 0 && s.N > 1 {
		return "(" + sc.number(s.Min) + "…" + sc.number(s.Max) + ")"
	}
	return spread(sc, s)
}
