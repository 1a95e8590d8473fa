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
	type priced struct {
		cell record.Cell
		all  []analysis.PerPrice
	}
	var tables []priced
	for _, p := range res.Prices {
		c := p.Cell.Scenario()
		c.Underlay = ""
		at := slices.IndexFunc(tables, func(t priced) bool { return t.cell == c })
		if at < 0 {
			at = len(tables)
			tables = append(tables, priced{cell: c})
		}
		tables[at].all = append(tables[at].all, p)
	}
	for _, t := range tables {
		sec.Tables = append(sec.Tables, priceTable(t.cell, t.all))
	}
	sec.figures = func() (all []figure) {
		for _, t := range tables {
			all = append(all, priceFigure(t.cell, t.all, looks))
		}
		return all
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

func priceFigure(c record.Cell, all []analysis.PerPrice, looks looks) figure {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar.Estimate)
	out := figure{Title: unitTitle(kind, sc) + hostsOf(all), Hint: hint(kind)}
	words := []string{out.Title + ", " + traffic(c) + ", " + out.Hint + "."}
	var clusters []plot.Cluster
	for _, p := range all {
		at := slices.IndexFunc(clusters, func(c plot.Cluster) bool { return c.Name == p.Instance.Name })
		if at < 0 {
			at = len(clusters)
			clusters = append(clusters, plot.Cluster{Name: p.Instance.Name})
		}
		b := valueBar(sc, p.PerDollar)
		b.Name, b.Native, b.Look = networkName(p.Cell), p.Native, looks[networkName(p.Cell)]
		out.draws.add(drawsWhiskers, b.Low < b.High)
		clusters[at].Bars = append(clusters[at].Bars, b)
		words = append(words, p.Instance.Name+", "+b.Name+": "+b.Text+".")
	}
	out.chart = plot.Clusters(clusters, 0, 0, strings.Join(words, " "))
	return out
}

func priceTable(c record.Cell, all []analysis.PerPrice) table {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar.Estimate)
	sh := table{Title: unitTitle(kind, sc) + ": " + traffic(c) + hostsOf(all), Stub: []string{"instance", "$/h"}, blank: absentCell(nil)}
	var networks []string
	for _, p := range all {
		if name := networkName(p.Cell); !slices.Contains(networks, name) {
			networks = append(networks, name)
		}
	}
	sh.Columns = columnsOf(networks...)
	for _, p := range all {
		l := sh.line(p.Instance.Name, strconv.FormatFloat(p.Instance.Price, 'f', -1, 64))
		l.Cells[slices.Index(networks, networkName(p.Cell))] = cell{Value: sc.number(p.PerDollar.Estimate), Spread: spread(sc, p.PerDollar)}
	}
	return sh
}
