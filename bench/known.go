package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"nettoll/agent"
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

// twoLinks are two links, each a token bucket. What is shaped has no turns, as in any run.
func twoLinks() known {
	return known{hosts: 2, workloads: []string{record.TCPStream}, tools: []workload.Tool{engine.New()},
		names: []string{"native", "slower"}, how: []network.Driver{rated(1e9), rated(0.9e9)}}
}

// twoServers are two veth pairs, at one of which the server spins. The other one is called host, as the
// baseline of one host is.
func twoServers(spin time.Duration) known {
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

// measured is the run file of that name, measured now if it is not there.
func (w *work) measured(ctx context.Context, name string, k known) (*record.File, error) {
	if f, err := w.kept(name); f != nil || err != nil {
		return f, err
	}
	w.step(name)
	run, err := runOf(name, k)
	if err != nil {
		return nil, err
	}
	file, err := record.Create(filepath.Join(w.dir, name+".ndjson"), run)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	end, err := k.runner(lab.New(), run, file.Trial).Run(ctx)
	if err == nil {
		err = cmp.Or(file.End(end), ctx.Err()) // what was interrupted is no run to keep
	}
	if err != nil {
		return nil, err
	}
	return w.read(name)
}

// runner runs it in a lab.
func (k known) runner(in *lab.Lab, run record.Run, save func(record.Trial) error) *runner.Runner {
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{}, Tools: map[string]workload.Tool{},
		Machine: run.Machine, Settings: run.Settings, Cells: run.Cells, Save: save,
		Enough: func(trials []record.Trial) map[string]bool {
			enough := map[string]bool{}
			for key, reached := range analysis.Precision(trials, run.Settings) {
				enough[key] = reached.Known
			}
			return enough
		},
	}
	for i, network := range k.names {
		r.Networks[network] = runner.Recipe{Platform: in, Driver: k.how[i]}
	}
	for _, t := range k.tools {
		r.Tools[t.Name()] = t
	}
	return r
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

// spinning begins the argument by which an agent of this program has its servers spin.
const spinning = "spin="

// engineHandlers are the engine's, as the arguments of an agent want them.
func engineHandlers(ctx context.Context, args []string) (map[string]agent.Handler, error) {
	if len(args) == 0 {
		return engine.Handlers(ctx), nil
	}
	text, ok := strings.CutPrefix(args[0], spinning)
	spin, err := time.ParseDuration(text)
	if !ok || err != nil {
		return nil, fmt.Errorf("agent %s: unknown", args[0])
	}
	return engine.Spinning(ctx, spin), nil
}

// spun is a driver of networks whose servers spin for so long before they answer.
func spun(d network.Driver, spin time.Duration) network.Driver {
	return d.Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		for i, e := range n.Servers {
			n.Servers[i] = spunServer{e, spin}
		}
		addr, own, path := n.Addr, n.Own, n.Path
		n.Addr = func(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
			return addr(plain(from), plain(to), f)
		}
		n.Own = func(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
			return own(plain(from), plain(to), f)
		}
		n.Path = func(from, to platform.Endpoint, f network.Family) []network.Hop {
			return path(plain(from), plain(to), f)
		}
		return nil
	})
}

// spunServer is an endpoint whose agents spin.
type spunServer struct {
	platform.Endpoint
	spin time.Duration
}

// plain is the endpoint that a network knows as its own.
func plain(e platform.Endpoint) platform.Endpoint {
	if s, ok := e.(spunServer); ok {
		return s.Endpoint
	}
	return e
}

func (s spunServer) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	if cmd.Path == platform.Self && len(cmd.Args) == 1 && cmd.Args[0] == "agent" {
		cmd.Args = []string{"agent", spinning + s.spin.String()}
	}
	return s.Endpoint.Start(ctx, cmd)
}
