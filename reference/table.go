package reference

// Metrics of tables that no trial carries under a name: CPU seconds a second of
// the clients' machine and of the servers', where a source gives them.
const (
	CPUClient = "cpu_client"
	CPUServer = "cpu_server"
)

// Table is one table of a source: every network at every place.
type Table struct {
	Name     string
	Metric   string // record's name of it, or CPUClient or CPUServer
	Unit     string // as published
	Relative bool   // values are percent above (or, negative, below) the baseline, which is not in the table itself
	Baseline string // the network that the others are compared with: native, or the first one
	Axis     string // what the columns vary, for people
	Tool     string // that measured it, as nettoll calls its driver
	Workload string // record's name of what corresponds to it
	Streams  int    // flows of each client
	Columns  []Column
	Cells    []Published // network by network, in the order of columns
}

// Column is a place where every network was measured.
type Column struct {
	Place
}

// Place says where in a matrix a figure stands. Zero is not said.
type Place struct {
	Label     string `yaml:"label"` // of its column, as published, such as 4x1
	Hosts     int    `yaml:"hosts"`
	Family    int    `yaml:"family"`
	Servers   int    `yaml:"servers"`
	Clients   int    `yaml:"clients"`   // containers with clients
	Processes int    `yaml:"processes"` // clients in each of them
	Underlay  string `yaml:"underlay"`  // name of an instance, or of where the hosts were
	Like      string `yaml:"like"`      // underlay that stands for it where a run names none so, "" is unshaped; nettoll's choice and not the source's
}

// Published is one cell of a table.
type Published struct {
	Network string // as the source calls it
	As      string // nettoll's network that it corresponds to; "" where there is none yet; "a|b" as in Network
	Place
	Metric  string
	Value   float64 // as published, in Unit; meaningless where Missing is set
	Unit    string
	Missing string // why there is no number, with the text that stands in its place; "" where there is one
}

// Given reports whether the source gives a number.
func (p Published) Given() bool { return p.Missing == "" }

// In reports whether p lies within the place, of which what is not said does
// not matter.
func (p Place) In(where Place) bool {
	same := func(have, want int) bool { return want == 0 || have == want }
	return (where.Label == "" || p.Label == where.Label) && same(p.Hosts, where.Hosts) && same(p.Family, where.Family) && same(p.Servers, where.Servers) &&
		same(p.Clients, where.Clients) && same(p.Processes, where.Processes) &&
		(where.Underlay == "" || p.Underlay == where.Underlay)
}

// Cell finds the figure of a network in a column.
func (t Table) Cell(network, label string) (Published, bool) {
	for _, p := range t.Cells {
		if p.Network == network && p.Label == label {
			return p, true
		}
	}
	return Published{}, false
}

// Networks are the networks of the table in its order.
func (t Table) Networks() []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range t.Cells {
		if !seen[p.Network] {
			seen[p.Network] = true
			out = append(out, p.Network)
		}
	}
	return out
}
