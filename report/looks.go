package report

import (
	"nettoll/analysis"
	"nettoll/report/plot"
)

// looks gives each network the same colour in every chart of a report.
type looks map[string]plot.Look

func newLooks(res analysis.Result) looks {
	all := looks{}
	others := 0
	add := func(name string, native bool) {
		if _, known := all[name]; known || name == "" {
			return
		}
		all[name] = plot.LookOf(others, native)
		if !native {
			others++
		}
	}
	for _, row := range res.Rows() {
		add(networkName(row.Cell), row.Native)
	}
	for _, s := range res.Sweeps {
		for _, l := range s.Lines {
			add(l.Network, l.Native)
		}
	}
	return all
}
