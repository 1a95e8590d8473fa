package runner

import (
	"cmp"
	"slices"

	"nettoll/record"
	"nettoll/workload"
)

// Place chooses CPUs. Distinct: the cores of the largest package are halved, one half for the client
// and one for the server, so that they are close to each other but share no core; each flow gets a CPU of its half,
// second hyperthreads of a core last. If that package has only one core, client and server get a
// hyperthread of it each; if no package has more than one CPU, as on some virtual machines, those of
// all packages are halved. CPUs of a slow kind are left out where there are two cores of another: otherwise one end could
// have only slow ones. Same: one CPU for both. Free, or distinct if there is only one CPU: no CPU
// is chosen.
func Place(m record.Machine, placement string) workload.CPUs {
	if len(m.CPUs) == 0 || placement == record.PlacementFree {
		return workload.CPUs{}
	}
	usable := m.CPUs
	if fast := record.Those(usable, func(c record.CPU) bool { return !c.Slow }); len(coresOf(fast)) > 1 {
		usable = fast
	}
	cpus := largestPackage(usable)
	if len(cpus) == 1 {
		cpus = usable
	}
	cores := coresOf(cpus)
	if placement == record.PlacementSame {
		first := cores[0][:1]
		return workload.CPUs{Client: first, Server: first}
	}
	if len(cores) == 1 {
		if len(cores[0]) == 1 {
			return workload.CPUs{}
		}
		return workload.CPUs{Client: cores[0][:1], Server: cores[0][1:2]}
	}
	half := len(cores) / 2
	return workload.CPUs{Client: threads(cores[:half]), Server: threads(cores[half:])}
}

func largestPackage(cpus []record.CPU) []record.CPU {
	packages := map[int][]record.CPU{}
	for _, c := range cpus {
		packages[c.Package] = append(packages[c.Package], c)
	}
	var best []record.CPU
	for _, p := range packages {
		if len(p) > len(best) || len(p) == len(best) && p[0].ID < best[0].ID {
			best = p
		}
	}
	return best
}

// coresOf groups CPUs by core, in the order of their first CPU.
func coresOf(cpus []record.CPU) [][]int {
	type core struct{ pkg, number int }
	cores := map[core][]int{}
	for _, c := range cpus {
		at := core{c.Package, c.Core}
		cores[at] = append(cores[at], c.ID)
	}
	var all [][]int
	for _, ids := range cores {
		slices.Sort(ids)
		all = append(all, ids)
	}
	slices.SortFunc(all, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return all
}

// threads lists the first hardware thread of each core, then the second of each.
func threads(cores [][]int) (ids []int) {
	for i := 0; ; i++ {
		before := len(ids)
		for _, c := range cores {
			if i < len(c) {
				ids = append(ids, c[i])
			}
		}
		if len(ids) == before {
			return ids
		}
	}
}
