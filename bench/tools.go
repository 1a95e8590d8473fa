package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nettoll/record"
)

const rounds = 7

func throughput(ctx context.Context) error {
	p, err := newPair(ctx, [2]int{0, 1})
	if err != nil {
		return err
	}
	defer p.network.Close(ctx)
	kernels, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return err
	}
	// With cubic nothing but the generator holds the traffic back. BBR paces it by
	// what it believes of the path, and believes more of a receiver that reads in
	// bursts.
	controls := slices.Compact([]string{strings.TrimSpace(string(kernels)), "cubic"})
	for _, streams := range []int{1, 4} {
		for _, control := range controls {
			var r ratios
			for range rounds {
				o := record.Options{Streams: streams, Congestion: control}
				ours, err := p.engine(ctx, record.TCPStream, record.Throughput, o)
				if err != nil {
					return err
				}
				theirs, err := p.iperf3(ctx, o)
				if err != nil {
					return err
				}
				r = append(r, ours/theirs)
			}
			r.show(fmt.Sprintf("engine ÷ iperf3, throughput, %d × %s", streams, control), true, 1)
		}
	}
	return nil
}

func (p *pair) iperf3(ctx context.Context, o record.Options) (float64, error) {
	out, err := p.tool(ctx, []string{"iperf3", "-s", "-1"},
		[]string{"iperf3", "-c", p.addr, "-O", "1", "-t", "2", "-J", "-P", strconv.Itoa(o.Streams), "-C", o.Congestion})
	if err != nil {
		return 0, err
	}
	var said struct {
		End struct {
			Received struct {
				Rate *float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &said); err != nil || said.End.Received.Rate == nil {
		return 0, fmt.Errorf("iperf3 said no rate: %s (%w)", out, err)
	}
	return *said.End.Received.Rate, nil
}

func latency(ctx context.Context) error {
	for _, place := range []struct {
		name string
		cpus [2]int
	}{{"distinct", [2]int{0, 1}}, {"same", [2]int{0, 0}}} {
		p, err := newPair(ctx, place.cpus)
		if err != nil {
			return err
		}
		var q, s ratios
		for range rounds {
			ours, err := p.engine(ctx, record.TCPRR, record.LatencyP50, record.Options{})
			if err != nil {
				return err
			}
			qperf, err := p.qperf(ctx)
			if err != nil {
				return err
			}
			sockperf, err := p.sockperf(ctx)
			if err != nil {
				return err
			}
			q, s = append(q, ours/qperf), append(s, ours/sockperf)
		}
		q.show("engine ÷ qperf tcp_lat, latency, "+place.name+" CPUs", false, 1)
		s.show("engine ÷ sockperf ping-pong, p50, "+place.name+" CPUs", false, 1)
		if err := p.network.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// qperf gives a round trip in seconds. It prints half of one.
func (p *pair) qperf(ctx context.Context) (float64, error) {
	out, err := p.tool(ctx, []string{"qperf"}, []string{"qperf", "-t", "2", "-uu", p.addr, "tcp_lat"})
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`latency\s*=\s*([\d.e+]+)\s*(ns|us|ms|sec)`).FindStringSubmatch(string(out))
	if m == nil {
		return 0, fmt.Errorf("qperf said no latency: %s", out)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	unit := map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1}[m[2]]
	return 2 * v * unit, err
}

// sockperf gives the median round trip in seconds.
func (p *pair) sockperf(ctx context.Context) (float64, error) {
	out, err := p.tool(ctx, []string{"sockperf", "server", "--tcp", "-i", p.addr, "-p", "11111"},
		[]string{"sockperf", "ping-pong", "--tcp", "-i", p.addr, "-p", "11111", "-t", "2", "--full-rtt"})
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`percentile 50\.000\s*=\s*([\d.]+)`).FindStringSubmatch(strings.ReplaceAll(string(out), "\x1b", ""))
	if m == nil {
		return 0, fmt.Errorf("sockperf said no median: %s", out)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v * 1e-6, err
}
