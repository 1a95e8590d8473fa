package kubernetes

import (
	"context"
	"slices"
	"strings"

	"nettoll/internal/plumb"
)

// countDaemons has the CPU time of the nodes' daemons recorded, if the user wants to know it.
func (n *build) countDaemons(ctx context.Context) error {
	all, err := n.cluster.NodeDaemons(ctx)
	if err != nil || all == nil {
		return err
	}
	var known []string
	for _, d := range all {
		if !slices.ContainsFunc(n.talking(), func(h *plumb.Host) bool { return h.Name() == d.Host }) {
			continue // no endpoint is there
		}
		names := slices.Compact(slices.Sorted(slices.Values(d.Names)))
		if names == nil {
			known = append(known, "on "+d.Host+" none is known by its name")
			continue
		}
		n.daemons = append(n.daemons, d)
		known = append(known, "on "+d.Host+" "+strings.Join(names, ", "))
	}
	n.Notes = append(n.Notes, "CPU time was read of the nodes' daemons: "+strings.Join(known, "; "))
	return nil
}
