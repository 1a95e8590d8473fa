// Package reference holds figures published elsewhere: the results, setups and conclusions of earlier
// measurements of container networks, and the machines that were rented for them. They are facts for
// comparison with measurements, never thresholds. The package reads only its own embedded files.
package reference

import (
	"embed"
	"slices"
	"sync"

	"nettoll/record"
)

// Names of the sources.
const (
	ICC2014        = "icc-2014"
	Overlay2015    = "overlay-2015"
	Cloud2015      = "cloud-2015"
	HostBridge     = "host-bridge"
	SingleNode2017 = "single-node-2017"
)

// Source is one publication: the content of a file of data/, with decoded tables.
type Source struct {
	Name        string         `yaml:"-"` // the same as that of its suite
	Title       string         `yaml:"title"`
	Year        int            `yaml:"year"` // 0 if the source does not give it
	Placement   string         `yaml:"placement"`
	Setup       []Fact         `yaml:"setup"` // machine and software, in the order of the source
	Tools       []Tool         `yaml:"tools"` // the tool that gave the tables' figures first
	Networks    []Network      `yaml:"networks"`
	Tables      []Table        `yaml:"-"`
	Conclusions []Conclusion   `yaml:"conclusions"`
	Instances   []InstanceType `yaml:"instances"` // rented machines, with prices
	Notes       []string       `yaml:"notes"`     // oddities and gaps in the source
	Charts      []string       `yaml:"charts"`    // charts in the source without their numbers
}

// Fact is one line of a setup.
type Fact struct {
	Name string `yaml:"name"`
	Text string `yaml:"text"`
}

// Tool is a program that the source measured with.
type Tool struct {
	Name      string  `yaml:"name"`    // name of nettoll's driver for it
	Command   string  `yaml:"command"` // as published; "" if the source does not give it
	Role      string  `yaml:"role"`
	Repeats   int     `yaml:"repeats"`   // 0 if the source does not give it
	Duration  float64 `yaml:"duration"`  // seconds of one measurement, as written or from the command; 0 if the source does not give it
	Statistic string  `yaml:"statistic"` // of the repeats, for example mean
}

// Network is one way to connect containers, as named by the source.
type Network struct {
	Name  string `yaml:"name"`
	As    string `yaml:"as"`    // nettoll's corresponding network; "" if there is none yet; "a|b" means a, or b in its place if a cannot be measured. A table can override it for a place
	About string `yaml:"about"` // how the source built it, and how nettoll's differs
}

// Real returns the name that platforms of real engines use for the lab's
// network of the given name, if the names differ, and otherwise "".
func Real(network string) string {
	return map[string]string{"vxlan": "overlay", "sharedns": "container"}[network]
}

// Network finds a network by the source's name for it.
func (s Source) Network(name string) (Network, bool) {
	return record.First(s.Networks, func(n Network) bool { return n.Name == name })
}

// Table finds a table by name.
func (s Source) Table(name string) (Table, bool) {
	return record.First(s.Tables, func(t Table) bool { return t.Name == name })
}

//go:embed data/*.yaml
var data embed.FS

// Names lists the sources' names, in the project's order.
func Names() []string {
	return []string{ICC2014, Overlay2015, Cloud2015, HostBridge, SingleNode2017}
}

// Sources lists every source. A source that cannot be read is left out: a test checks that all can be.
func Sources() []Source { return record.Found(Names(), ByName) }

// ByName finds a source.
func ByName(name string) (Source, bool) {
	s, err := load(name)
	return s, err == nil
}

func load(name string) (Source, error) {
	text, err := data.ReadFile("data/" + name + ".yaml")
	if err != nil {
		return Source{}, err
	}
	return decode(name, text)
}

// InstanceType is a rentable machine, as advertised in 2015.
type InstanceType struct {
	Provider string  `yaml:"provider"`
	Name     string  `yaml:"name"`
	Price    float64 `yaml:"price"`   // USD per hour
	Network  string  `yaml:"network"` // as advertised
	// Rate is the rate to which the lab shapes a link of the instance, in bit/s:
	// the advertised number. It is 0 if the advertised class is not a number ("low
	// to moderate", "moderate", "high", "unknown"); users must then give a rate=.
	Rate int64 `yaml:"rate"`
}

// Instances lists every instance of every source.
func Instances() []InstanceType { return slices.Clone(instances()) }

// instances reads them once: every cell of a suite may need one.
var instances = sync.OnceValue(func() []InstanceType {
	return slices.Concat(record.Each(Sources(), func(s Source) []InstanceType { return s.Instances })...)
})

// Instance finds an instance by name.
func Instance(name string) (InstanceType, bool) {
	return record.First(instances(), func(i InstanceType) bool { return i.Name == name })
}
