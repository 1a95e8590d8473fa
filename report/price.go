package report

import (
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report/plot"
)

// priceSections give the throughput per dollar and hour: a table for each kind of traffic, with instances
// down and networks to the right.
func priceSections(res analysis.Result, looks looks) []*section {
	if len(res.Prices) == 0 {
		return nil
	}
	sec := &section{Title: "Throughput per dollar", Meta: "Throughput over the price of one instance for an hour."}
	tables := byKey(res.Prices, func(p analysis.PerPrice) record.Cell {
		c := p.Cell.Scenario()
		c.Underlay = ""
		return c
	})
	for _, all := range tables {
		sec.Tables = append(sec.Tables, priceTable(all))
	}
	sec.figures = func() (figures []figure) {
		for _, all := range tables {
			figures = append(figures, priceFigure(all, looks))
		}
		return figures
	}
	return []*section{sec}
}

// hostsOf adds to a title that hosts are namespaces, if they are.
func hostsOf(all []analysis.PerPrice) string {
	for _, p := range all {
		if p.Namespaces {
			return ", hosts are " + p.Namespaces.String()
		}
	}
	return ""
}

// perDollar is bit/s for a dollar an hour, as a metric.
func perDollar() record.Kind {
	return record.Kind{Name: "per_dollar", Title: "throughput per dollar and hour", Unit: "bit/s", Better: record.HigherIsBetter}
}

func priceFigure(all []analysis.PerPrice, looks looks) figure {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar.Estimate)
	out := figure{Title: unitTitle(kind, sc) + hostsOf(all), Hint: hint(kind)}
	words := []string{out.Title + ", " + traffic(all[0].Cell) + ", " + out.Hint + "."}
	var clusters []plot.Cluster
	for _, on := range byKey(all, func(p analysis.PerPrice) string { return p.Instance.Name }) {
		cluster := plot.Cluster{Name: on[0].Instance.Name}
		for _, p := range on {
			b := valueBar(sc, p.PerDollar)
			b.Name, b.Native, b.Look = networkName(p.Cell), p.Native, looks[networkName(p.Cell)]
			out.draws.add(drawsWhiskers, b.Low < b.High)
			cluster.Bars = append(cluster.Bars, b)
			words = append(words, cluster.Name+", "+b.Name+": "+b.Text+".")
		}
		clusters = append(clusters, cluster)
	}
	out.chart = plot.Clusters(clusters, 0, 0, strings.Join(words, " "))
	return out
}

func priceTable(all []analysis.PerPrice) table {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar.Estimate)
	sh := table{Title: unitTitle(kind, sc) + ": " + traffic(all[0].Cell) + hostsOf(all), Stub: []string{"instance", "$/h"}, blank: absentCell(nil)}
	var networks []string
	for _, p := range all {
		networks = appendNew(networks, networkName(p.Cell))
	}
	sh.Columns = columnsOf(networks...)
	for _, p := range all {
		l := sh.line(p.Instance.Name, strconv.FormatFloat(p.Instance.Price, 'f', -1, 64))
		l.Cells[slices.Index(networks, networkName(p.Cell))] = cell{Value: sc.number(p.PerDollar.Estimate), Spread: spread(sc, p.PerDollar)}
	}
	return sh
}
