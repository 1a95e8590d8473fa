package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// world is the state that all fakes of a test share.
type world struct {
	crossed atomic.Uint64 // bytes on the single hop of every network
	mu      sync.Mutex
	probes  map[string]int
	builds  map[string]int
	open    int       // networks that have not been closed
	built   time.Time // when the last network was
	closed  time.Time // when the last network was
}

func newWorld() *world { return &world{probes: map[string]int{}, builds: map[string]int{}} }

// ground is a platform without hosts, which the networks of fakes do not need.
type ground struct {
	w      *world
	name   string
	probe  error
	during func() // called in the probe
	starts time.Duration
}

func (g *ground) Info() platform.Info { return platform.Info{Name: g.name, Starts: g.starts} }

func (g *ground) Probe(context.Context) error {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	g.w.probes["platform "+g.name]++
	if g.during != nil {
		g.during()
	}
	return g.probe
}

func (*ground) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return nil, errGone
}

// way is a kind of network. Nil faults do not happen.
type way struct {
	w        *world
	name     string
	probe    error
	connect  func(ctx context.Context, nth int) error
	close    error
	daemons  []network.Daemon
	nodes    []network.NodeDaemons
	pathless bool
	distant  bool                                // see network.Network
	shared   []network.Hop                       // further hops of its paths
	has      []string                            // see network.Info
	apart    bool                                // see network.Info
	inForce  record.InForce                      // of each network
	fault    func() error                        // of a network; nil: it knows of no fault
	unproved []string                            // see network.Network
	on       platform.Platform                   // the platform that it was built on last
	endpoint func(name string) platform.Endpoint // nil: a place
}

func (f *way) place(name string) platform.Endpoint {
	if f.endpoint == nil {
		return place(name)
	}
	return f.endpoint(name)
}

func (f *way) driver() network.Driver {
	return network.Driver{Info: network.Info{Name: f.name, About: f.name, Hosts: []int{1, 2}, Has: f.has, Apart: f.apart}, Probe: f.probed, Connect: f.connected}
}

func (f *way) probed(context.Context, platform.Platform) error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.probes[f.name]++
	return f.probe
}

func (f *way) connected(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
	f.w.mu.Lock()
	f.on = p
	f.w.builds[f.name]++
	nth := f.w.builds[f.name]
	f.w.mu.Unlock()
	if f.connect != nil {
		if err := f.connect(ctx, nth); err != nil {
			return nil, err
		}
	}
	f.w.mu.Lock()
	f.w.open, f.w.built = f.w.open+1, time.Now()
	f.w.mu.Unlock()
	closed := false
	n := &network.Network{
		Daemons: f.daemons, NodeDaemons: f.nodes, InForce: f.inForce, Unproved: f.unproved, Distant: f.distant,
		Addr: func(platform.Endpoint, platform.Endpoint, network.Family) (netip.Addr, error) {
			return netip.MustParseAddr("198.18.0.1"), nil
		},
		Path: f.path,
		Fault: func(context.Context) error {
			if f.fault == nil {
				return nil
			}
			return f.fault()
		},
		Close: func(context.Context) error {
			f.w.mu.Lock()
			defer f.w.mu.Unlock()
			if !closed {
				closed = true
				f.w.open, f.w.closed = f.w.open-1, time.Now()
			}
			return f.close
		},
	}
	n.Own = n.Addr
	for i := range topo.Servers {
		n.Servers = append(n.Servers, f.place(fmt.Sprintf("h1c%d", i+1)))
	}
	for i := range topo.Clients {
		n.Clients = append(n.Clients, f.place(fmt.Sprintf("h%dc%d", topo.Hosts, topo.Servers+i+1)))
	}
	return n, nil
}

func (f *way) path(platform.Endpoint, platform.Endpoint, network.Family) []network.Hop {
	if f.pathless {
		return nil
	}
	return append([]network.Hop{{Name: "h1/br0", Kind: network.Device, Read: func(context.Context) (network.Count, error) {
		n := f.w.crossed.Load()
		return network.Count{Packets: n / 100, Bytes: n, InPackets: n / 200, InBytes: n / 2}, nil
	}}}, f.shared...)
}

// tool is a generator of traffic that sends nothing but reports that it did.
type tool struct {
	w      *world
	runs   atomic.Int64
	run    func(ctx context.Context, nth int64, job workload.Job) (workload.Result, error) // instead of well
	change func(nth int64, r *workload.Result)                                             // a successful result
}

func (f *tool) tool() workload.Tool {
	return workload.Tool{
		Name: "fake", Run: f.drive,
		Drives: []workload.Drive{{Workload: record.TCPStream, Options: []string{"congestion"}}},
	}
}

func (f *tool) drive(ctx context.Context, job workload.Job) (workload.Result, error) {
	nth := f.runs.Add(1)
	if f.run != nil {
		return f.run(ctx, nth, job)
	}
	r, err := f.well(ctx, job)
	if f.change != nil {
		f.change(nth, &r)
	}
	return r, err
}

// well is a trial that succeeds.
func (f *tool) well(ctx context.Context, job workload.Job) (workload.Result, error) {
	job.Watch.Open()
	select {
	case <-ctx.Done():
		return workload.Result{}, context.Cause(ctx)
	case <-time.After(job.Duration):
	}
	job.Watch.Close()
	r := workload.Result{
		Window: job.Duration, Bytes: 1000,
		Metrics: map[string]record.Metric{record.Throughput: {Value: 8000, Unit: "bit/s"}},
	}
	for range job.Pairs {
		f.w.crossed.Add(1000)
		r.Crossed = append(r.Crossed, workload.Crossed{Bytes: 1000, Conns: 1})
	}
	return r, nil
}

var errGone = errors.New("the network fell off the table")
