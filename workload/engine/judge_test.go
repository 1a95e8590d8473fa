package engine

import (
	"fmt"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/workload"
)

func TestJudge(t *testing.T) {
	all := func(int) bool { return true }
	none := func(int) bool { return false }
	const broken = "server s: flow %d of client c received nothing in the window and for 4s after it"
	for _, c := range []struct {
		name         string
		streams      int
		window       time.Duration
		silent, mute func(i int) bool
		want         string // error or code of a warning
	}{
		{"all received", 2, time.Second, none, none, ""},
		{"one was late", 2, time.Second, func(i int) bool { return i == 1 }, none, record.WarnStarved},
		{"all were late", 2, time.Second, all, none, record.WarnStarved},
		{"one never did", 2, time.Second, all, func(i int) bool { return i == 1 }, fmt.Sprintf(broken, 1)},
		{"the only one never did", 1, time.Second, all, all, fmt.Sprintf(broken, 0)},
		{"one of many never did", 256, time.Second, all, func(i int) bool { return i == 255 }, record.WarnStarved},
		{"one of many that had the time", 256, time.Minute, all, func(i int) bool { return i == 7 }, fmt.Sprintf(broken, 7)},
		{"all of many", 256, time.Second, all, all, fmt.Sprintf(broken, 0)},
	} {
		tr, err := plan(workload.Job{
			Workload: record.TCPStream, Options: record.Options{Streams: c.streams}, Warmup: time.Second, Duration: c.window,
			CPUs:  workload.CPUs{Client: []int{0}, Server: []int{0}},
			Pairs: []workload.Pair{{Client: newEndpoint("c"), Server: newEndpoint("s"), Addr: loopback4, Listen: loopback4, Port: 5001}},
		})
		iferr.Fatal(t, err)
		for i, f := range tr.flows {
			p, at := f.end(tr.kinds[f.kind].measured)
			if c.silent(i) {
				p.window.Silent++
			}
			if c.mute(i) {
				p.window.Mute = append(p.window.Mute, at)
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
