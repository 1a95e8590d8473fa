package reference

import (
	"slices"
	"sync"
)

// InstanceType is a machine for hire, as advertised in 2015.
type InstanceType struct {
	Provider string  `yaml:"provider"`
	Name     string  `yaml:"name"`
	Price    float64 `yaml:"price"`   // USD an hour
	Network  string  `yaml:"network"` // as advertised
	// Rate is what the lab shapes a link of the instance to, in bit/s: the
	// advertised number. It is 0 where the advertised class is no number ("low to
	// moderate", "moderate", "high", "unknown"); a rate= must then be written.
	Rate int64 `yaml:"rate"`
}

// Instances lists every instance of every source.
func Instances() []InstanceType { return slices.Clone(instances()) }

// instances reads them once: every cell of a suite may ask for one.
var instances = sync.OnceValue(func() []InstanceType {
	var out []InstanceType
	for _, s := range Sources() {
		out = append(out, s.Instances...)
	}
	return out
})

// Instance finds an instance by name.
func Instance(name string) (InstanceType, bool) {
	for _, i := range instances() {
		if i.Name == name {
			return i, true
		}
	}
	return InstanceType{}, false
}
