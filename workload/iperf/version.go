package iperf

import (
	"context"
	"fmt"
	"regexp"

	"nettoll/internal/program"
	"nettoll/platform"
)

// tested is the version of which there are transcripts.
const tested = "2.1.8"

var versionText = regexp.MustCompile(`^iperf version (2\.\d+\.\d+\S*)`)

// old versions print other columns.
var old = regexp.MustCompile(`^2\.0\.`)

// Version implements workload.Tool.
func (tool Tool) Version(ctx context.Context) (string, error) {
	path, err := tool.paths.Find(Name, Name)
	if err != nil {
		return "", err
	}
	said, err := program.Say(ctx, path, "--version")
	if err != nil {
		return "", err
	}
	m := versionText.FindStringSubmatch(said)
	if m == nil {
		return "", unknown(fmt.Errorf("%s is no iperf 2: it says %.60q of its version", path, said))
	}
	if old.MatchString(m[1]) {
		return "", unknown(fmt.Errorf("%s is version %s", path, m[1]))
	}
	return m[1], nil
}

func unknown(seen error) error {
	return &platform.Unsupported{
		Feature: Name, Option: "iperf 2.1 or later",
		Remedy: "apt install iperf, or --tool-path iperf=FILE; tested with " + tested, Err: seen,
	}
}

// Probe implements workload.Prober.
func (tool Tool) Probe(ctx context.Context) error {
	_, err := tool.Version(ctx)
	return err
}
