package analysis

import (
	"math"
	"slices"

	"nettoll/record"
)

// Settling is what a network did by itself after it was built, until it was silent. This is part of its
// cost, but trials do not show it: they begin afterwards.
type Settling struct {
	Cell    record.Cell // what was built; it says nothing of traffic
	Built   int         // how often that was watched
	Silent  int         // how often it fell silent
	Wait    Spread      // seconds
	CPU     Spread      // CPU seconds of the machine, beyond those that it uses when idle
	Packets Spread      // that crossed the devices of its hosts
	// Resting is what its daemons used while other networks had their turns, in CPU seconds a
	// second, and Rested in how many trials that is known.
	Resting Spread
	Rested  int
	// Namespaces is that of its scenarios.
	Namespaces Namespaces
}

// Spread is where values lie.
type Spread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) Spread {
	slices.Sort(values)
	return Spread{median(values), values[len(values)-1]}
}

// settlings are of all networks that were watched, in the order in which they first appear.
func settlings(trials []record.Trial) []Settling {
	var order []record.Cell
	seen := map[record.Cell][]record.Settle{}
	resting := map[record.Cell][]float64{}
	measured, apart := map[record.Cell]bool{}, map[record.Cell]bool{}
	for _, t := range trials {
		c := built(t.Cell)
		if t.CPU != nil && t.CPU.Resting != nil {
			if v := t.CPU.Resting.CPU / t.CPU.Resting.Watched; t.CPU.Resting.Watched > 0 && !math.IsInf(v, 0) {
				resting[c] = append(resting[c], v)
			}
		}
		if t.Status == record.OK {
			measured[c] = true
			apart[c] = apart[c] || t.CPU != nil && len(t.CPU.Hosts) > 0
		}
		if t.Settle == nil {
			continue
		}
		if seen[c] == nil {
			order = append(order, c)
		}
		seen[c] = append(seen[c], *t.Settle)
	}
	var all []Settling
	for _, c := range order {
		s := Settling{Cell: c, Built: len(seen[c]), Namespaces: Namespaces(c.Hosts > 1 && measured[c] && !apart[c])}
		of := func(value func(record.Settle) float64) Spread {
			var values []float64
			for _, one := range seen[c] {
				values = append(values, value(one))
			}
			return spreadOf(values)
		}
		for _, one := range seen[c] {
			if one.Silent {
				s.Silent++
			}
		}
		s.Wait = of(func(one record.Settle) float64 { return one.Wait })
		s.CPU = of(func(one record.Settle) float64 { return one.CPU })
		if values := resting[c]; len(values) > 0 {
			s.Resting, s.Rested = spreadOf(values), len(values)
		}
		s.Packets = of(func(one record.Settle) float64 { return float64(one.Packets) })
		all = append(all, s)
	}
	return all
}

// built is what a cell says of its network, and not of the traffic over it.
func built(c record.Cell) record.Cell {
	return record.Cell{
		Network: c.Network, Hosts: c.Hosts, Servers: c.Servers, Clients: c.Clients, Processes: c.Processes,
		Neighbours: c.Neighbours, Rules: c.Rules, Underlay: c.Underlay, MTU: c.MTU,
	}
}
