package report

import "nettoll/analysis"

// nodeUseSections shows what daemons of nodes used. There is no section if that is not known.
func nodeUseSections(res analysis.Result) []*section {
	if len(res.NodeUses) == 0 {
		return nil
	}
	sh := table{Stub: []string{"network", "trials"}}
	for _, d := range res.NodeUses[0].Daemons {
		sh.Columns = append(sh.Columns, columnsOf(d.Name+", % of a CPU")...)
	}
	for _, u := range res.NodeUses {
		line := tableLine{Names: []string{builtName(u.Cell, false), count(uint64(u.Trials))}}
		for _, d := range u.Daemons {
			line.Cells = append(line.Cells, spreadCell(analysis.Spread{Median: 100 * d.Use.Median, Max: 100 * d.Use.Max}))
		}
		sh.Lines = append(sh.Lines, line)
	}
	return []*section{{
		Title:  "What the daemons of the nodes use",
		Meta:   "CPU time of daemons of the cluster's nodes while a network had its traffic, by their own clocks, on all nodes together. They serve all networks of the cluster, and use some of it without traffic, too; how much is not known.",
		Tables: []table{sh},
	}}
}
