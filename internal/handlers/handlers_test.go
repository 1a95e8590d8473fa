package handlers

import "testing"

// TestAll checks that every method of every part is present: of two with the same name, one would
// be hidden.
func TestAll(t *testing.T) {
	all, want := All(t.Context()), 1 // the series, which is of all of them
	for i, part := range parts(t.Context()) {
		if len(part) == 0 {
			t.Errorf("part %d has no methods", i)
		}
		want += len(part)
	}
	if len(all) != want {
		t.Errorf("the parts have %d methods, and all are %d", want, len(all))
	}
	for name, handler := range all {
		if handler == nil {
			t.Errorf("%s has no handler", name)
		}
	}
}
