package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/record"
)

// MaxCells is how many cells a suite can have. More could not be measured in a lifetime, and are a mistake.
const MaxCells = 10_000

// Expand returns the cells of a suite: every network on every number of hosts that it makes sense on, with every IP
// version, topology, underlay and other condition, tool, workload and placement. The cells of one scenario are
// adjacent: first the baseline, whether or not it was asked for, then the networks in the order of the suite.
//
// It is an error if a network that was named has no cells, if one host cannot hold its endpoints, or if the time
// budget is shorter than a round. All errors are *FieldError.
func Expand(s Suite, known Known) ([]record.Cell, error) {
	cells, err := s.expand(known)
	if err != nil {
		return nil, err
	}
	return cells, cmp.Or(s.checkTaken(cells, known), s.checkLinks(cells, known), s.CheckBudget(cells, known))
}

// SelfCheck returns the cells that show whether the measurement is sound: the native network of each scenario of
// the suite twice, as if it were two networks. Whatever differs between the twins is not a cost of a network.
func SelfCheck(s Suite, known Known) ([]record.Cell, error) {
	cells, err := s.expand(known)
	if err != nil {
		return nil, err
	}
	var twins []record.Cell
	for _, c := range cells {
		if c.IsNative() {
			for c.Twin = 1; c.Twin <= 2; c.Twin++ {
				twins = append(twins, c)
			}
		}
	}
	// Conditions are those of the suite, which its networks take, as they are where native is compared with these.
	return twins, cmp.Or(s.checkTaken(cells, known), s.checkLinks(twins, known), s.CheckBudget(twins, known))
}

// CheckBudget returns an error if the time budget is shorter than a round of the cells.
func (s Suite) CheckBudget(cells []record.Cell, known Known) error {
	if s.TimeBudget == 0 {
		return nil
	}
	if round := s.Estimate(cells, known).Round; s.TimeBudget < round {
		return s.fault("time_budget", "%s is less than one round of %d cells takes, about %s; write more, or measure less",
			s.TimeBudget, len(cells), round.Round(time.Millisecond))
	}
	return nil
}

func (s Suite) expand(known Known) ([]record.Cell, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Source != "" && known.Sources != nil && !slices.Contains(known.Sources, s.Source) {
		return nil, s.fault("source", "unknown source %q; %s", s.Source, mean(s.Source, known.Sources, "known are "+strings.Join(known.Sources, ", ")))
	}
	drives, err := s.drives(known)
	if err != nil {
		return nil, err
	}
	nets, _, err := s.networks(known)
	if err != nil {
		return nil, err
	}
	fits, hosts, err := s.fit(nets)
	if err != nil {
		return nil, err
	}
	bases, err := s.baselines(known, nets, fits)
	if err != nil {
		return nil, err
	}
	topologies, err := s.topologies()
	if err != nil {
		return nil, err
	}
	conditions, _, err := s.conditions(known)
	if err != nil {
		return nil, err
	}
	families, placements := once(s.Families), once(s.Placements)
	n := 1
	for _, length := range []int{len(hosts), len(families), len(drives), len(placements), len(nets) + 1, len(topologies), len(conditions)} {
		if n *= length; n > MaxCells*MaxCells {
			break
		}
	}
	if n > MaxCells {
		return nil, s.fault("networks", "the suite has up to %d cells; name fewer networks, workloads or placements: %d is the limit", n, MaxCells)
	}
	if err := s.checkEndpoints(nets, fits, bases, topologies); err != nil {
		return nil, err
	}
	if err := s.checkFiles(known, topologies, drives); err != nil {
		return nil, err
	}
	var cells []record.Cell
	for _, h := range hosts {
		for _, f := range families {
			names := []string{bases[h].name}
			for i, net := range nets {
				if slices.Contains(fits[i], h) && net.kind.speaks(f) {
					names = append(names, net.name)
				}
			}
			if len(names) == 1 {
				continue
			}
			names = once(names)
			for _, t := range topologies {
				for _, c := range onHosts(h, conditions) {
					cell := t.between(c)
					cell.Hosts, cell.Family, cell.Baseline = h, f, bases[h].chosen
					cells = append(cells, across(cell, drives, placements, names)...)
				}
			}
		}
	}
	if len(cells) == 0 {
		return nil, s.fault("networks", "no network makes sense on %s; change the number of hosts, or leave it out", hostCount(s.Hosts))
	}
	return cells, nil
}

