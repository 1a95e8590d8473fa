// Command bench measures what nettoll is worth beside other tools, side by side
// in one run, as ratios: figures of a shared machine mean nothing by themselves.
// Arguments are the parts to do, by name; without any, all are done but those of
// judge.go, which judge the instrument itself and take long.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"nettoll/agent"
	"nettoll/docker/engine"
	"nettoll/internal/keeper"
	"nettoll/internal/program"
	"nettoll/platform/lab"
	"nettoll/sampler"
)

func init() { runtime.LockOSThread() }

func main() {
	lab.First(engine.RemoveCgroups)
	if slices.Equal(os.Args[1:], keeper.Args) {
		os.Exit(keeper.Main())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		handlers, err := engineHandlers(ctx, os.Args[2:])
		if err != nil {
			return err
		}
		maps.Copy(handlers, program.Handlers())
		maps.Copy(handlers, sampler.Handlers())
		return agent.Serve(ctx, os.Stdin, os.Stdout, handlers)
	}
	if len(os.Args) == 3 && os.Args[1] == readsAll {
		return readAll(os.Args[2])
	}
	if did, err := judge(ctx, os.Args[1:]); did {
		return err
	}
	p := newProgress(os.Args[1:])
	if !lab.Inside() {
		if err := p.do(ctx, outsideParts); err != nil {
			return err
		}
		if !p.any(insideParts) {
			return nil
		}
		if err := os.Setenv(begunEnv, p.begun.Format(time.RFC3339Nano)); err != nil {
			return err
		}
		status, err := lab.Enter(lab.EnterOptions{Remove: engine.RemoveCgroups})
		if err == nil && status != 0 {
			os.Exit(status)
		}
		return err
	}
	if err := lab.Prepare(); err != nil {
		return err
	}
	return p.do(ctx, insideParts)
}

// part is what is measured together. It takes about so long on two CPUs.
type part struct {
	name  string
	takes time.Duration
	do    func(context.Context) error
}

// What runs the program itself is outside of a lab, as that makes its own.
var (
	outsideParts = []part{
		{"report", 45 * time.Second, reports},
		{"turns", 165 * time.Second, turns},
		{"memory", 100 * time.Second, memory},
	}
	insideParts = []part{
		{"throughput", 80 * time.Second, throughput},
		{"latency", 80 * time.Second, latency},
		{"datagrams", 40 * time.Second, datagrams},
		{"connections", 20 * time.Second, connections},
		{"containers", 60 * time.Second, containers},
		{"neighbours", 60 * time.Second, neighbours},
		{"docker", 45 * time.Second, docker},
	}
)

// progress does parts and says how far it is. Those that are named are done, or else all.
type progress struct {
	named []string
	begun time.Time
}

// begunEnv tells the process in the lab when all began.
const begunEnv = "NETTOLL_BENCH_BEGUN"

func newProgress(named []string) *progress {
	p := &progress{named: named, begun: time.Now()}
	if at, err := time.Parse(time.RFC3339Nano, os.Getenv(begunEnv)); err == nil {
		p.begun = at
	}
	return p
}

func (p *progress) wants(one part) bool {
	return len(p.named) == 0 || slices.Contains(p.named, one.name)
}

func (p *progress) any(parts []part) bool { return slices.ContainsFunc(parts, p.wants) }

// do does those of the parts that are wanted, and says before each how much is left of all.
func (p *progress) do(ctx context.Context, parts []part) error {
	all := slices.DeleteFunc(slices.Concat(outsideParts, insideParts), func(one part) bool { return !p.wants(one) })
	for _, one := range parts {
		if !p.wants(one) {
			continue
		}
		at := slices.IndexFunc(all, func(o part) bool { return o.name == one.name })
		var left time.Duration
		for _, o := range all[at:] {
			left += o.takes
		}
		fmt.Fprintf(os.Stderr, "%d of %d: %s; %v since the beginning, about %v left\n",
			at+1, len(all), one.name, time.Since(p.begun).Round(time.Second), left)
		if err := one.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// ratios are of pairs that were measured one right after the other.
type ratios []float64

func (r ratios) median() float64 {
	s := slices.Sorted(slices.Values(r))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// show prints a ratio and whether it is what was aimed at.
func (r ratios) show(what string, atLeast bool, aim float64) {
	m := r.median()
	word, met := "at most", m <= aim
	if atLeast {
		word, met = "at least", m >= aim
	}
	verdict := "met"
	if !met {
		verdict = "MISSED"
	}
	fmt.Printf("%-46s %6.2f  (%.2f to %.2f, n=%d)  aim %s %.2f: %s\n",
		what, m, slices.Min(r), slices.Max(r), len(r), word, aim, verdict)
}
