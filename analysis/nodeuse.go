package analysis

import (
	"cmp"
	"math"
	"slices"

	"nettoll/record"
)

// NodeUse is the CPU use of the daemons of a cluster's nodes in the trials of a network.
type NodeUse struct {
	Cell    record.Cell `json:"-"`      // what was built, without the traffic
	Trials  int         `json:"trials"` // in which it is known
	Daemons []DaemonUse `json:"daemons"`
}

// DaemonUse is the CPU use of all processes of one name on all nodes, in CPU seconds per second: 1 is one CPU, all the time.
type DaemonUse struct {
	Name string `json:"name"`
	Use  Spread `json:"cpu_s_s"`
}

// MarshalJSON writes what the cell says about the network, and none of the traffic.
func (u NodeUse) MarshalJSON() ([]byte, error) {
	type use NodeUse
	return withNetwork(u.Cell, use(u))
}

// nodeUses returns the CPU use of the nodes' daemons for all networks, in the order in which they first appear. The daemons that
// use most come first, in the same order for all networks. One that did not run in a trial used nothing there.
func nodeUses(trials []record.Trial) (all []NodeUse) {
	known := record.Those(trials, func(t record.Trial) bool {
		return t.Status == record.OK && t.CPU != nil && len(t.CPU.NodeDaemons) > 0 && t.Window > 0 && !math.IsInf(nodeDaemons(&t)/t.Window, 0)
	})
	sums := map[string]float64{}
	var names []string
	for _, t := range known {
		for _, d := range t.CPU.NodeDaemons {
			names = record.AddNew(names, d.Name)
			sums[d.Name] += d.CPU / t.Window
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	for _, own := range record.Gather(known, func(t record.Trial) record.Cell { return built(t.Cell) }) {
		u := NodeUse{Cell: built(own[0].Cell), Trials: len(own)}
		for _, name := range names {
			values := make([]float64, len(own))
			for i, t := range own {
				for _, d := range t.CPU.NodeDaemons {
					if d.Name == name {
						values[i] += d.CPU / t.Window
					}
				}
			}
			u.Daemons = append(u.Daemons, DaemonUse{name, spreadOf(values)})
		}
		all = append(all, u)
	}
	return all
}
