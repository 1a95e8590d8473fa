package program

import (
	"time"

	"nettoll/workload"
)

// WholeSeconds is a duration as programs take it that know no fractions: rounded up,
// at least 1.
func WholeSeconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// CPUs is where the program of the n-th client, or its server, may run. One with a
// single flow gets a CPU of its own, the n-th of the set, as a flow of the engine
// does; one with several gets the set.
func CPUs(set []int, n, flows int) []int {
	if len(set) == 0 || flows > 1 {
		return set
	}
	return set[n%len(set) : n%len(set)+1]
}

// Window is the warm-up and the window of a job in whole seconds, rounded up.
func Window(job workload.Job) (lead, window time.Duration) {
	if job.Warmup > 0 {
		lead = time.Duration(WholeSeconds(job.Warmup)) * time.Second
	}
	return lead, time.Duration(WholeSeconds(job.Duration)) * time.Second
}
