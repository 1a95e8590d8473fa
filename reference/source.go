package reference

// Names of the sources.
const (
	ICC2014        = "icc-2014"
	Overlay2015    = "overlay-2015"
	Cloud2015      = "cloud-2015"
	HostBridge     = "host-bridge"
	SingleNode2017 = "single-node-2017"
)

// Source is one publication.
type Source struct {
	Name        string // as a suite of the same name is called
	Title       string
	Year        int // 0 where the source does not say
	Placement   string
	Setup       []Fact // machine and software, in the order of the source
	Tools       []Tool // the one that gave the tables' figures first
	Networks    []Network
	Tables      []Table
	Conclusions []Conclusion
	Instances   []InstanceType // machines hired, with prices
	Notes       []string       // what is odd or missing in the source
	Charts      []string       // drawn in the source without their numbers
}

// Fact is one line of a setup.
type Fact struct {
	Name string `yaml:"name"`
	Text string `yaml:"text"`
}

// Tool is a program that the source measured with.
type Tool struct {
	Name      string  `yaml:"name"`    // as nettoll calls its driver
	Command   string  `yaml:"command"` // as published; "" where the source does not say
	Role      string  `yaml:"role"`
	Repeats   int     `yaml:"repeats"`   // 0 where the source does not say
	Duration  float64 `yaml:"duration"`  // seconds of one measurement, as written or from the command; 0 where the source does not say
	Statistic string  `yaml:"statistic"` // of the repeats, such as mean
}

// Network is one way to connect containers, as the source calls it.
type Network struct {
	Name  string `yaml:"name"`
	As    string `yaml:"as"`    // nettoll's network that it corresponds to; "" where there is none yet; "a|b" is b where a cannot be measured, and stands in for it. A table can say otherwise for a place
	About string `yaml:"about"` // how the source built it, and where nettoll's differs
}

// Real is what platforms of real engines call the network that the lab builds by that
// name, where the names differ; "" where they do not.
func Real(network string) string {
	return map[string]string{"vxlan": "overlay", "sharedns": "container"}[network]
}

// Network finds a network by the source's name for it.
func (s Source) Network(name string) (Network, bool) {
	for _, t := range s.Networks {
		if t.Name == name {
			return t, true
		}
	}
	return Network{}, false
}

// Table finds a table by name.
func (s Source) Table(name string) (Table, bool) {
	for _, t := range s.Tables {
		if t.Name == name {
			return t, true
		}
	}
	return Table{}, false
}
