package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/analysis"
	"nettoll/internal/handlers"
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

// compiled builds nettoll from the current source into a folder.
func compiled(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "nettoll")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/nettoll")
	build.Stderr = os.Stderr
	return program, build.Run()
}

// interruptible returns a command that is interrupted, rather than killed, when ctx ends.
func interruptible(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// fixedRounds returns the arguments of a run with exactly n rounds, whatever it finds.
func fixedRounds(n int) []string {
	rounds := strconv.Itoa(n)
	return []string{"--min-rounds", rounds, "--max-rounds", rounds, "--time-budget", "0"}
}

// run has nettoll make a run file of that name. Cells that could not be measured are missing in it; noticing that
// is up to the caller.
func (w *work) run(ctx context.Context, name string, args ...string) (*record.File, error) {
	if f, err := w.kept(name); f != nil || err != nil {
		return f, err
	}
	w.step(name)
	file := filepath.Join(w.dir, name+".ndjson")
	cmd := interruptible(ctx, w.program, slices.Concat([]string{"run"}, args, []string{"-o", file})...)
	var says bytes.Buffer
	cmd.Stderr = &says
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &ended) && ended.ExitCode() == 1 && exists(file): // otherwise the run has never begun
		fmt.Fprintf(os.Stderr, "%s: not everything could be measured\n", name)
	case err != nil:
		return nil, fmt.Errorf("nettoll run %s: %w\n%s", strings.Join(args, " "), err, says.String())
	}
	return w.read(name)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// placeOf returns where a run file is kept.
func (w *work) placeOf(name string) string {
	return filepath.Join(w.keep, w.name, name+".ndjson.gz")
}

// kept returns a run file that exists already, or nil.
func (w *work) kept(name string) (*record.File, error) {
	if w.keep == "" {
		return nil, nil
	}
	f, err := readZipped(w.placeOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	w.total--
	return f, err
}

func readZipped(path string) (*record.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return record.Read(z)
}

// read reads a run file, and keeps a copy if requested.
func (w *work) read(name string) (*record.File, error) {
	file := filepath.Join(w.dir, name+".ndjson")
	f, err := record.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(f.Ends) != 1 {
		return nil, fmt.Errorf("%s has no end", file)
	}
	if w.keep == "" {
		return f, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var small bytes.Buffer
	z, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := errors.Join(z.Close(), os.MkdirAll(filepath.Join(w.keep, w.name), 0o755)); err != nil {
		return nil, err
	}
	return f, os.WriteFile(w.placeOf(name), small.Bytes(), 0o644)
}

// known is a set of networks to compare: the baseline, then others. Fields that are not set have the values of the
// default suite.
type known struct {
	hosts     int
	workloads []string
	tools     []workload.Tool
	turns     bool
	rounds    int           // exactly; 0: until enough is known
	duration  time.Duration // of a trial
	names     []string
	how       []network.Driver
}

// twoLinks are two links, each a token bucket. Shaped links do not take turns, as in any run.
func twoLinks() known {
	return known{hosts: 2, workloads: []string{record.TCPStream}, tools: []workload.Tool{engine.New()},
		names: []string{"native", "slower"}, how: []network.Driver{rated(1e9), rated(0.9e9)}}
}

// twoServers are two veth pairs, one with a server that spins. The other one is called host, which is the name of
// the baseline on one host.
func twoServers(spin time.Duration) known {
	return known{hosts: 1, workloads: []string{record.TCPRR}, tools: []workload.Tool{engine.New()}, turns: true,
		names: []string{"host", "slower"}, how: []network.Driver{kernel.Veth(), spun(kernel.Veth(), spin)}}
}

// rated returns native on links of that rate, in bit/s, regardless of the cell.
func rated(rate uint64) network.Driver {
	d := kernel.Native()
	connect := d.Connect
	d.Connect = func(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
		topo.Underlay.Rate = rate
		return connect(ctx, topo, p)
	}
	return d
}

// measured returns the run file of that name. It is measured now if it does not exist.
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
		err = cmp.Or(file.End(end), ctx.Err()) // an interrupted run is not kept
	}
	if err != nil {
		return nil, err
	}
	return w.read(name)
}

// runner returns the runner of a run in a lab.
func (k known) runner(in *lab.Lab, run record.Run, save func(record.Trial) error) *runner.Runner {
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{}, Tools: map[string]workload.Tool{},
		Machine: run.Machine, Settings: run.Settings, Cells: run.Cells, Save: save,
		Enough: func(trials []record.Trial) map[string]bool {
			return analysis.Enough(analysis.Precision(trials, run.Settings))
		},
	}
	for i, network := range k.names {
		r.Networks[network] = runner.Recipe{Platform: in, Driver: k.how[i]}
	}
	for _, t := range k.tools {
		r.Tools[t.Name] = t
	}
	return r
}

// runOf returns a run of networks with the settings of the default suite, except for those that k sets.
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
					Tool: tool.Name, Workload: w, Placement: record.PlacementDistinct,
				})
			}
		}
	}
	return run, nil
}

// spinning is the prefix of the argument by which an agent of this program is asked to have its servers spin.
const spinning = "spin="

// handlersOf returns the handlers of an agent, with an engine as its arguments ask for.
func handlersOf(ctx context.Context, args []string) (map[string]agent.Handler, error) {
	all := handlers.All(ctx)
	if len(args) == 0 {
		return all, nil
	}
	text, ok := strings.CutPrefix(args[0], spinning)
	spin, err := time.ParseDuration(text)
	if !ok || err != nil {
		return nil, fmt.Errorf("agent %s: unknown", args[0])
	}
	maps.Copy(all, engine.Spinning(ctx, spin))
	return all, nil
}

// spun returns a driver of networks whose servers spin for a time before they answer.
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

// plain returns the endpoint under the name that its network knows.
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
