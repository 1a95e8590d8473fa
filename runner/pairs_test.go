package runner_test

import (
	"context"
	"math"
	"testing"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// one runs a single trial of a cell with the fake tool and returns the recorded trial and the job
// that the tool got.
func one(t *testing.T, c record.Cell, flows ...record.Flow) (record.Trial, workload.Job) {
	t.Helper()
	var seen workload.Job
	b := newBench(&way{name: "fake"})
	b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
		seen = job
		r, err := b.tool.well(ctx, job)
		r.Flows = flows
		return r, err
	}
	c.Network, c.Hosts, c.Family, c.Tool, c.Workload, c.Placement = "fake", 1, 4, "fake", record.TCPStream, record.PlacementFree
	b.Settings.Duration, b.Settings.MaxRounds, b.Cells = 0.02, 1, []record.Cell{c}
	if _, err := b.run(t, t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.trials) != 1 || b.trials[0].Status != record.OK {
		t.Fatalf("%+v", b.trials)
	}
	return b.trials[0], seen
}

func TestEveryClientProcessHasAnAgentAndPortsOfItsOwn(t *testing.T) {
	_, job := one(t, record.Cell{Servers: 2, Clients: 3, Processes: 2})
	if len(job.Pairs) != 6 {
		t.Fatalf("%d pairs, want 3 clients with 2 processes each", len(job.Pairs))
	}
	clients := map[platform.Endpoint]bool{}
	ports := map[int]platform.Endpoint{}
	take := func(port int, by platform.Endpoint) {
		if other, taken := ports[port]; taken {
			t.Errorf("port %d belongs to %s and to %s", port, other.Name(), by.Name())
		}
		ports[port] = by
	}
	shared := map[platform.Endpoint]int{}
	for _, p := range job.Pairs {
		if clients[p.Client] {
			t.Errorf("%s stands for two processes", p.Client.Name())
		}
		clients[p.Client] = true
		for _, port := range p.Own {
			take(port, p.Client)
		}
		if have, ok := shared[p.Server]; ok && have != p.Port {
			t.Errorf("%s listens on %d and on %d", p.Server.Name(), have, p.Port)
		}
		shared[p.Server] = p.Port
	}
	for server, port := range shared {
		take(port, server)
	}
	topo := network.Topology{Servers: 2, Clients: 3, Processes: 2}
	first, _ := topo.Ports(0)
	_, last := topo.Ports(1)
	for port := range ports {
		if port < first || port > last {
			t.Errorf("port %d is not among those that networks let through, %d to %d", port, first, last)
		}
	}
}

func TestSharesOfClientsAndFlows(t *testing.T) {
	for name, c := range map[string]struct {
		bytes    []uint64
		fairness float64
	}{
		"equal":        {[]uint64{10, 10, 10, 10}, 1},
		"one has all":  {[]uint64{0, 0, 40, 0}, 0.25},
		"one has half": {[]uint64{20, 10, 10}, 40. * 40 / (3 * 600)},
	} {
		t.Run(name, func(t *testing.T) {
			var flows []record.Flow
			for _, b := range c.bytes {
				flows = append(flows, record.Flow{Bytes: b})
			}
			trial, _ := one(t, record.Cell{Servers: 1, Clients: 2, Processes: 2}, flows...)
			if got := trial.Metrics[record.Fairness]; math.Abs(got.Value-c.fairness) > 1e-9 || got.Unit != "ratio" {
				t.Errorf("fairness is %v, want %v", got, c.fairness)
			}
			if got := trial.Metrics[record.ThroughputPerClient]; got.Value != 2000 || got.Unit != "bit/s" {
				t.Errorf("%v for each of 4 clients of 8000 bit/s together", got)
			}
		})
	}
	trial, _ := one(t, record.Cell{Servers: 1, Clients: 1}, record.Flow{Bytes: 1})
	for _, name := range []string{record.Fairness, record.ThroughputPerClient} {
		if _, there := trial.Metrics[name]; there {
			t.Errorf("a single flow has a %s", name)
		}
	}
}