// between returns the cell with the topology's numbers.
func (t Topology) between(c record.Cell) record.Cell {
	c.Servers, c.Clients = t.Servers, t.Clients
	if t.Processes != 1 {
		c.Processes = t.Processes
	}
	return c
}

// across returns the cell with every workload and placement, and each of these with every network.
func across(cell record.Cell, drives []drive, placements, networks []string) []record.Cell {
	var cells []record.Cell
	for _, d := range drives {
		if !d.speaks(cell.Family) {
			continue
		}
		cell.Tool, cell.Workload, cell.Options = d.tool, d.workload, d.options
		for _, cell.Placement = range placements {
			for _, cell.Network = range networks {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// fit returns the numbers of hosts that each network is measured on, and all of them in the order in which the
// suite lists them.
func (s Suite) fit(nets []named) (fits [][]int, hosts []int, err error) {
	for _, net := range nets {
		asked := once(s.Hosts)
		if len(asked) == 0 {
			asked = net.kind.Hosts
		}
		fit := record.Those(asked, net.kind.Spans)
		if why, fix := s.unfit(net); why != "" && net.field != "" && !net.moved {
			return nil, nil, s.fault(net.field, "%s; %s, or leave %s out", why, fix, net.name)
		}
		fits = append(fits, fit)
		hosts = append(hosts, fit...)
	}
	if len(s.Hosts) == 0 {
		slices.Sort(hosts)
		return fits, slices.Compact(hosts), nil
	}
	return fits, once(s.Hosts), nil
}

// KeepFitting leaves out networks that the user did not name and that make no sense on the requested numbers of
// hosts, unless that would leave none.
func (s *Suite) KeepFitting(known Known) {
	fitting := record.Those(s.Networks, func(name string) bool {
		t, ok := known.find(s.home(known), name)
		why, _ := s.unfit(named{name: name, kind: t})
		return !ok || why == ""
	})
	if len(fitting) > 0 {
		s.Networks = fitting
	}
}

// unfit returns why none of a network's cells can be measured, and what would fix it, or empty strings.
func (s Suite) unfit(net named) (why, fix string) {
	t := net.kind
	switch {
	case len(s.Hosts) > 0 && !slices.ContainsFunc(s.Hosts, t.Spans):
		return fmt.Sprintf("%s makes sense on %s, asked for is %s", net.name, t.Span(), list(s.Hosts)), "change the number of hosts"
	case !slices.ContainsFunc(s.Families, t.speaks):
		return fmt.Sprintf("%s carries IPv%s only", net.name, list(t.Families)), "measure that, too"
	}
	return "", ""
}

// partly returns the numbers of hosts and the IP versions that the suite names and that some of the networks that it names
// do not have. The native network of one host needs no mention on two, which have their own.
func (s Suite) partly(known Known) (all []Skip) {
	nets, _, err := s.networks(known)
	if err != nil {
		return nil
	}
	for _, net := range nets {
		if why, _ := s.unfit(net); why != "" || net.field == "" || net.moved {
			continue
		}
		native := net.name == record.Native(1) || net.name == record.Native(2)
		if lacks := record.Those(once(s.Hosts), func(n int) bool { return !net.kind.Spans(n) }); len(lacks) > 0 && !native {
			all = append(all, Skip{Network: net.name + " on " + hostCount(lacks), Reason: "it makes sense on " + net.kind.Span()})
		}
		if lacks := record.Those(once(s.Families), func(f int) bool { return !net.kind.speaks(f) }); len(lacks) > 0 {
			all = append(all, Skip{Network: net.name + " over IPv" + list(lacks), Reason: fmt.Sprintf("it carries IPv%s only", list(net.kind.Families))})
		}
	}
	return all
}

func hostCount(numbers []int) string {
	if len(numbers) == 1 && numbers[0] == 1 {
		return "1 host"
	}
	return list(numbers) + " hosts"
}

// list writes numbers for people: 1, 2 or 3.
func list(numbers []int) string { return either(record.Each(numbers, strconv.Itoa)) }

// once removes repeated values.
func once[T comparable](list []T) []T { return record.Distinct(list, func(v T) T { return v }) }
