package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
)

// Sizes, in bytes, of a packet of a stream over an Ethernet of MTU 1500 and of the headers around its payload. A
// token bucket counts the Ethernet header, but neither preamble nor checksum.
const (
	ethernet   = 14
	tcpHeader  = 20 + 12 // with timestamps (RFC 7323)
	vxlanOuter = 20 + 8 + 8 + ethernet
	packet     = 1500
)

// rates measures a link of 1 Gbit/s, in w.size rounds, and judges whether the payload's rate is the share that the
// headers leave: no network can have any other.
func rates(ctx context.Context, w *work) error {
	const rate, aim = 1e9, 0.01
	w.total = 1
	args := []string{"native", "vxlan", "--hosts", "2", "-4", "-6", "--underlay", "rate=1gbit", "--workloads", record.TCPStream, "-t", "2s", "--warmup", "1s"}
	f, err := w.run(ctx, "rates", append(args, fixedRounds(w.size)...)...)
	if err != nil {
		return err
	}
	for _, row := range analysis.Analyze(f).Rows() {
		header := map[int]int{4: 20, 6: 40}[row.Cell.Family] + tcpHeader
		if row.Cell.Network == "vxlan" {
			header += vxlanOuter
		}
		want := rate * float64(packet-header) / (packet + ethernet)
		got, ok := row.Figure(record.Throughput)
		what := fmt.Sprintf("%s, IPv%d, over 1 Gbit/s: throughput ÷ %.1f Mbit/s", row.Cell.Network, row.Cell.Family, want/1e6)
		if !ok || got.Summary.Level == 0 {
			fmt.Printf("%-58s %s\n", what, verdict(false, "not known"))
			continue
		}
		of := got.Summary
		off := max(math.Abs(of.Low/want-1), math.Abs(of.High/want-1))
		fmt.Printf("%-58s %.4f  (%.4f to %.4f, n=%d)  aim within %.2f of 1: %s\n",
			what, of.Estimate/want, of.Low/want, of.High/want, of.N, aim, verdict(off <= aim, "off by "+strconv.FormatFloat(100*off, 'f', 2, 64)+" %"))
	}
	return nil
}

// slower measures networks one of which is slower by a known tenth, in w.size runs as long as the default one, and
// judges whether nine of ten call it different with the right size in the interval. It is slower in throughput by
// its link, and in latency by a server that spins before it answers.
func slower(ctx context.Context, w *work) error {
	w.total = 1 + 2*w.size
	var links, servers findings
	for i := range w.size {
		c, _, err := w.knownPair(ctx, fmt.Sprintf("slower-link-%d", i+1), twoLinks())
		if err != nil {
			return err
		}
		showKnown("link of 900 Mbit/s ÷ 1000 Mbit/s, throughput", c, 0.9)
		links.add(c, 0.9)
	}
	links.show("a link a tenth slower found different", "the right size", w.size)

	_, p50, err := w.knownPair(ctx, "slower-server-none", twoServers(0))
	if err != nil {
		return err
	}
	for i := range w.size {
		spin := time.Duration(p50 / 10 * float64(time.Second))
		var c *analysis.Comparison
		c, p50, err = w.knownPair(ctx, fmt.Sprintf("slower-server-%d", i+1), twoServers(spin))
		if err != nil {
			return err
		}
		truth := 1 + spin.Seconds()/p50
		showKnown(fmt.Sprintf("server that spins for %.2f µs, p50 ÷ %.2f µs", 1e6*spin.Seconds(), 1e6*p50), c, truth)
		servers.add(c, truth)
	}
	servers.show("a server a tenth slower found different", "the right size", w.size)
	return nil
}

func showKnown(what string, c *analysis.Comparison, truth float64) {
	fmt.Printf("%-52s %.3f (%.3f to %.3f, n=%d), in truth %.3f: %v\n", what, c.Value, c.Low, c.High, c.N, truth, c.Verdict)
}

