package main

import (
	"fmt"
	"text/tabwriter"

	"nettoll/plan"
	"nettoll/record"
)

// dryRun prints what would be measured, and how long it would take.
func (a *app) dryRun(s plan.Suite, cells []record.Cell, set record.Settings) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "network\thosts\tfamily\tservers×clients\tworkload\ttool\tplacement\t")
	for _, c := range cells {
		native := ""
		if c.IsNative() {
			native = "native"
		}
		fmt.Fprintf(w, "%s\t%d\tIPv%d\t%d×%d\t%s\t%s\t%s\t%s\n",
			c.Network, c.Hosts, c.Family, c.Servers, c.Clients, c.Workload, c.Tool, c.Placement, native)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	e := plan.Estimate(cells, set)
	fmt.Fprintf(a.stdout, "\n%d cells in %d networks a round; a round takes about %s.\n", e.Cells, e.Visits, rough(e.Round))
	fmt.Fprintf(a.stdout, "%d to %d rounds, %s to %s, %s.\n", e.MinRounds, e.MaxRounds,
		rough(e.Min), rough(e.Max), e.Assumes())
	return nil
}
