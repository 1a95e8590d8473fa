package plot

import (
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func histogram(t *testing.T, n int) *hdrhistogram.Histogram {
	t.Helper()
	h := hdrhistogram.New(1, 1e9, 3)
	for i := range n {
		if err := h.RecordValue(int64(20_000 + i)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestCharts(t *testing.T) {
	for name, draw := range map[string]func() (string, error){
		"bars": func() (string, error) {
			return Bars([]Bar{{Name: "host", Text: "20.1", Value: 20.1, Low: 20, High: 20.2, Native: true},
				{Name: "<b>&", Text: "0", Value: 0, Low: 0, High: 0}, {Name: "bridge", Text: "12", Value: 12, Low: 12, High: 12, Same: true}}, `"<label>"`)
		},
		"one bar of nothing": func() (string, error) { return Bars([]Bar{{Name: "host", Text: "0"}}, "label") },
		"curves": func() (string, error) {
			return Percentiles([]Curve{{Native: true, Histogram: histogram(t, 5000)}, {Histogram: histogram(t, 100)}, {Histogram: nil}}, "label")
		},
	} {
		svg, err := draw()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, _ := draw()
		if svg != again {
			t.Errorf("%s: differs from one time to the next", name)
		}
		if !strings.HasPrefix(svg, `<svg viewBox="0 0 `) || !strings.HasSuffix(svg, "</svg>") {
			t.Errorf("%s: is not one element: %.80s", name, svg)
		}
		for _, bad := range []string{"xmlns", "http", "width=", "Liberation", "#01FE", "NaN", "Inf", "<b>", "<label>"} {
			if strings.Contains(svg, bad) {
				t.Errorf("%s: holds %q", name, bad)
			}
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	if svg, err := Bars(nil, ""); svg != "" || err != nil {
		t.Errorf("no bars: %q, %v", svg, err)
	}
	if svg, err := Percentiles([]Curve{{Histogram: histogram(t, FewestValues-1)}}, ""); svg != "" || err != nil {
		t.Errorf("too few values: %q, %v", svg, err)
	}
}

func TestLooksDiffer(t *testing.T) {
	seen := map[Look]int{{}: -1}
	for i := range 4 * (Lines - 1) {
		look := LookOf(i, false)
		if other, ok := seen[look]; ok {
			t.Errorf("curves %d and %d look the same", other, i)
		}
		seen[look] = i
	}
}
