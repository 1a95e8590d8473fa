// Package iferr does what tests do most often: they fail if there is an error.
package iferr

import "testing"

// Fatal is t.Fatal(err) if err is not nil.
func Fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Error is t.Error(err) if err is not nil.
func Error(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
