package record_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"nettoll/record"
)

// filled returns a value in which every field, at any depth, differs
// from zero and from the others, so that a lost field is noticed.
func filled[T any](t *testing.T, seed int) T {
	t.Helper()
	var v T
	n := 1000 * seed
	fill(t, reflect.ValueOf(&v).Elem(), &n)
	return v
}

func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, *n, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d with \"quotes\", <tags>\nand lines", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 1.0/3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, n)
			fill(t, value, n)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("no way to fill a %s", v.Type())
	}
}

// filledTrial returns a trial that may be written.
func filledTrial(t *testing.T, round int) record.Trial {
	t.Helper()
	tr := filled[record.Trial](t, round)
	tr.Type, tr.Status, tr.Round = record.TypeTrial, record.OK, round
	tr.Cell.Family, tr.Cell.Twin = 6, 2
	return tr
}

func filledRun(t *testing.T) record.Run {
	t.Helper()
	run := filled[record.Run](t, 0)
	run.Type, run.SchemaVersion = record.TypeRun, record.SchemaVersion
	run.Settings.Precision, run.Settings.Confidence, run.Settings.EqualWithin = 0.25, 0.75, 0.5
	for i := range run.Cells {
		run.Cells[i].Family, run.Cells[i].Twin = 4, 1
	}
	return run
}

// small is a cell with the least that check requires.
var small = record.Cell{Network: "bridge", Family: 4, Tool: "engine", Workload: record.TCPRR}
