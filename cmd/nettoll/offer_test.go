package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nettoll/record"
)

// TestDefaultRunBesideAnEngine holds that a run which names no network touches no engine, and says
// how the networks of one that answers are measured.
func TestDefaultRunBesideAnEngine(t *testing.T) {
	e := startTheirs(t)
	e.furnish(t)
	const offer = "A Docker engine answers here; this run left it alone."
	for _, c := range []struct {
		args  []string
		wants bool
	}{
		{nil, true},
		{[]string{"host", "veth", "--hosts", "1"}, false},
		{[]string{"--format", "json"}, false},
	} {
		args := append([]string{"nettoll", "run"}, c.args...)
		args = append(args, "--workloads", "tcp_rr", "-t", "20ms", "--min-rounds", "1", "--max-rounds", "1")
		p := e.inside(t, t.TempDir(), args...)
		if status := p.status(t); status != exitOK || strings.Contains(p.out.String(), offer) != c.wants {
			t.Errorf("%v: exit status %d; it said:\n%s", c.args, status, p.said())
		}
	}
	e.untouched(t)
}

// TestRunDocker holds that the name of the platform measures what it is mostly used with, on as
// many hosts as there are engines.
func TestRunDocker(t *testing.T) {
	e := startTheirs(t)
	dir := t.TempDir()
	p := e.inside(t, dir, "nettoll", "run", "docker", "--workloads", "tcp_rr", "-t", "20ms", "--min-rounds", "1", "--max-rounds", "1", "-o", "x.ndjson")
	if status := p.status(t); status != exitOK {
		t.Fatalf("exit status %d; it said:\n%s", status, p.said())
	}
	file, err := record.ReadFile(filepath.Join(dir, "x.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var networks []string
	for _, c := range file.Run.Cells {
		networks = append(networks, fmt.Sprintf("%s on %d", c.Network, c.Hosts))
	}
	if want := []string{"docker:native on 1", "docker:bridge on 1", "docker:published on 1"}; !slices.Equal(networks, want) {
		t.Errorf("it measured %q, want %q", networks, want)
	}
	if s := file.Run.Skips; len(s) != 1 || s[0].Network != "docker:published on 2 hosts" {
		t.Errorf("it left out %+v", s)
	}
}
