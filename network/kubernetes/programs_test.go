package kubernetes

import (
	"fmt"
	"testing"
	"time"

	"nettoll/sampler"
)

// TestProgramsThatGreetingsRunThrough checks which programs are named, by how often they ran without and with greetings.
func TestProgramsThatGreetingsRunThrough(t *testing.T) {
	began := time.Now()
	// The greetings take a share of the time without.
	counted := func(before, idle, after uint64, share float64) runs {
		list := func(n uint64, at float64) listed {
			all := []sampler.Program{{ID: 7, Name: "cil_from_contai", Type: "sched_cls", Runs: n}, {ID: 8, Type: "cgroup_skb"}}
			return listed{all, began.Add(time.Duration(at * float64(time.Second)))}
		}
		return runs{list(before, 0), list(idle, 1), list(after, 1+share)}
	}
	unseen := func(at time.Duration) listed { return listed{at: began.Add(at)} }
	const named, none = "cil_from_contai (sched_cls)", "none"
	for _, c := range []struct {
		all  []runs
		want string
	}{
		{[]runs{counted(0, 0, 50, 1), counted(50, 50, 150, 1)}, named},
		{[]runs{counted(0, 0, 49, 1), counted(50, 50, 150, 1)}, none}, // not in each watch
		{[]runs{counted(0, 0, 50, 1), counted(50, 50, 99, 1)}, none},
		{[]runs{counted(1000, 1060, 1160, 0.5)}, named},
		{[]runs{counted(1000, 1060, 1160, 1)}, none},                                  // others had it run 60 times
		{[]runs{{unseen(0), unseen(time.Second), counted(0, 0, 50, 1).after}}, named}, // it was loaded meanwhile
	} {
		if got := programsIn(c.all); got != c.want {
			t.Errorf("%+v: %q, want %q", c.all, got, c.want)
		}
	}
	many := runs{before: unseen(0), idle: unseen(time.Second)}
	for i := range 20 {
		many.after.all = append(many.after.all, sampler.Program{ID: uint32(i), Name: fmt.Sprint("p", i%15), Type: "xdp", Runs: 100})
	}
	many.after.all = append(many.after.all, sampler.Program{ID: 20, Type: "xdp", Runs: 100})
	if got, want := programsIn([]runs{many}), "2 of p0 (xdp), 2 of p1 (xdp), p10 (xdp), p11 (xdp), p12 (xdp), p13 (xdp), p14 (xdp), 2 of p2 (xdp), 2 of p3 (xdp), 2 of p4 (xdp), p5 (xdp), p6 (xdp), and 4 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
