package kube

import "testing"

// TestPodsThatAskForTooMuch checks what is said when the scheduler finds no node for a pod.
func TestPodsThatAskForTooMuch(t *testing.T) {
	const full, tainted = "0/2 nodes are available: 2 Insufficient cpu. ", "0/2 nodes are available: 2 node(s) had untolerated taint(s)."
	const advice = ": give pods fewer (--pod-cpus), measure fewer at once (--turns=false, fewer clients), or name other nodes"
	for _, c := range []struct {
		containers, cpus int
		says, want       string
	}{
		{1, 0, full, full},
		{1, 1, tainted, tainted},
		{1, 1, full, "0/2 nodes are available: 2 Insufficient cpu; it asks for 1 CPU and 1 GiB of memory" + advice},
		{3, 2, full, "0/2 nodes are available: 2 Insufficient cpu; it asks for 6 CPUs and 3 GiB of memory" + advice},
	} {
		p := &Pod{Containers: make([]*Container, c.containers), spec: PodSpec{CPUs: c.cpus}}
		if got := p.tooMuch(c.says); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
