package main

import (
	"strings"
	"testing"

	"nettoll/record"
)

// TestTasks has two networks with two containers each, both of which are measured twice.
func TestTasks(t *testing.T) {
	var cells []record.Cell
	for _, network := range []string{"host", "bridge"} {
		for _, workload := range []string{record.TCPStream, record.TCPRR} {
			cells = append(cells, record.Cell{Network: network, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: workload})
		}
	}
	if alone, together := tasks(cells, 0); alone != ownTasks+2*agentTasks || together != ownTasks+4*agentTasks {
		t.Errorf("%d alone, %d together", alone, together)
	}
	veth := cells[0]
	veth.Network = "veth"
	for most, want := range map[int]int{0: 6, 1: 4, 2: 6} {
		if _, together := tasks(append(cells, veth), most); together != ownTasks+want*agentTasks {
			t.Errorf("%d together at most: %d", most, together)
		}
	}
	if note, err := checkTasks(83, "ulimit -u", cells, record.Settings{Turns: true, Together: 1}); err != nil || !strings.HasSuffix(note, "raise the limit, or give --turns=false") {
		t.Errorf("with --together 1: %q, %v", note, err)
	}
	for _, c := range []struct {
		most    int
		turns   bool
		note    bool
		refused bool
	}{
		{0, true, false, false}, {84, true, false, false}, {83, true, true, false}, {60, true, true, false},
		{60, false, false, false}, {59, false, false, true}, {59, true, false, true},
	} {
		note, err := checkTasks(c.most, "ulimit -u", cells, record.Settings{Turns: c.turns})
		if (note != "") != c.note || (err != nil) != c.refused || err != nil && !strings.HasPrefix(err.Error(), "this process may have 59 processes and threads") {
			t.Errorf("%+v: %q, %v", c, note, err)
		}
	}
}