// knownPair returns the comparison of the slower of a pair with the baseline, and the baseline's p50 in seconds.
func (w *work) knownPair(ctx context.Context, name string, k known) (c *analysis.Comparison, p50 float64, err error) {
	f, err := w.measured(ctx, name, k)
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

// Blocks of seven rounds are the shortest in which one of three comparisons can raise an alarm: their smallest
// p-value is 2/2⁷, below 0.05/3. The level that the tests attain is then close to 5 %, for one comparison as for
// three.
const (
	blockRounds  = 7
	familySize   = 3 // comparisons that are corrected together: a stream, and transactions of two sizes
	blocksOfARun = 4
)

// twins compares networks with themselves, in w.size pairs, and judges whether they are called different as often
// as the exact test predicts: each alone and, with Holm's correction, any of three.
func twins(ctx context.Context, w *work) error {
	const level, confidence = 0.95, 0.99
	const pairsOfARun = blocksOfARun * familySize * 2 // IP versions
	baselines := []string{"host", "veth", "bridge", "loopback"}
	var single, together alarms
	w.total = (w.size + pairsOfARun - 1) / pairsOfARun
	for i := range w.total {
		network := baselines[i%len(baselines)]
		args := []string{network, "--baseline", network, "--self-check", "--hosts", "1", "-4", "-6", "--workloads", record.TCPStream + "," + record.TCPRR,
			"--request-size", "1,1024", "-t", "25ms", "--confidence", fmt.Sprint(level)}
		f, err := w.run(ctx, fmt.Sprintf("twins-%d", i+1), append(args, fixedRounds(blockRounds*blocksOfARun)...)...)
		if err != nil {
			return err
		}
		all := analysis.SelfCheck(f, blockRounds)
		single.add(all.Comparisons, all.Alarms)
		for _, family := range families(f, level) {
			together.add(1, family)
		}
	}
	alone := analysis.Attained(blockRounds, level)
	first := analysis.Attained(blockRounds, 1-(1-level)/familySize) // Holm's first step
	single.show("twins called different", alone, confidence)
	together.show(fmt.Sprintf("any of %d twins, corrected by Holm", familySize), 1-math.Pow(1-first, familySize), confidence)
	return nil
}

// alarms counts comparisons and the alarms that they raised.
type alarms struct{ of, raised int }

func (a *alarms) add(of, raised int) { a.of, a.raised = a.of+of, a.raised+raised }

// show judges whether the exact interval of the rate contains the expected one.
func (a alarms) show(what string, expected, level float64) {
	low, high := analysis.BinomialInterval(a.raised, a.of, level)
	fmt.Printf("%-46s %d of %d: %.4f  (%.0f %%: %.4f to %.4f)  aim: contains %.4f: %s\n",
		what, a.raised, a.of, float64(a.raised)/float64(max(1, a.of)), 100*level, low, high, expected,
		verdict(a.of > 0 && low <= expected && expected <= high, "it does not"))
}

// families returns one value for each block of a run and IP version: 1 if a verdict among its comparisons is an
// alarm, after correction for their number, or else 0.
func families(f *record.File, level float64) (raised []int) {
	for first := 1; first+blockRounds-1 <= f.Run.Settings.MaxRounds; first += blockRounds {
		for _, family := range []int{4, 6} {
			of := func(c record.Cell) bool { return c.Family == family }
			within := func(t record.Trial) bool { return t.Round >= first && t.Round < first+blockRounds }
			if n, alarmed := adjusted(partOf(f, of, within), level); n == familySize {
				raised = append(raised, alarmed)
			}
		}
	}
	return raised
}

// adjusted returns how many primary comparisons have all rounds of a block, and 1 if one of them raises an alarm.
func adjusted(f *record.File, level float64) (n, raised int) {
	for _, row := range analysis.Analyze(f).Rows() {
		for _, of := range row.Figures {
			c := of.Ratio
			if c == nil || !c.Primary || c.N != blockRounds {
				continue
			}
			n++
			if c.Adjusted < 1-level {
				raised = 1
			}
		}
	}
	return n, raised
}

// busy measures bridge for w.size minutes on a quiet machine, and then does w.size default runs next to a compiler
// that keeps both cores busy. It judges whether in nine of ten of them bridge is called different from the baseline
// in throughput, with the quiet run's size in the interval.
func busy(ctx context.Context, w *work) error {
	w.total = 1 + w.size
	f, err := w.run(ctx, "busy-quiet", "bridge", "--hosts", "1", "--workloads", record.TCPStream,
		"--precision", "0.1%", "--max-rounds", "10000", "--time-budget", fmt.Sprintf("%dm", w.size))
	if err != nil {
		return err
	}
	truth := ofBridge(f)
	if truth == nil || truth.Level == 0 {
		return fmt.Errorf("the quiet run has no interval of bridge")
	}
	fmt.Printf("bridge ÷ host in throughput, quiet: %.3f (%.3f to %.3f, n=%d)\n", truth.Value, truth.Low, truth.High, truth.N)
	var found findings
	for i := range w.size {
		c, err := w.besideCompiler(ctx, fmt.Sprintf("busy-%d", i+1))
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(os.Stderr, "busy-%d: no ratio of bridge\n", i+1)
			continue
		}
		fmt.Printf("bridge ÷ host in throughput, busy: %.3f (%.3f to %.3f, n=%d): %v\n", c.Value, c.Low, c.High, c.N, c.Verdict)
		found.add(c, truth.Value)
	}
	found.show("bridge decided beside a compiler", "the quiet size", w.size)
	return nil
}

// ofBridge returns the comparison of bridge with the baseline in throughput, on one host.
func ofBridge(f *record.File) *analysis.Comparison {
	for _, row := range analysis.Analyze(f).Rows() {
		c := row.Cell
		if of, ok := row.Figure(record.Throughput); ok && c.Network == "bridge" && c.Hosts == 1 && c.Workload == record.TCPStream {
			return of.Ratio
		}
	}
	return nil
}

// besideCompiler does the default run while nettoll is compiled, with all its dependencies, again and again.
func (w *work) besideCompiler(ctx context.Context, name string) (*analysis.Comparison, error) {
	compiling, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	defer func() { stop(); <-stopped }()
	go func() {
		defer close(stopped)
		for compiling.Err() == nil {
			build := exec.CommandContext(compiling, "go", "build", "-a", "-o", os.DevNull, "./cmd/nettoll")
			build.Env = append(os.Environ(), "GOCACHE="+filepath.Join(w.dir, "cache"))
			if err := build.Run(); err != nil && compiling.Err() == nil {
				fmt.Fprintf(os.Stderr, "%s: the compiler: %v\n", name, err)
				return
			}
		}
	}()
	f, err := w.run(ctx, name, "--suite", plan.DefaultSuite)
	if err != nil {
		return nil, err
	}
	return ofBridge(f), nil
}
