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
func bounded(line any) error { return within(reflect.ValueOf(line), "", "") }

func within(v reflect.Value, field string, tag reflect.StructTag) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return within(v.Elem(), field, tag)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "" { // such as those of time.Time
				continue
			}
			if field != "" {
				name = field + "." + name
			}
			if err := within(v.Field(i), name, f.Tag); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if !numeric(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			if err := within(v.Index(i), field+"["+strconv.Itoa(i)+"]", tag); err != nil {
				return err
			}
		}
	case reflect.Map:
		if !numeric(v.Type().Elem()) {
			return nil
		}
		for it := v.MapRange(); it.Next(); {
			value := it.Value()
			if m, ok := value.Interface().(Metric); ok && Signed(it.Key().String()) {
				m.Value = math.Abs(m.Value)
				value = reflect.ValueOf(m)
			}
			if err := within(value, field+"."+it.Key().String(), tag); err != nil {
				return err
			}
		}
	case reflect.Float64:
		least, most := limits(tag, 0, mostFloat)
		if x := v.Float(); !(x >= least && x <= most) { // NaN is neither
			return fmt.Errorf("%s is %v; it must be from %v to %v", field, x, least, most)
		}
	case reflect.Int, reflect.Int64:
		least, most := limits(tag, 0, mostInt)
		if x := v.Int(); x < int64(least) || x > int64(most) {
			return fmt.Errorf("%s is %d; it must be from %.0f to %.0f", field, x, least, most)
		}
	case reflect.Uint64:
		if x := v.Uint(); x > mostUnsigned && tag.Get("most") != "any" {
			return fmt.Errorf("%s is %d; it must be from 0 to %d", field, x, uint64(mostUnsigned))
		}
	}
	return nil
}

// numeric reports whether there can be numbers in values of a type.
func numeric(t reflect.Type) bool { return t.Kind() != reflect.String && t.Kind() != reflect.Bool }

// limits are those of a field's tags, where it has any.
func limits(tag reflect.StructTag, least, most float64) (float64, float64) {
	for _, l := range []struct {
		name string
		at   *float64
	}{{"least", &least}, {"most", &most}} {
		if text := tag.Get(l.name); text != "" {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				panic(fmt.Sprintf("record: tag %s of a field: %v", l.name, err))
			}
			*l.at = v
		}
	}
	return least, most
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

// What a histogram of latencies may be. The engine's go up to an hour with 3 digits;
// whoever reads one makes room for all that its geometry says, before anything of it is
// known to be used.
const (
	mostDigits  = 3
	mostLatency = 1e15 // ns
)

// check refuses a histogram that takes more room than any that was measured. What cannot
// be read at all is left to those who read it: the other figures of its trial are as good
// as they are.
func (h *Histogram) check() error {
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

// geometry reads the header of HdrHistogram's compressed V2 encoding: behind a cookie and
// a length of 4 bytes each, zlib's stream of cookie, length, offset and digits, of 4 bytes
// each, and the lowest and highest value, of 8 bytes each.
func (h *Histogram) geometry() (digits int32, highest int64, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(h.Encoded)
	if err != nil || len(raw) < 8 {
		return 0, 0, false
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		return 0, 0, false
	}
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
