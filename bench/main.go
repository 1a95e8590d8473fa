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

	"nettoll/agent"
	"nettoll/internal/dockerd"
	"nettoll/internal/keeper"
	"nettoll/internal/program"
	"nettoll/platform/lab"
	"nettoll/sampler"
)

func init() { runtime.LockOSThread() }

func main() {
	lab.First(dockerd.RemoveCgroups)
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
	if did, err := judge(ctx, os.Args[1:]); did {
		return err
	}
	wanted := func(part string) bool { return len(os.Args) == 1 || slices.Contains(os.Args[1:], part) }
	if !lab.Inside() {
		if wanted("whole") {
			if err := whole(ctx); err != nil {
				return err
			}
		}
		status, err := lab.Enter(lab.EnterOptions{Remove: dockerd.RemoveCgroups})
		if err == nil && status != 0 {
			os.Exit(status)
		}
		return err
	}
	if err := lab.Prepare(); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{{"throughput", throughput}, {"latency", latency}, {"datagrams", datagrams}, {"connections", connections}, {"containers", containers}, {"neighbours", neighbours}, {"docker", docker}} {
		if !wanted(part.name) {
			continue
		}
		if err := part.do(ctx); err != nil {
			return err
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
