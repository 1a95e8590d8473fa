package plan

import (
	"errors"
	"fmt"
	"slices"

	"nettoll/record"
)

// Limits of conditions.
const (
	defaultMTU = 1500
	minMTU     = 1280 // hosts have IPv6 addresses, RFC 8200
	maxMTU     = 65535
	maxRules   = 100_000
)

// conditions are every shape of the underlay with every MTU, number of rules and
// of neighbours, and with offloads on and off. What is left out is told by the
// skips. They are cells that say nothing else.
func (s Suite) conditions(known Known) ([]record.Cell, []Skip, error) {
	underlays, skips, err := s.underlays(known)
	if err != nil {
		return nil, nil, err
	}
	n := 1
	for _, length := range []int{len(underlays), len(s.MTU), len(s.Rules), len(s.Neighbours), len(s.Offload)} {
		if n *= max(length, 1); n > MaxCells {
			return nil, nil, s.fault("underlay",
				"there are more than %d ways to combine underlays, MTUs, rules, neighbours and offloads; write fewer", MaxCells)
		}
	}
	all := crossed([]record.Cell{{Normalize: s.Normalize}}, underlays, func(c *record.Cell, shape string) { c.Underlay = shape })
	all = crossed(all, orZero(s.MTU), func(c *record.Cell, mtu int) {
		if mtu != defaultMTU {
			c.MTU = mtu
		}
	})
	all = crossed(all, orZero(s.Rules), func(c *record.Cell, n int) { c.Rules = n })
	all = crossed(all, orZero(s.Neighbours), func(c *record.Cell, n int) { c.Neighbours = n })
	all = crossed(all, orZero(s.Offload), func(c *record.Cell, offload string) {
		if offload == record.OffloadOff {
			c.Offload = offload
		}
	})
	return once(all), skips, nil
}

// crossed is each of the cells with each of the values.
func crossed[T any](cells []record.Cell, values []T, put func(*record.Cell, T)) (all []record.Cell) {
	for _, cell := range cells {
		for _, v := range values {
			c := cell
			put(&c, v)
			all = append(all, c)
		}
	}
	return all
}

// orZero is the values of a key, and the zero value where it was left out.
func orZero[T any](values []T) []T {
	if len(values) == 0 {
		return make([]T, 1)
	}
	return values
}

// underlays are the shapes as cells carry them. An instance whose rate nobody
// knows is left out, unless there is nothing else.
func (s Suite) underlays(known Known) (texts []string, skips []Skip, err error) {
	for i, u := range orZero(s.Underlay) {
		shape, err := known.Shape(u)
		var rateless *unknownRate
		switch {
		case errors.As(err, &rateless) && len(s.Underlay) > 1:
			skips = append(skips, Skip{Underlay: shape.Instance, Reason: rateless.Error()})
			continue
		case err != nil:
			return nil, nil, s.fault(s.item("underlay", i, len(s.Underlay)), "%v", err)
		}
		texts = append(texts, shape.String())
	}
	if len(texts) == 0 {
		return nil, nil, s.fault("underlay", "%s", skips[0].Reason)
	}
	return texts, skips, nil
}

func (s Suite) checkConditions() error {
	for _, f := range []struct {
		name       string
		values     []int
		what       string
		least, max int
	}{
		{"mtu", s.MTU, "bytes are not a possible MTU", minMTU, maxMTU},
		{"rules", s.Rules, "rules are not possible", 0, maxRules},
		{"neighbours", s.Neighbours, "neighbours are not possible", 0, MaxContainers},
	} {
		if err := s.eachOutside(f.name, f.values, f.least, f.max, f.what); err != nil {
			return err
		}
	}
	offload, _ := record.DimensionOf("offload")
	for i, o := range s.Offload {
		if !slices.Contains(offload.Values, o) {
			return s.fault(s.item("offload", i, len(s.Offload)), "%q is not possible; write on or off", o)
		}
	}
	for i, u := range s.Underlay {
		if err := u.check(); err != nil {
			return s.fault(s.item("underlay", i, len(s.Underlay)), "%v", err)
		}
	}
	return nil
}

// item names the place of a value: the field, or its place in the list where it
// was written as one.
func (s Suite) item(field string, i, length int) string {
	if at := fmt.Sprintf("%s[%d]", field, i); length > 1 || s.written(at) {
		return at
	}
	return field
}
