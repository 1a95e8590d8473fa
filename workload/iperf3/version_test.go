package iperf3

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nettoll/internal/program"
	"nettoll/platform"
)

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"iperf 3.12 (cJSON 1.7.15)":                     "3.12",
		"iperf 3.18 (cJSON 1.7.15)":                     "3.18",
		"iperf 3.6 (cJSON 1.5.2)":                       "", // knows no --bidir
		"iperf version 2.1.8 (12 August 2022) pthreads": "",
		"lorem ipsum":                                   "",
	} {
		path := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+said+"' >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := New(program.Paths{Name: path}).Version(t.Context())
		if got != want || (want == "") != errors.Is(err, platform.ErrUnsupported) {
			t.Errorf("%q: version %q, %v", said, got, err)
		}
	}
}
