package report

import (
	"cmp"
	"slices"
	"strconv"

	"nettoll/analysis"
	"nettoll/record"
)

// priceSections gives the throughput per dollar and hour: a table for each kind of traffic,
// with instances as lines and networks as columns.
func priceSections(res analysis.Result, colours colours) []*section {
	if len(res.Prices) == 0 {
		return nil
	}
	sec := &section{Title: "Throughput per dollar", Meta: "Throughput divided by the price of one instance for an hour."}
	tables := record.Gather(res.Prices, func(p analysis.PerPrice) record.Cell {
		c := p.Cell.Scenario()
		c.Underlay = ""
		return c
	})
	several := record.Gather(tables, func(all []analysis.PerPrice) string { return traffic(all[0].Cell) })
	title := func(all []analysis.PerPrice) string {
		c := all[0].Cell
		c.Underlay = ""
		namespaces := slices.ContainsFunc(all, func(p analysis.PerPrice) bool { return bool(p.Namespaces) })
		switch {
		case len(several) < len(tables):
			return traffic(c) + ", " + lower(titleOf(c, analysis.Namespaces(namespaces)))
		case namespaces:
			return traffic(c) + ", hosts are " + analysis.Namespaces(true).String()
		}
		return traffic(c)
	}
	sec.Tables = record.Each(tables, func(all []analysis.PerPrice) table { return priceTable(title(all), all) })
	sec.figures = func() []figure {
		return record.Each(tables, func(all []analysis.PerPrice) figure { return priceFigure(title(all), all, colours) })
	}
	return []*section{sec}
}

// rented tells what was rented: the instance, or the shape of its link if the table has several of the instance.
func rented(p analysis.PerPrice, all []analysis.PerPrice) string {
	if slices.ContainsFunc(all, func(o analysis.PerPrice) bool { return o.Instance == p.Instance && o.Cell.Underlay != p.Cell.Underlay }) {
		return cmp.Or(p.Cell.Underlay, p.Instance+" as it is")
	}
	return p.Instance
}

// perDollar returns the metric of bit/s per dollar per hour.
func perDollar() record.Kind {
	return record.Kind{Name: "per_dollar", Title: "throughput per dollar and hour", Unit: "bit/s", Better: record.HigherIsBetter}
}

func perDollarOf(p analysis.PerPrice) analysis.Summary {
	return analysis.Summary{Estimate: p.PerDollar, Interval: p.Interval}
}

func priceFigure(title string, all []analysis.PerPrice, colours colours) figure {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar)
	out := figure{Title: unitTitle(kind, sc) + ": " + title, Hint: hint(kind)}
	name := func(p analysis.PerPrice) string { return rented(p, all) }
	instances := record.Gather(all, name)
	names := record.Each(instances, func(on []analysis.PerPrice) string { return name(on[0]) })
	bars := func(instance int) (bars []spokenBar) {
		for _, p := range instances[instance] {
			b := valueBar(sc, perDollarOf(p))
			b.Name, b.Native, b.Look = networkName(p.Cell), p.Native, colours[networkName(p.Cell)]
			bars = append(bars, spokenBar{Bar: b})
		}
		return bars
	}
	return out.clustered(out.Title+", "+out.Hint, names, bars, 0, 0)
}

func priceTable(title string, all []analysis.PerPrice) table {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar)
	sh := table{Title: unitTitle(kind, sc) + ": " + title, Stub: []string{"instance", "$/h"}, blank: absentCell(nil)}
	networks := record.Distinct(all, func(p analysis.PerPrice) string { return networkName(p.Cell) })
	sh.Columns = columnsOf(networks...)
	for _, p := range all {
		l := sh.line(rented(p, all), strconv.FormatFloat(p.Price, 'f', -1, 64))
		l.Cells[slices.Index(networks, networkName(p.Cell))] = cell{Value: sc.number(p.PerDollar), Spread: spread(sc, perDollarOf(p))}
	}
	return sh
}
