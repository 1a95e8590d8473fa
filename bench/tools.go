package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/engine"
	"nettoll/workload/iperf3"
	"nettoll/workload/netperf"
	"nettoll/workload/qperf"
	"nettoll/workload/sockperf"
)

// rounds is how many pairs of trials a comparison usually has.
const rounds = 4

// rival is another tool that measures the same thing, with the aim of the comparison.
type rival struct {
	tool   workload.Tool
	load   string
	metric string
	theirs string // the rival's metric, if it lacks the same one
	what   string
	// atLeast: the engine must reach aim; otherwise it must stay below it.
	atLeast bool
	aim     float64
}

// onPair calls fn with a job on a veth pair, whose client and server have a CPU each.
func onPair(ctx context.Context, cpus [2]int, fn func(workload.Job) error) (err error) {
	n, err := kernel.Veth().Connect(ctx, network.Topology{Hosts: 1, Servers: 1, Clients: 1}, lab.New())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close(ctx)) }()
	c, s := n.Clients[0], n.Servers[0]
	a, err := n.Addr(c, s, network.IPv4)
	if err != nil {
		return err
	}
	return fn(workload.Job{
		Pairs:    []workload.Pair{{Client: c, Server: s, Addr: a, Listen: a, Port: 20001, Own: [2]int{20002, 20003}}},
		Warmup:   500 * time.Millisecond,
		Duration: time.Second,
		CPUs:     workload.CPUs{Client: cpus[:1], Server: cpus[1:]},
		Watch:    workload.Watch{Open: func() {}, Close: func() {}},
	})
}

// attempts is how often something is tried that a busy machine makes late.
const attempts = 5

// inTime repeats what was not ready in time.
func inTime(fn func() error) (err error) {
	for range attempts {
		if err = fn(); !errors.Is(err, workload.ErrLate) {
			break
		}
	}
	return err
}

// versus measures engine and rivals alternately, and shows the ratios.
func versus(ctx context.Context, cpus [2]int, rivals []rival) error {
	return onPair(ctx, cpus, func(job workload.Job) error {
		for _, v := range rivals {
			var r ratios
			for range rounds {
				ours, err := v.measure(ctx, engine.New(), job, v.metric)
				if err != nil {
					return err
				}
				theirs, err := v.measure(ctx, v.tool, job, cmp.Or(v.theirs, v.metric))
				if err != nil {
					return err
				}
				r = append(r, ours/theirs)
			}
			r.show("engine ÷ "+v.what, v.atLeast, v.aim)
		}
		return nil
	})
}

// measure measures one metric with a tool.
func (v rival) measure(ctx context.Context, tool workload.Tool, job workload.Job, metric string) (float64, error) {
	job.Workload = v.load
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var res workload.Result
	err := inTime(func() (err error) {
		res, err = tool.Run(ctx, job)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", v.what, err)
	}
	m, ok := res.Metrics[metric]
	if !ok || m.Value <= 0 {
		return 0, fmt.Errorf("%s: %s gave no %s", v.what, tool.Name, metric)
	}
	return m.Value, nil
}

// throughput compares streams. They take turns, each for a tenth of a second, since other work on the machine and its own
// changes of speed make two trials that follow one another differ by more than the two programs. Before 3.16, iperf3
// serves all streams with one thread, as the engine does where they share a CPU.
func throughput(ctx context.Context, _ *work) error {
	kernels, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return err
	}
	version, err := iperf3.Tool.At(nil).Version(ctx)
	if err != nil {
		return err
	}
	return onPair(ctx, [2]int{0, 1}, func(job workload.Job) error {
		for _, streams := range []int{1, 4} {
			for _, control := range slices.Compact([]string{strings.TrimSpace(string(kernels)), "cubic"}) {
				job.Workload, job.Options = record.TCPStream, record.Options{Streams: streams, Congestion: control}
				var r ratios
				for range turnRounds {
					err := inTime(func() error {
						ours, theirs, err := alternate(ctx, job, iperf3.Tool.At(nil))
						if err == nil {
							r = append(r, ours/theirs)
						}
						return err
					})
					if err != nil {
						return err
					}
				}
				r.show(fmt.Sprintf("engine ÷ iperf3 %s, throughput, %d × %s", version, streams, control), true, 1)
			}
		}
		return nil
	})
}

func latency(ctx context.Context, _ *work) error {
	for _, place := range []struct {
		name string
		cpus [2]int
	}{{"distinct", [2]int{0, 1}}, {"same", [2]int{0, 0}}} {
		err := versus(ctx, place.cpus, []rival{
			{tool: qperf.Tool.At(nil), load: record.TCPRR, metric: record.LatencyP50, theirs: record.LatencyMean, what: "qperf tcp_lat, latency, " + place.name + " CPUs", aim: 1},
			{tool: sockperf.Tool.At(nil), load: record.TCPRR, metric: record.LatencyP50, what: "sockperf ping-pong, p50, " + place.name + " CPUs", aim: 1},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func datagrams(ctx context.Context, _ *work) error {
	return versus(ctx, [2]int{0, 1}, []rival{
		{tool: iperf3.Tool.At(nil), load: record.UDPStream, metric: record.PacketRate, what: "iperf3 -u, packets received", atLeast: true, aim: 1.2},
		{tool: sockperf.Tool.At(nil), load: record.UDPStream, metric: record.PacketRate, what: "sockperf throughput, packets received", atLeast: true, aim: 1},
	})
}

func connections(ctx context.Context, _ *work) error {
	return versus(ctx, [2]int{0, 1}, []rival{
		{tool: netperf.Tool.At(nil), load: record.TCPCRR, metric: record.TransactionRate, what: "netperf TCP_CRR, connections", atLeast: true, aim: 1.2},
	})
}
