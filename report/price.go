package report

import (
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
	sec.Tables = record.Each(tables, priceTable)
	sec.figures = func() []figure {
		return record.Each(tables, func(all []analysis.PerPrice) figure { return priceFigure(all, colours) })
	}
	return []*section{sec}
}

// hostsOf returns an addition to a title that hosts are namespaces, if they are.
func hostsOf(all []analysis.PerPrice) string {
	if slices.ContainsFunc(all, func(p analysis.PerPrice) bool { return bool(p.Namespaces) }) {
		return ", hosts are " + analysis.Namespaces(true).String()
	}
	return ""
}

// perDollar returns the metric of bit/s per dollar per hour.
func perDollar() record.Kind {
	return record.Kind{Name: "per_dollar", Title: "throughput per dollar and hour", Unit: "bit/s", Better: record.HigherIsBetter}
}

func perDollarOf(p analysis.PerPrice) analysis.Summary {
	return analysis.Summary{Estimate: p.PerDollar, Interval: p.Interval}
}

func priceFigure(all []analysis.PerPrice, colours colours) figure {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar)
	out := figure{Title: unitTitle(kind, sc) + ": " + traffic(all[0].Cell) + hostsOf(all), Hint: hint(kind)}
	instances := record.Gather(all, func(p analysis.PerPrice) string { return p.Instance })
	names := record.Each(instances, func(on []analysis.PerPrice) string { return on[0].Instance })
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

func priceTable(all []analysis.PerPrice) table {
	kind := perDollar()
	sc := scaleFor(kind, all[0].PerDollar)
	sh := table{Title: unitTitle(kind, sc) + ": " + traffic(all[0].Cell) + hostsOf(all), Stub: []string{"instance", "$/h"}, blank: absentCell(nil)}
	networks := record.Distinct(all, func(p analysis.PerPrice) string { return networkName(p.Cell) })
	sh.Columns = columnsOf(networks...)
	for _, p := range all {
		l := sh.line(p.Instance, strconv.FormatFloat(p.Price, 'f', -1, 64))
		l.Cells[slices.Index(networks, networkName(p.Cell))] = cell{Value: sc.number(p.PerDollar), Spread: spread(sc, perDollarOf(p))}
	}
	return sh
}
