package iperf

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
		"iperf version 2.1.8 (12 August 2022) pthreads":   "2.1.8",
		"iperf version 2.2.1-rc (4 Nov 2024) pthreads":    "2.2.1-rc",
		"iperf version 2.0.14a (2 October 2020) pthreads": "",
		"iperf 3.12 (cJSON 1.7.15)":                       "",
		"lorem ipsum":                                     "",
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
