package iperf3

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"nettoll/internal/program"
	"nettoll/platform"
)

// tested are the versions of which there are transcripts.
const tested = "3.12 and 3.18"

// Minor versions of iperf 3.
const (
	firstBidir    = 7  // has --bidir
	firstThreaded = 16 // has a thread for each stream
)

var versionText = regexp.MustCompile(`^iperf (3)\.(\d+)`)

// minor is the second number of a version such as "iperf 3.12 (cJSON 1.7.15)".
func minor(text string) (int, bool) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[2])
	return n, err == nil
}

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
	n, ok := minor(said)
	if !ok {
		return "", unknown(fmt.Errorf("%s is no iperf3: it says %.60q of its version", path, said))
	}
	if n < firstBidir {
		return "", unknown(fmt.Errorf("%s is version 3.%d", path, n))
	}
	return fmt.Sprintf("3.%d", n), nil
}

func unknown(seen error) error {
	return &platform.Unsupported{
		Feature: Name, Option: fmt.Sprintf("iperf3 3.%d or later", firstBidir),
		Remedy: "apt install iperf3, or --tool-path iperf3=FILE; tested with " + tested, Err: seen,
	}
}

// Probe implements workload.Prober.
func (tool Tool) Probe(ctx context.Context) error {
	_, err := tool.Version(ctx)
	return err
}
