package analysis

import (
	"slices"

	"nettoll/record"
)

// InForce is how long it took until what was made last for a network had an effect. Each build of the network has one value.
type InForce struct {
	Cell       record.Cell `json:"-"`                   // what was built, without the traffic
	Namespaces Namespaces  `json:"hosts_are,omitempty"` // of its scenarios
	Of         string      `json:"of"`                  // what was made: OfService or OfPolicy
	Summary                // in seconds
}

// What can be in force.
const (
	OfService = "service"
	OfPolicy  = "policy"
)

// Further returns how many others there were, and the cell without them.
func (f InForce) Further() (n int, rest record.Cell) {
	rest = f.Cell
	if f.Of == OfService {
		rest.Services = 0
		return f.Cell.Services, rest
	}
	rest.Policies = 0
	return f.Cell.Policies, rest
}

// MarshalJSON writes what the cell says about the network, and none of the traffic.
func (f InForce) MarshalJSON() ([]byte, error) {
	type inForce InForce
	return withNetwork(f.Cell, inForce(f))
}

// inForces returns the times of all networks that have some, services first, in the order of the plan.
func inForces(planned []record.Cell, trials []record.Trial, level float64) (all []InForce) {
	timed := record.Those(trials, func(t record.Trial) bool { return t.InForce != nil })
	if len(timed) == 0 {
		return nil
	}
	place := map[record.Cell]int{}
	for _, c := range planned {
		if network := built(c); place[network] == 0 {
			place[network] = 1 + len(place)
		}
	}
	networks := record.Gather(timed, func(t record.Trial) record.Cell { return built(t.Cell) })
	slices.SortStableFunc(networks, func(a, b []record.Trial) int { return place[built(a[0].Cell)] - place[built(b[0].Cell)] })
	for of, value := range []func(record.InForce) float64{
		func(in record.InForce) float64 { return in.Service }, func(in record.InForce) float64 { return in.Policy },
	} {
		for _, own := range networks {
			times := record.Each(own, func(t record.Trial) float64 { return value(*t.InForce) })
			values := record.Those(times, func(v float64) bool { return v > 0 })
			if len(values) == 0 {
				continue
			}
			cell := built(own[0].Cell)
			all = append(all, InForce{
				Cell: cell, Namespaces: namespacesOf(cell, trials), Of: []string{OfService, OfPolicy}[of], Summary: summarize(values, level),
			})
		}
	}
	return all
}
