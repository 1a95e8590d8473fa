package report

import (
	"io"
	"testing"
)

// No text waits for a chart.
func TestTextDrawsNothing(t *testing.T) {
	res, _ := matrixResult(t, "icc-2014", matrixCells())
	d := newDocument(res)
	charts := 0
	for _, s := range append(d.Groups, d.Sections...) {
		if s.figures != nil {
			charts++
			s.figures = func() []figure {
				t.Errorf("the charts of %q are drawn", s.Title)
				return nil
			}
		}
	}
	if charts == 0 {
		t.Fatal("nothing has charts")
	}
	for _, write := range []func(io.Writer, document, Options) error{writeText, writeMarkdown} {
		if err := write(io.Discard, d, Options{}); err != nil {
			t.Error(err)
		}
	}
}
