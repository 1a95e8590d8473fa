package plan

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"nettoll/record"
)

// Workload is a workload and its options. In a suite file the name alone will do, and
// options stand beside it, by the names of their dimensions.
type Workload struct {
	// Name of the workload, such as tcp_stream or tcp_rr.
	Name string `yaml:"name"`
	// An option of zero is the tool's default.
	Options record.Options `yaml:"-"`
	// Tools that drive this workload, instead of those of the suite.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
}

// given are the options that are set.
func (w Workload) given() (all []record.Dimension) {
	for _, d := range record.Dimensions(record.Option) {
		if d.IsSet(record.Cell{Options: w.Options}) {
			all = append(all, d)
		}
	}
	return all
}

// keyOf is how suite files name an option.
func keyOf(d record.Dimension) string { return strings.ReplaceAll(d.Name, "-", "_") }

// optionKeys are how suite files name all options.
func optionKeys() (keys []string) {
	for _, d := range record.Dimensions(record.Option) {
		keys = append(keys, keyOf(d))
	}
	return keys
}

// optionOf is the option that suite files name so.
func optionOf(key string) (record.Dimension, bool) {
	d, ok := record.DimensionOf(strings.ReplaceAll(key, "_", "-"))
	return d, ok && d.Part == record.Option && keyOf(d) == key
}

// Put reads an option as a flag has it and puts it into the workload: a size as ParseSize
// reads it, a rate as ParseBitRate does, a whole number, a name, true or false.
func (w *Workload) Put(d record.Dimension, text string) error {
	c := record.Cell{Options: w.Options}
	switch v := d.Field(&c).(type) {
	case *int:
		n, err := parseNumber(text, d.Unit)
		if err != nil {
			return err
		}
		*v = n
	case *string:
		*v = text
	case *bool:
		*v = text == "true"
	}
	w.Options = c.Options
	return nil
}

// parseNumber reads a whole number of a unit.
func parseNumber(text, unit string) (int, error) {
	switch unit {
	case "B":
		n, err := ParseSize(text)
		return int(n), err
	case "bit/s":
		n, err := ParseBitRate(text)
		return int(n), err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number; write digits only", text)
	}
	return n, nil
}

// inUnit writes a number as parseNumber reads it.
func inUnit(n int, unit string) string {
	switch unit {
	case "B":
		return Size(n).String()
	case "bit/s":
		return BitRate(n).String()
	}
	return strconv.Itoa(n)
}

// SetWorkloads gives the suite other workloads than its file does. What errors say
// of them is no longer said of places in the file.
func (s *Suite) SetWorkloads(workloads []Workload) {
	s.Workloads = workloads
	s.at = maps.Clone(s.at)
	maps.DeleteFunc(s.at, func(field, _ string) bool { return strings.HasPrefix(field, "workloads[") })
}

func (s Suite) checkWorkloads() error {
	if len(s.Workloads) == 0 {
		return s.fault("workloads", "nothing is to be driven; name workloads, such as tcp_stream")
	}
	for i, w := range s.Workloads {
		if err := s.checkOptions(fmt.Sprintf("workloads[%d]", i), w); err != nil {
			return err
		}
	}
	if len(s.Tools) == 0 {
		return s.fault("tools", "nothing drives the workloads; name tools, such as engine")
	}
	return nil
}

// checkOptions refuses values that are not possible, and options that the
// workload has no use for: the cell would be recorded as something it was not.
func (s Suite) checkOptions(field string, w Workload) error {
	if !isName(w.Name) {
		return s.fault(field, "%q is not a workload; write a name such as tcp_stream", w.Name)
	}
	c := record.Cell{Options: w.Options}
	for _, d := range record.Dimensions(record.Option) {
		name := field + "." + keyOf(d)
		if n, ok := d.Raw(c); ok && (n < 0 || n > d.Most || n == 0 && !d.Open && s.written(name)) {
			what := "a number"
			if d.Unit == "bit/s" {
				what = d.Unit
			}
			return s.fault(name, "%s is not possible; write %s from 1 to %s, or leave it out", inUnit(n, d.Unit), what, inUnit(d.Most, d.Unit))
		}
	}
	if strings.Trim(w.Options.Congestion, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || len(w.Options.Congestion) > 15 {
		return s.fault(field+".congestion", "%q is not a congestion control; write a name such as cubic", w.Options.Congestion)
	}
	for _, o := range w.given() {
		if !o.Takes(w.Name) {
			return s.fault(field+"."+keyOf(o), "has no effect on %s; leave it out", w.Name)
		}
	}
	return nil
}
