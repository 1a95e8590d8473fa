package program

import "testing"

// TestReader checks that the first error is kept.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		value string
		take  func(*Reader)
		want  string // empty: it is accepted
	}{
		{"7", func(r *Reader) { r.Number("x"); r.Positive("x"); r.Count("x"); r.Is("x", "7") }, ""},
		{"0", func(r *Reader) { r.Number("x"); r.Count("x") }, ""},
		{"0", func(r *Reader) { r.Positive("x"); r.Number("y") }, "tea reported x=0: nothing was measured"},
		{"7", func(r *Reader) { r.Number("y"); r.Is("x", "8") }, "tea did not print y; version 1 is known to work"},
		{"7", func(r *Reader) { r.Is("x", "8") }, "tea reported x=7, not 8; version 1 is known to work"},
		{"nan", func(r *Reader) { r.Number("x") }, "tea reported x=nan, which is not a number"},
		{"+Inf", func(r *Reader) { r.Number("x") }, "tea reported x=+Inf, which is not a number"},
		{"-1", func(r *Reader) { r.Positive("x") }, "tea reported x=-1, which is not a number"},
		{"100", func(r *Reader) { r.Number("x") }, "tea reported x=100, which is not a number"},
		{"100", func(r *Reader) { r.Count("x") }, "tea reported x=100, which is not a count"},
		{"1.5", func(r *Reader) { r.Count("x") }, "tea reported x=1.5, which is not a count"},
		{"7", func(r *Reader) { r.Fail("is %s", "cold"); r.Fail("is gone") }, "tea is cold"},
	} {
		r := &Reader{Program: "tea", Known: "version 1 is known to work", Most: 100, Fields: map[string]string{"x": c.value}}
		c.take(r)
		if (r.Err == nil) != (c.want == "") || r.Err != nil && r.Err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.value, r.Err, c.want)
		}
	}
}
