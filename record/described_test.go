package record_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// TestDescribed checks that the description of the run file names every key, and every metric with its unit.
func TestDescribed(t *testing.T) {
	b, err := os.ReadFile("../docs/format.md")
	iferr.Fatal(t, err)
	text := string(b)
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(of.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[of] || of == reflect.TypeFor[time.Time]() {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && !strings.Contains(text, "`"+key+"`") {
				t.Errorf("docs/format.md does not describe %s, a key of %s", key, of)
			}
			walk(f.Type)
		}
	}
	for _, line := range []any{record.Run{}, record.Trial{}, record.Resume{}, record.End{}} {
		walk(reflect.TypeOf(line))
	}
	if len(seen) < 20 {
		t.Errorf("%d types were found", len(seen))
	}
	for _, k := range record.Kinds() {
		better := map[record.Direction]string{record.HigherIsBetter: "more", record.LowerIsBetter: "less"}[k.Better]
		described := false
		for row := range strings.Lines(text) {
			named := strings.Contains(row, "`"+k.Name+"`") || strings.Contains(row, "`"+strings.TrimPrefix(k.Name, "latency")+"`")
			described = described || named && strings.Contains(row, "| "+k.Unit+" | "+better+" |")
		}
		if !described {
			t.Errorf("docs/format.md does not describe %s, in %s, of which %s is better", k.Name, k.Unit, better)
		}
	}
}
