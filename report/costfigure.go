package report

import (
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/report/plot"
)

// loadParts are the parts of the machine's CPU time, in the order in which a bar shows
// them. Their colours are their own, not those of networks.
var loadParts = []struct {
	metric, name string
	look         plot.Look
}{
	{reference.CPUClient, "clients", plot.Look{Color: 1}},
	{reference.CPUServer, "servers", plot.Look{Color: 6}},
	{analysis.CPUDaemons, "daemons", plot.Look{Color: 2}},
	{analysis.CPUShared, "shared", plot.Look{Color: 0}},
}

// loadFigure draws how the CPU time of each network divides into parts, for a GB or a transaction of
// one workload, since networks that move less use less. names are those of the clusters; rows returns
// the networks of one cluster.
func loadFigure(c record.Cell, names []string, rows func(cluster int) []analysis.Row) figure {
	kind, _ := analysis.CostKind(analysis.CPUMachine, c)
	unit := "for 1 GB"
	if kind.Unit == "cpu-s" {
		unit = "for a transaction"
	}
	sc := scaleFor(kind, 1)
	for i := range names {
		for _, row := range rows(i) {
			if f, ok := row.Cost(reference.CPUServer); ok && sc.factor == 1 {
				sc = scaleFor(kind, f.Summary.Estimate)
			}
		}
	}
	out := figure{Title: "Where the CPU time of " + c.Workload + " goes, " + strings.TrimSuffix(sc.unit, "/GB") + " " + unit, Hint: hint(kind)}
	words := []string{out.Title + ", " + out.Hint + "."}
	shown := map[string]bool{}
	var clusters []plot.Cluster
	for i, name := range names {
		cluster := plot.Cluster{Name: name}
		for _, row := range rows(i) {
			b, said, ok := loadBar(sc, row, shown)
			if !ok {
				continue
			}
			cluster.Bars = append(cluster.Bars, b)
			words = append(words, strings.TrimPrefix(name+", ", ", ")+b.Name+": "+said+".")
		}
		if len(cluster.Bars) > 0 {
			clusters = append(clusters, cluster)
		}
	}
	if len(clusters) == 0 {
		return out
	}
	out.chart = plot.Clusters(clusters, 0, 0, strings.Join(words, " "))
	for _, p := range loadParts {
		if shown[p.metric] {
			out.Keys = append(out.Keys, plot.Key{Name: p.name, Look: p.look})
		}
	}
	return out
}

// loadBar is the bar of one network, with the estimate of each part. ok is false unless every
// part is known.
func loadBar(sc scale, row analysis.Row, shown map[string]bool) (b plot.Bar, said string, ok bool) {
	b.Name = networkName(row.Cell)
	var parts []string
	for _, p := range loadParts {
		f, known := row.Cost(p.metric)
		if !known && p.metric != analysis.CPUDaemons { // a network need not have any
			return b, "", false
		}
		if !known {
			continue
		}
		v := f.Summary.Estimate / sc.factor
		b.Value += v
		b.Parts = append(b.Parts, plot.Part{Value: v, Look: p.look})
		parts = append(parts, p.name+" "+sc.number(f.Summary.Estimate))
	}
	for _, p := range loadParts {
		if _, known := row.Cost(p.metric); known {
			shown[p.metric] = true
		}
	}
	b.Text = sc.number(b.Value * sc.factor)
	b.Low, b.High = b.Value, b.Value
	return b, b.Text + ", of that " + join(parts), true
}

// loads is the chart of one scenario of a group.
func (g group) loads(scenario int) figure {
	s := g.scenarios[scenario]
	return loadFigure(s.Cell, []string{""}, func(int) []analysis.Row { return s.Rows })
}

// sweepLoads is the chart of a sweep.
func sweepLoads(s analysis.Sweep) figure {
	all := spots(s)
	names := make([]string, len(all))
	for i, at := range all {
		names[i] = at.label(s)
	}
	return loadFigure(s.Cell, names, func(i int) (rows []analysis.Row) {
		for _, l := range s.Lines {
			if row := pointAt(l, all[i]); row != nil {
				rows = append(rows, *row)
			}
		}
		return rows
	})
}
