package engine

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

var (
	loopback4 = netip.MustParseAddr("127.0.0.1")
	loopback6 = netip.MustParseAddr("::1")
)

// TestCPUsOfSeveralMachines has clients on two machines, in turn: the CPUs are given out on each by itself.
func TestCPUsOfSeveralMachines(t *testing.T) {
	job := workload.Job{
		Workload: record.TCPStream, Duration: time.Second, Pairs: pairsOf("b1", "c1", "b2", "c2"), Distant: true,
		CPUs: workload.CPUs{Client: []int{4, 5}, Server: []int{6, 7}},
		On:   func(e platform.Endpoint) string { return e.Name()[:1] },
	}
	tr, err := plan(job)
	iferr.Fatal(t, err)
	for i, want := range [][2]int{{4, 6}, {4, 7}, {5, 6}, {5, 7}} {
		if f := tr.flows[i]; f.client.flows[f.atClient].CPU != want[0] || f.server.flows[f.atServer].CPU != want[1] {
			t.Errorf("flow %d on CPUs %d and %d, want %v", i, f.client.flows[f.atClient].CPU, f.server.flows[f.atServer].CPU, want)
		}
	}
}

func TestPlan(t *testing.T) {
	a, b, s := newEndpoint("a"), newEndpoint("b"), newEndpoint("s")
	tr, err := plan(workload.Job{
		Workload: record.TCPStream,
		Options:  record.Options{Streams: 2},
		Duration: time.Second,
		CPUs:     workload.CPUs{Client: []int{4, 5, 6}},
		Pairs: []workload.Pair{
			{Client: a, Server: s, Addr: loopback4, Listen: loopback4, Port: 5001},
			{Client: b, Server: s, Addr: netip.MustParseAddr("::ffff:127.0.0.1"), Listen: netip.MustParseAddr("::ffff:127.0.0.1"), Port: 5001},
			{Client: a, Server: s, Addr: loopback6, Listen: loopback6, Port: 5001},
		},
	})
	iferr.Fatal(t, err)
	if len(tr.clients) != 2 || len(tr.servers) != 1 {
		t.Fatalf("%d clients, %d servers; want 2 and 1", len(tr.clients), len(tr.servers))
	}
	if got := fmt.Sprint(tr.servers[0].listen); got != "[127.0.0.1:5001 [::1]:5001]" {
		t.Errorf("the server listens on %s", got)
	}
	first := tr.clients[0].flows
	if len(first) != 4 || first[3].Label != "flow 3 of client a" || first[3].Index != 5 {
		t.Errorf("flows of a: %+v", first)
	}
	var cpus []int
	for _, f := range tr.flows {
		cpus = append(cpus, f.client.flows[f.atClient].CPU)
		if f.server.flows[f.atServer].CPU != -1 {
			t.Errorf("a server's flow is pinned without a set")
		}
		if f.server.flows[f.atServer].Label != f.client.flows[f.atClient].Label {
			t.Errorf("the ends of a flow disagree on its name")
		}
	}
	for i, want := range []int{4, 5, 6, 4, 5, 6} {
		if cpus[i] != want {
			t.Errorf("clients' flows are pinned to %v", cpus)
			break
		}
	}
}

func TestPlanErrors(t *testing.T) {
	pair := workload.Pair{Client: newEndpoint("c"), Server: newEndpoint("s"), Addr: loopback4, Listen: loopback4, Port: 5001}
	for _, c := range []struct {
		want   string
		change func(*workload.Job)
	}{
		{"unknown workload", func(j *workload.Job) { j.Workload = "" }},
		{"no client and server", func(j *workload.Job) { j.Pairs = nil }},
		{"warm-up of -1s", func(j *workload.Job) { j.Warmup = -time.Second }},
		{"duration of 0s", func(j *workload.Job) { j.Duration = 0 }},
		{"duration of 2h", func(j *workload.Job) { j.Duration = 2 * time.Hour }},
		{"no address of server s", func(j *workload.Job) { j.Pairs[0].Addr = netip.Addr{} }},
		{"no address of server s", func(j *workload.Job) { j.Pairs[0].Listen = netip.Addr{} }},
		{"server s: port 0", func(j *workload.Job) { j.Pairs[0].Port = 0 }},
		{"server s: port 70000", func(j *workload.Job) { j.Pairs[0].Port = 70000 }},
	} {
		job := workload.Job{Workload: record.TCPStream, Duration: time.Second, Pairs: []workload.Pair{pair}}
		c.change(&job)
		if _, err := plan(job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not say %q", err, c.want)
		}
	}
}
