package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload/iperf3"
	"nettoll/workload/qperf"
)

// TestSafeOnAMachineOfTheUsers uses kernels that lack what servers need.
func TestSafeOnAMachineOfTheUsers(t *testing.T) {
	can := func() error { return nil }
	cannot := func() error { return errors.New("the kernel is old") }
	unkept := func() error {
		return &platform.Unsupported{Feature: "a server", Option: "a PID namespace", Remedy: "run as root", Err: errors.New("operation not permitted")}
	}
	for _, c := range []struct {
		network, tool string
		kernel        kernelFacts
		want          string
	}{
		{"docker:native", "iperf3", kernelFacts{can, can}, ""},
		{"docker:native", "qperf", kernelFacts{can, can}, ""},
		{"docker:native", "iperf3", kernelFacts{can, cannot}, ""},
		{"docker:native", "qperf", kernelFacts{can, cannot}, "docker:native with qperf: qperf on a network that others reach"},
		{"docker:host", "nuttcp", kernelFacts{can, cannot}, "docker:host with nuttcp: nuttcp on"},
		{"swarm:host", "netperf", kernelFacts{can, cannot}, "swarm:host with netperf: netserver on"},
		{"docker:bridge", "qperf", kernelFacts{can, cannot}, ""},
		{"docker:published", "qperf", kernelFacts{can, cannot}, ""},
		{"docker:native", "redis-benchmark", kernelFacts{unkept, can}, "docker:native with redis-benchmark: a server: not supported here (needs a PID namespace): operation not permitted; run as root"},
		{"docker:native", "engine", kernelFacts{unkept, can}, ""},
		{"docker:host", "redis-benchmark", kernelFacts{unkept, can}, ""},
		{"bridge", "iperf3", kernelFacts{unkept, can}, "bridge with iperf3: a server"},
	} {
		err := c.kernel.safe([]record.Cell{{Network: c.network, Tool: c.tool}}, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, want %q", c.network, c.tool, err, c.want)
		}
		if usage := (usageError{}); err != nil && !errors.As(err, &usage) {
			t.Errorf("%v is no usage error", err)
		}
	}
	for _, c := range []struct {
		kernel kernelFacts
		want   string
	}{
		{kernelFacts{can, can}, "qperf has no option for where to listen, and is restricted to its clients' address"},
		{kernelFacts{can, cannot}, "not on the network of a Docker engine's machine: qperf on a network that others reach"},
	} {
		if got := c.kernel.held(qperf.Tool.At(nil)); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := c.kernel.held(iperf3.Tool.At(nil)); got != "" {
			t.Errorf("of iperf3 it says %q", got)
		}
	}
}

// TestProgramThatFitsNoImage expects a tool to be refused before anything is built if its program cannot be in a
// container.
func TestProgramThatFitsNoImage(t *testing.T) {
	script := filepath.Join(t.TempDir(), "iperf3")
	iferr.Fatal(t, os.WriteFile(script, []byte("#!/bin/sh\nexec iperf3 \"$@\"\n"), 0o755))
	cells := []record.Cell{{Network: "docker:bridge", Tool: "iperf3"}, {Network: "bridge", Tool: "wrk"}}
	var f engineFlags
	_, err := f.root(ofEngines(cells), program.Paths{"iperf3": script, "wrk": script})
	if usage := (usageError{}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--tool iperf3: it cannot be used in containers: ") || !strings.Contains(err.Error(), "script") {
		t.Error(err)
	}
	// Missing programs are left to the trials, which report how to get them; a tool used only in the lab needs no
	// image.
	if _, err := f.root(ofEngines(cells), program.Paths{"iperf3": script + "-missing", "wrk": script}); err != nil {
		t.Error(err)
	}
}

// TestEveryToolFitsAnImage checks that the programs of all installed tools can run in a container.
func TestEveryToolFitsAnImage(t *testing.T) {
	for _, tool := range tools(nil) {
		if tool.Probe == nil || tool.Probe(t.Context()) != nil {
			continue
		}
		pack, err := packed(tool)
		if err != nil || len(pack.Programs) == 0 {
			t.Errorf("%s: %v, %v", tool.Name, pack, err)
		}
		var f engineFlags
		if _, err := f.root([]record.Cell{{Network: "docker:bridge", Tool: tool.Name}}, nil); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}
