package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/analysis"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func write(t *testing.T, format string, res analysis.Result, o Options) string {
	t.Helper()
	f, ok := ByName(format)
	if !ok {
		t.Fatalf("no format %q", format)
	}
	var b bytes.Buffer
	if err := f.Write(&b, res, o); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update accepts it:\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	res, o := specimenResult()
	for _, f := range Formats() {
		t.Run(f.Name, func(t *testing.T) { golden(t, "specimen."+f.Name, write(t, f.Name, res, o)) })
	}
}

func TestGoldenWidths(t *testing.T) {
	res, o := specimenResult()
	for _, width := range []int{40, 60, 80, 100, 120, 160} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			o.Width = width
			golden(t, "specimen-"+strconv.Itoa(width)+".text", write(t, "text", res, o))
		})
	}
	o.Width, o.Color = 120, true
	golden(t, "specimen-color.text", write(t, "text", res, o))
}
