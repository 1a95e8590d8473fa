package record

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// What a number may be where its field says nothing else by a tag most or least. A run
// file comes from anywhere: whoever computes with it, or draws it, may take for granted
// that no sum, product or length of time made of its numbers overflows.
const (
	mostFloat    = 1e18
	mostInt      = 1e18
	mostUnsigned = math.MaxInt64
	mostCells    = 20_000 // a suite has half as many, and a self-check both of each
)

// bounded finds the first number of a line that cannot be true. The error names the field
// as the file does.
func bounded(line any) error {
	if wrong := within(reflect.ValueOf(line), bounds{most: math.NaN()}); wrong != nil {
		return wrong
	}
	return nil
}

// impossible is a number that cannot be true. Its place is put together while it is handed
// up, so that nothing is spent on names where all is well.
type impossible struct{ place, text string }

func (e *impossible) Error() string { return strings.TrimPrefix(e.place, ".") + " is " + e.text }

func (e *impossible) in(place string) *impossible {
	if e != nil {
		e.place = place + e.place
	}
	return e
}

// bounds are what a field's tags say that a number in it may be.
type bounds struct {
	least, most float64 // most is NaN where nothing is said, and depends on the kind of number
	any         bool
}

func (b bounds) above(most float64) float64 {
	if math.IsNaN(b.most) {
		return most
	}
	return b.most
}

func within(v reflect.Value, b bounds) *impossible {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return within(v.Elem(), b)
		}
	case reflect.Struct:
		for _, f := range boundedFields(v.Type()) {
			if wrong := within(v.Field(f.index), f.bounds); wrong != nil {
				return wrong.in("." + f.name)
			}
		}
	case reflect.Slice:
		if !numeric(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			if wrong := within(v.Index(i), b); wrong != nil {
				return wrong.in("[" + strconv.Itoa(i) + "]")
			}
		}
	case reflect.Map:
		return withinMap(v, b)
	case reflect.Float64:
		return withinFloat(v.Float(), b)
	case reflect.Int, reflect.Int64:
		most := b.above(mostInt)
		if x := v.Int(); x < int64(b.least) || x > int64(most) {
			return &impossible{text: fmt.Sprintf("%d; it must be from %.0f to %.0f", x, b.least, most)}
		}
	case reflect.Uint64:
		return withinCount(v.Uint(), b)
	}
	return nil
}

// withinMap looks at the kinds of map that trials have.
func withinMap(v reflect.Value, b bounds) *impossible {
	switch m := v.Interface().(type) {
	case map[string]Metric:
		for name, one := range m {
			if Signed(name) {
				one.Value = math.Abs(one.Value)
			}
			if wrong := withinFloat(one.Value, b); wrong != nil {
				return wrong.in("." + name + ".value")
			}
		}
	case map[string]uint64:
		for name, n := range m {
			if wrong := withinCount(n, b); wrong != nil {
				return wrong.in("." + name)
			}
		}
	case map[string]bool, map[string]string:
	default:
		panic("record: no bounds for a " + v.Type().String())
	}
	return nil
}

func withinFloat(x float64, b bounds) *impossible {
	if most := b.above(mostFloat); !(x >= b.least && x <= most) { // NaN is neither
		return &impossible{text: fmt.Sprintf("%v; it must be from %v to %v", x, b.least, most)}
	}
	return nil
}

func withinCount(x uint64, b bounds) *impossible {
	if x > mostUnsigned && !b.any {
		return &impossible{text: fmt.Sprintf("%d; it must be from 0 to %d", x, uint64(mostUnsigned))}
	}
	return nil
}

// numeric reports whether there can be numbers in values of a type.
func numeric(t reflect.Type) bool { return t.Kind() != reflect.String && t.Kind() != reflect.Bool }

// boundedField is a field of a struct in which there can be numbers.
type boundedField struct {
	index int
	name  string // as the file has it
	bounds
}

// boundedTypes has the fields of each type: tags are read once, and not for each of thousands of trials.
var boundedTypes sync.Map

func boundedFields(t reflect.Type) []boundedField {
	if known, ok := boundedTypes.Load(t); ok {
		return known.([]boundedField)
	}
	var fields []boundedField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && numeric(f.Type) { // others are such as those of time.Time
			fields = append(fields, boundedField{i, name, boundsOf(f.Tag)})
		}
	}
	boundedTypes.Store(t, fields)
	return fields
}

// boundsOf are those of a field's tags, where it has any.
func boundsOf(tag reflect.StructTag) bounds {
	b := bounds{most: math.NaN(), any: tag.Get("most") == "any"}
	for name, at := range map[string]*float64{"least": &b.least, "most": &b.most} {
		if text := tag.Get(name); text != "" && text != "any" {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				panic(fmt.Sprintf("record: tag %s of a field: %v", name, err))
			}
			*at = v
		}
	}
	return b
}

// check refuses a cell that says too little to be compared with others.
func (c Cell) check() error {
	for _, f := range []struct{ name, value string }{{"network", c.Network}, {"tool", c.Tool}, {"workload", c.Workload}} {
		if f.value == "" {
			return fmt.Errorf("cell without a %s", f.name)
		}
	}
	if !slices.Contains([]int{4, 6}, c.Family) {
		return fmt.Errorf("cell.family is %d; it must be 4 or 6", c.Family)
	}
	return nil
}
