package report

import (
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report/plot"
)

// priceSections say what an hour's dollar buys: instances down, networks to the
// right, a table for each kind of traffic.
func priceSections(res analysis.Result, looks looks) []section {
	if len(res.Prices) == 0 {
		return nil
	}
	sec := section{title: "Throughput per dollar", meta: "Throughput over the price of one instance for an hour."}
	type table struct {
		cell record.Cell
		all  []analysis.PerPrice
	}
	var tables []table
	for _, p := range res.Prices {
		c := p.Cell.Scenario()
		c.Underlay = ""
		at := slices.IndexFunc(tables, func(t table) bool { return t.cell == c })
		if at < 0 {
			at = len(tables)
			tables = append(tables, table{cell: c})
		}
		tables[at].all = append(tables[at].all, p)
	}
	for _, t := range tables {
		sec.sheets = append(sec.sheets, priceSheet(t.cell, t.all))
		sec.figures = append(sec.figures, priceFigure(t.cell, t.all, looks))
	}
	return []section{sec}
}

// hostsOf says what the hosts of some prices are, behind a title, where they are no machines.
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
	out := figure{title: unitTitle(kind, sc) + hostsOf(all), hint: hint(kind)}
	words := []string{out.title + ", " + traffic(c) + ", " + out.hint + "."}
	var clusters []plot.Cluster
	for _, p := range all {
		at := slices.IndexFunc(clusters, func(c plot.Cluster) bool { return c.Name == p.Instance.Name })
		if at < 0 {
			at = len(clusters)
			clusters = append(clusters, plot.Cluster{Name: p.Instance.Name})
		}
		b := valueBar(sc, p.PerDollar)
		b.Name, b.Native, b.Look = networkName(p.Cell), p.Native, looks[networkName(p.Cell)]
		out.draws.whiskers = out.draws.whiskers || b.Low < b.High
		clusters[at].Bars = append(clusters[at].Bars, b)
		words = append(words, p.Instance.Name+", "+b.Name+": "+b.Text+".")
	}
	out.chart = plot.Clusters(clusters, 0, 0, strings.Join(words, " "))
	return out
}

func priceSheet(c record.Cell, all []analysis.PerPrice) sheet {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar.Estimate)
	sh := sheet{title: unitTitle(kind, sc) + ": " + traffic(c) + hostsOf(all), stub: []string{"instance", "$/h"}}
	for _, p := range all {
		if name := networkName(p.Cell); !slices.Contains(sh.columns, name) {
			sh.columns = append(sh.columns, name)
		}
	}
	for _, p := range all {
		at := slices.IndexFunc(sh.lines, func(l sheetLine) bool { return l.names[0] == p.Instance.Name })
		if at < 0 {
			at = len(sh.lines)
			sh.lines = append(sh.lines, sheetLine{cells: slices.Repeat([]sheetCell{{value: "–", class: "absent"}}, len(sh.columns)),
				names: []string{p.Instance.Name, strconv.FormatFloat(p.Instance.Price, 'f', -1, 64)}})
		}
		sh.lines[at].cells[slices.Index(sh.columns, networkName(p.Cell))] = sheetCell{value: sc.number(p.PerDollar.Estimate), spread: spread(sc, p.PerDollar)}
	}
	return sh
}
