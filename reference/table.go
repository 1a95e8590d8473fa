package reference

import "nettoll/record"

// Metrics of tables without a counterpart among the metrics of trials: CPU seconds
// per second of the clients' machine and of the servers', where a source gives them.
const (
	CPUClient = "cpu_client"
	CPUServer = "cpu_server"
)

// Table is one table of a source: every network at every place.
type Table struct {
	Name     string      `yaml:"name"`
	Metric   string      `yaml:"metric"`   // name in package record, or CPUClient or CPUServer
	Unit     string      `yaml:"unit"`     // as published
	Relative bool        `yaml:"relative"` // values are percent above (or, negative, below) the baseline, which is not in the table itself
	Baseline string      `yaml:"baseline"` // the network that the others are compared with: native, or the first one
	Axis     string      `yaml:"axis"`     // what the columns vary, for display
	Tool     string      `yaml:"tool"`     // tool that measured it, by the name of nettoll's driver; in files none means the first of the source
	Workload string      `yaml:"workload"` // name of the corresponding workload in package record
	Streams  int         `yaml:"streams"`  // flows of each client
	Columns  []Place     `yaml:"-"`        // the places where every network was measured
	Cells    []Published `yaml:"-"`        // network by network, in the order of columns
}

// Place is the position of a figure in a matrix. Zero means not given.
type Place struct {
	Label     string `yaml:"label"` // of its column, as published, for example 4x1
	Hosts     int    `yaml:"hosts"`
	Family    int    `yaml:"family"`
	Servers   int    `yaml:"servers"`
	Clients   int    `yaml:"clients"`   // containers with clients
	Processes int    `yaml:"processes"` // clients in each of them
	Underlay  string `yaml:"underlay"`  // name of an instance, or of the hosts' location
	Like      string `yaml:"like"`      // underlay to compare with if a run has none of this name, "" for an unshaped one; nettoll's choice, not the source's
}

// Published is one cell of a table.
type Published struct {
	Network string // as named by the source
	As      string // nettoll's corresponding network; "" if there is none yet; "a|b" as in Network
	Place
	Value   float64 // as published, in the table's unit; meaningless if Missing is set
	Missing string  // why there is no number, with the text in its place; "" if there is one
}

// Given reports whether the source gives a number.
func (p Published) Given() bool { return p.Missing == "" }

// In reports whether p lies within the given place, whose unset fields match anything.
func (p Place) In(where Place) bool {
	same := func(have, want int) bool { return want == 0 || have == want }
	return (where.Label == "" || p.Label == where.Label) && same(p.Hosts, where.Hosts) && same(p.Family, where.Family) && same(p.Servers, where.Servers) &&
		same(p.Clients, where.Clients) && same(p.Processes, where.Processes) &&
		(where.Underlay == "" || p.Underlay == where.Underlay)
}

// Cell finds the figure of a network in a column.
func (t Table) Cell(network, label string) (Published, bool) {
	return record.First(t.Cells, func(p Published) bool { return p.Network == network && p.Label == label })
}

// Networks returns the networks of the table in its order.
func (t Table) Networks() []string {
	return record.Distinct(t.Cells, func(p Published) string { return p.Network })
}

// RatioIn returns the value over that of the table's baseline at the same place: 0.8
// if it is 20 % less. There is none if either is not given, or the baseline is zero.
func (p Published) RatioIn(t Table) (ratio float64, ok bool) {
	if !p.Given() {
		return 0, false
	}
	if t.Relative {
		return 1 + p.Value/100, true
	}
	base, found := t.Cell(t.Baseline, p.Label)
	if !found || !base.Given() || base.Value == 0 {
		return 0, false
	}
	return p.Value / base.Value, true
}
