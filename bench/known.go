package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"time"

	"nettoll/analysis"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// known is networks to compare: the baseline, then others. What is not given is as in the default suite.
type known struct {
	hosts     int
	workloads []string
	tools     []workload.Tool
	turns     bool
	rounds    int           // no more and no fewer; 0: until enough is known
	duration  time.Duration // of a trial
	names     []string
	how       []network.Driver
}

// links are two links, each a token bucket. What is shaped has no turns, as in any run.
func links() known {
	return known{hosts: 2, workloads: []string{record.TCPStream}, tools: []workload.Tool{engine.New()},
		names: []string{"native", "slower"}, how: []network.Driver{rated(1e9), rated(0.9e9)}}
}

// servers are two veth pairs, at one of which the server spins. The other one is called host, as the
// baseline of one host is.
func servers(spin time.Duration) known {
	return known{hosts: 1, workloads: []string{record.TCPRR}, tools: []workload.Tool{engine.New()}, turns: true,
		names: []string{"host", "slower"}, how: []network.Driver{kernel.Veth(), spun(kernel.Veth(), spin)}}
}

// rated is native on links of such a rate, in bit/s, whatever the cell says.
func rated(rate uint64) network.Driver {
	d := kernel.Native()
	connect := d.Connect
	d.Connect = func(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
		topo.Underlay.Rate = rate
		return connect(ctx, topo, p)
	}
	return d
}

// knownPair is how the slower of a pair compares with the baseline, and the p50 of that in seconds.
func (j *judging) knownPair(ctx context.Context, name string, k known) (c *analysis.Comparison, p50 float64, err error) {
	f, err := j.measured(ctx, name, k)
	if err != nil {
		return nil, 0, err
	}
	rows := analysis.Analyze(f).Scenarios[0].Rows
	if of, ok := rows[0].Figure(record.LatencyP50); ok {
		p50 = of.Summary.Estimate
	}
	if of, ok := rows[1].Primary(); ok {
		c = of.Ratio
	}
	if c == nil {
		return nil, 0, fmt.Errorf("%s is %s: %s", k.names[1], rows[1].Status, rows[1].Reason)
	}
	return c, p50, nil
}

// measured is the run file of that name, measured now if it is not there.
func (j *judging) measured(ctx context.Context, name string, k known) (*record.File, error) {
	if f, err := j.kept(name); f != nil || err != nil {
		return f, err
	}
	j.step(name)
	run, err := runOf(name, k)
	if err != nil {
		return nil, err
	}
	w, err := record.Create(filepath.Join(j.dir, name+".ndjson"), run)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	networks := map[string]runner.Recipe{}
	for i, network := range k.names {
		networks[network] = runner.Recipe{Platform: lab.New(), Driver: k.how[i]}
	}
	tools := map[string]workload.Tool{}
	for _, t := range k.tools {
		tools[t.Name()] = t
	}
	r := &runner.Runner{
		Networks: networks, Tools: tools,
		Machine: run.Machine, Settings: run.Settings, Cells: run.Cells, Save: w.Trial,
		Enough: func(trials []record.Trial) map[string]bool {
			enough := map[string]bool{}
			for key, reached := range analysis.Precision(trials, run.Settings) {
				enough[key] = reached.Known
			}
			return enough
		},
	}
	end, err := r.Run(ctx)
	if err == nil {
		err = cmp.Or(w.End(end), ctx.Err()) // what was interrupted is no run to keep
	}
	if err != nil {
		return nil, err
	}
	return j.read(name)
}

// runOf is a run of networks that has the default suite's settings, but for what is given.
func runOf(name string, k known) (run record.Run, err error) {
	suite, err := plan.Embedded(plan.DefaultSuite)
	if err != nil {
		return run, err
	}
	run = record.Run{ID: rand.Text(), Started: time.Now().UTC(), Version: "bench", Suite: name, Settings: plan.Settings(suite)}
	set := &run.Settings
	set.Seed, set.Turns = uint64(time.Now().UnixNano()), k.turns
	if k.rounds > 0 {
		set.MinRounds, set.MaxRounds, set.Budget = k.rounds, k.rounds, 0
	}
	if k.duration > 0 {
		set.Duration = k.duration.Seconds()
	}
	if run.Machine, err = sampler.Machine("/proc", "/sys"); err != nil {
		return run, err
	}
	congestion, err := sampler.ReadCongestion("/proc")
	if err != nil {
		return run, err
	}
	set.Congestion = congestion.Unpaced(true)
	for _, network := range k.names {
		for _, tool := range k.tools {
			for _, w := range k.workloads {
				run.Cells = append(run.Cells, record.Cell{
					Network: network, Hosts: k.hosts, Family: 4, Servers: 1, Clients: 1,
					Tool: tool.Name(), Workload: w, Placement: record.PlacementDistinct,
				})
			}
		}
	}
	return run, nil
}
