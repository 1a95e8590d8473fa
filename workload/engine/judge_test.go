package engine

import (
	"fmt"
	"testing"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name     string
		workload string
		streams  int
		window   time.Duration
		silent   func(i int) bool
		want     string // error or code of a warning
	}{
		{"all received", record.TCPStream, 2, time.Second, func(int) bool { return false }, ""},
		{"one did not", record.TCPStream, 2, time.Second, func(i int) bool { return i == 1 }, "server s: flow 1 of client c received nothing in the window"},
		{"one of many", record.TCPStream, 256, time.Second, func(i int) bool { return i == 255 }, workload.WarnStarved},
		{"one of many that had the time", record.TCPStream, 256, time.Minute, func(i int) bool { return i == 7 }, "server s: flow 7 of client c received nothing in the window"},
		{"all of many", record.TCPStream, 256, time.Second, func(int) bool { return true }, "server s: flow 0 of client c received nothing in the window"},
		{"the only probe", record.LatencyUnderLoad, 256, time.Second, func(i int) bool { return i == 0 }, "client c: flow 0 of client c received nothing in the window"},
		{"some of the load", record.LatencyUnderLoad, 256, time.Second, func(i int) bool { return i > 200 }, workload.WarnStarved},
	} {
		tr, err := plan(workload.Job{
			Workload: c.workload, Options: record.Options{Streams: c.streams}, Warmup: time.Second, Duration: c.window,
			CPUs:  workload.CPUs{Client: []int{0}, Server: []int{0}},
			Pairs: []workload.Pair{{Client: newEndpoint("c"), Server: newEndpoint("s"), Addr: loopback4, Listen: loopback4, Port: 5001}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range tr.parties() {
			p.window.Units = make([]int64, len(p.flows))
		}
		for i, f := range tr.flows {
			if p, at := f.end(tr.kinds[f.kind].measured); !c.silent(i) {
				p.window.Units[at] = 1
			}
		}
		warnings, err := tr.judge()
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case len(warnings) > 0:
			got = warnings[0].Code
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q (%s)", c.name, got, c.want, fmt.Sprint(warnings))
		}
	}
}
