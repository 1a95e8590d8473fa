package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Limits of numbers whose fields have no tag most. A run file may come from anywhere. Within these limits, no sum,
// product or duration overflows that other code computes from its numbers, and none is too large to be drawn.
const (
	mostFloat    = 1e18
	mostInt      = 1e18
	mostUnsigned = math.MaxInt64
	mostCells    = 20_000 // a suite has at most half as many, and a self-check has two of each
)

// bounded finds the first number of a line that cannot be true. The error names the field as in the file.
func bounded(line any) error {
	if wrong := within(reflect.ValueOf(line), bounds{most: math.NaN()}); wrong != nil {
		return wrong
	}
	return nil
}

// impossible is a number that cannot be true. Its place is put together while the
// error is passed up, so that names cost nothing as long as all numbers are valid.
type impossible struct{ place, text string }

func (e *impossible) Error() string { return strings.TrimPrefix(e.place, ".") + " is " + e.text }

func (e *impossible) in(place string) *impossible {
	if e != nil {
		e.place = place + e.place
	}
	return e
}

// bounds are the limits of a number from the tags of its field.
type bounds struct {
	least, most float64 // most is NaN if no tag sets it; it then depends on the kind of number
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
				return wrong.in(f.place)
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

// withinMap checks the kinds of map that trials have.
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
	if most := b.above(mostFloat); !(x >= b.least && x <= most) { // NaN fails both
		return &impossible{text: fmt.Sprintf("%v; it must be from %v to %v", x, b.least, most)}
	}
	return nil
}

func withinCount(x uint64, b bounds) *impossible {
	if x > mostUnsigned && math.IsNaN(b.most) {
		return &impossible{text: fmt.Sprintf("%d; it must be from 0 to %d", x, uint64(mostUnsigned))}
	}
	return nil
}

// numeric reports whether values of a type can contain numbers.
func numeric(t reflect.Type) bool { return t.Kind() != reflect.String && t.Kind() != reflect.Bool }

// boundedField is a field of a struct that can contain numbers.
type boundedField struct {
	index int
	place string // a point and its name in the file; "" for an embedded struct, whose fields are the outer one's
	bounds
}

// boundedTypes holds the fields of each type: tags are read once instead of for each of thousands of trials.
var boundedTypes sync.Map

func boundedFields(t reflect.Type) []boundedField {
	if known, ok := boundedTypes.Load(t); ok {
		return known.([]boundedField)
	}
	var fields []boundedField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && (f.Anonymous || name != "") && numeric(f.Type) { // fields of time.Time, for example, are neither exported nor named
			fields = append(fields, boundedField{i, strings.TrimSuffix("."+name, "."), boundsOf(f.Tag)})
		}
	}
	boundedTypes.Store(t, fields)
	return fields
}

// boundsOf returns the bounds in a field's tags.
func boundsOf(tag reflect.StructTag) bounds {
	b := bounds{most: math.NaN()}
	for name, at := range map[string]*float64{"least": &b.least, "most": &b.most} {
		if text := tag.Get(name); text != "" {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				panic(fmt.Sprintf("record: tag %s of a field: %v", name, err))
			}
			*at = v
		}
	}
	return b
}

// check rejects a cell without the fields needed to compare it with others.
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

// Limits of a histogram of latencies. The engine's go up to an hour with 3 digits; a reader
// allocates memory for the whole geometry in the header, before any of it is known to be used.
const (
	mostDigits  = 3
	mostLatency = 1e15 // ns
)

// check rejects a histogram that needs more memory than any that was measured. A histogram that
// cannot be read at all is left to its readers: the other figures of its trial remain valid.
func (h *Histogram) check() error {
	if h == nil {
		return nil
	}
	digits, highest, ok := h.geometry()
	switch {
	case !ok:
		return nil
	case digits > mostDigits:
		return fmt.Errorf("latency.hdr_v2 has %d significant digits; at most %d are possible", digits, mostDigits)
	case highest > mostLatency:
		return fmt.Errorf("latency.hdr_v2 goes up to %d ns; at most %d are possible", highest, int64(mostLatency))
	}
	return nil
}

// inflaters are reused, since each allocates 40 kB to read a header of 40 bytes.
var inflaters sync.Pool

// geometry reads the header of HdrHistogram's compressed V2 encoding: a cookie and a length of 4
// bytes each, and then a zlib stream. That begins with cookie, length, offset and digits, of 4 bytes
// each, and the lowest and highest value, of 8 bytes each.
func (h *Histogram) geometry() (digits int32, highest int64, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(h.Encoded)
	if err != nil || len(raw) < 8 {
		return 0, 0, false
	}
	z, ok := inflaters.Get().(io.ReadCloser)
	if ok {
		err = z.(zlib.Resetter).Reset(bytes.NewReader(raw[8:]), nil)
	} else {
		z, err = zlib.NewReader(bytes.NewReader(raw[8:]))
	}
	if err != nil {
		return 0, 0, false
	}
	defer inflaters.Put(z)
	var header struct {
		_       [3]int32
		Digits  int32
		_       int64
		Highest int64
	}
	if err := binary.Read(io.LimitReader(z, 64), binary.BigEndian, &header); err != nil {
		return 0, 0, false
	}
	return header.Digits, header.Highest, true
}
