package main

import (
	"strings"
	"testing"
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
