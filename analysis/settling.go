package analysis

import (
	"encoding/json"
	"math"
	"slices"

	"nettoll/record"
)

// Settling describes what a network did by itself after it was built, until it was
// silent. This is part of its cost, but trials do not show it: they begin afterwards.
type Settling struct {
	Cell       record.Cell `json:"-"`                   // what was built, without the traffic
	Namespaces Namespaces  `json:"hosts_are,omitempty"` // of its scenarios
	Built      int         `json:"built"`               // number of times that this was watched
	Silent     int         `json:"silent"`              // number of times that it fell silent
	Wait       Spread      `json:"wait_s"`              // seconds
	CPU        *Spread     `json:"cpu_s,omitempty"`     // CPU seconds of the machine, beyond its idle use; also for networks of the same group, which are watched at the same time; nil if it is not known
	Packets    Spread      `json:"packets"`             // packets over the devices of its hosts
	// Resting is the CPU use of its daemons while other networks had their turns, in
	// CPU seconds per second, and Rested the number of trials in which that is known.
	Resting Spread `json:"resting_cpu_s_s,omitzero"`
	Rested  int    `json:"-"`
}

// MarshalJSON writes what the cell says about the network, and none of the traffic.
func (s Settling) MarshalJSON() ([]byte, error) {
	type settling Settling
	return withNetwork(s.Cell, settling(s))
}

// withNetwork returns as one JSON object what a cell says about its network, and the fields of own, of which there is at least one.
func withNetwork(c record.Cell, own any) ([]byte, error) {
	network, err := json.Marshal(struct {
		record.Cell
		// These hide fields of the cell.
		Family    int    `json:"family,omitempty"`
		Tool      string `json:"tool,omitempty"`
		Workload  string `json:"workload,omitempty"`
		Options   string `json:"options,omitempty"`
		Placement string `json:"placement,omitempty"`
	}{Cell: c})
	if err != nil {
		return nil, err
	}
	fields, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	network[len(network)-1] = ','
	return append(network, fields[1:]...), nil
}

// Spread is the range of values.
type Spread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) Spread {
	return Spread{medianOf(values), slices.Max(values)}
}

// settlings returns the settlings of all networks that were watched, in the order in which they first appear.
func settlings(trials []record.Trial) (all []Settling) {
	watched := record.Those(trials, func(t record.Trial) bool { return t.Settle != nil })
	for _, own := range record.Gather(watched, func(t record.Trial) record.Cell { return built(t.Cell) }) {
		s := Settling{Cell: built(own[0].Cell), Built: len(own)}
		of := func(value func(*record.Settle) float64) Spread {
			return spreadOf(record.Each(own, func(t record.Trial) float64 { return value(t.Settle) }))
		}
		s.Wait = of(func(one *record.Settle) float64 { return one.Wait })
		if known := record.Those(own, func(t record.Trial) bool { return t.Settle.CPU != nil }); len(known) > 0 {
			used := spreadOf(record.Each(known, func(t record.Trial) float64 { return *t.Settle.CPU }))
			s.CPU = &used
		}
		s.Packets = of(func(one *record.Settle) float64 { return float64(one.Packets) })
		s.Silent = len(record.Those(own, func(t record.Trial) bool { return t.Settle.Silent }))
		var resting []float64
		for _, t := range trials {
			if built(t.Cell) != s.Cell || t.CPU == nil || t.CPU.Resting == nil {
				continue
			}
			if v := t.CPU.Resting.CPU / t.CPU.Resting.Watched; t.CPU.Resting.Watched > 0 && !math.IsInf(v, 0) {
				resting = append(resting, v)
			}
		}
		if len(resting) > 0 {
			s.Resting, s.Rested = spreadOf(resting), len(resting)
		}
		s.Namespaces = namespacesOf(s.Cell, trials)
		all = append(all, s)
	}
	return all
}

// namespacesOf is namespaces for the trials over a network, given as built returns it.
func namespacesOf(network record.Cell, trials []record.Trial) Namespaces {
	measured := record.Those(trials, func(t record.Trial) bool { return t.Status == record.OK && built(t.Cell) == network })
	apart := slices.ContainsFunc(measured, func(t record.Trial) bool { return t.CPU != nil && len(t.CPU.Hosts) > 0 })
	return Namespaces(network.Hosts > 1 && len(measured) > 0 && !apart)
}

// built returns what a cell says about its network, without the traffic over it, the endpoints' settings for that, and
// the comparison. A twin is built like the other.
func built(c record.Cell) record.Cell {
	for _, d := range record.Dimensions() {
		if !slices.Contains([]record.Part{record.Path, record.Link, record.Condition}, d.Part) || slices.Contains([]string{"family", "offload", "normalize"}, d.Name) {
			d.Clear(&c)
		}
	}
	return c
}
