// Command bench compares nettoll with other tools, side by side in one run, as ratios: absolute figures of a shared
// machine mean nothing by themselves. Its arguments are the names of the parts to run; without any, it runs all but
// those that judge the instrument itself, which take long.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nettoll/agent"
	"nettoll/internal/cgroup"
	"nettoll/internal/keeper"
	"nettoll/platform/lab"
	"nettoll/record"
)

func init() { runtime.LockOSThread() }

func main() {
	lab.First(cgroup.Remove)
	if slices.Equal(os.Args[1:], keeper.Args) {
		os.Exit(keeper.Main())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "agent" {
		answers, err := handlersOf(ctx, args[1:])
		if err != nil {
			return err
		}
		return agent.Serve(ctx, os.Stdin, os.Stdout, answers)
	}
	if len(args) == 2 && args[0] == readsAll {
		return readAll(args[1])
	}
	all, err := wanted(args)
	if err != nil {
		return err
	}
	return doAll(ctx, all)
}

// part is a set of measurements that belong together. Some parts judge the instrument itself, by its results for
// networks whose true difference is known. These take long, and run only when they are named: NAME, or NAME=N for a
// size other than the usual one. With keep=FOLDER their run files are kept there, and files that exist already are
// not measured again, so that hours of work can be split.
type part struct {
	name   string
	takes  time.Duration // about, on two CPUs; 0: known from its steps
	named  bool          // it runs only when it is named: the others take ten minutes together
	size   int           // of a part that judges: see its function
	inside bool          // it builds networks itself, in a lab; parts that run nettoll are outside, as nettoll makes labs of its own
	do     func(context.Context, *work) error
}

var parts = []part{
	{name: "report", takes: 45 * time.Second, do: reports},
	{name: "turns", takes: 165 * time.Second, do: turns},
	{name: "memory", takes: 100 * time.Second, named: true, do: memory},
	{name: "cluster", takes: 55 * time.Second, named: true, do: cluster},
	{name: "size", takes: 35 * time.Second, named: true, do: size},
	{name: "throughput", takes: 115 * time.Second, inside: true, do: throughput},
	{name: "latency", takes: 65 * time.Second, inside: true, do: latency},
	{name: "datagrams", takes: 35 * time.Second, inside: true, do: datagrams},
	{name: "connections", takes: 30 * time.Second, inside: true, do: connections},
	{name: "containers", takes: 35 * time.Second, inside: true, do: containers},
	{name: "neighbours", takes: 25 * time.Second, inside: true, do: neighbours},
	{name: "docker", takes: 45 * time.Second, inside: true, do: docker},

	{name: "equivalence", size: 12, inside: true, do: equivalence},
	{name: "alone", size: 15, do: aloneQuick},
	{name: "alone-full", size: 8, do: aloneFull},
	{name: "rates", size: 6, do: rates},
	{name: "slower", size: 10, inside: true, do: slower},
	{name: "twins", size: 2000, do: twins},
	{name: "busy", size: 10, do: busy},
}

// work is a part that is being run.
type work struct {
	part
	program string // nettoll; "" inside a lab
	dir     string // for its files
	keep    string // where its run files are kept; "" is nowhere

	total, steps int // all, and those that have begun
	began        time.Time
}

// wanted parses the arguments and returns the parts to run, in the order of the table.
func wanted(args []string) (all []*work, err error) {
	keep, sizes := "", map[string]int{} // 0: the usual one
	names := record.Each(parts, func(p part) string { return p.name })
	for _, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		if name == "keep" {
			keep = value
			continue
		}
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("%s: no such part; there are %s", arg, strings.Join(names, ", "))
		}
		sizes[name] = 0
		if given {
			if sizes[name], err = strconv.Atoi(value); parts[i].size == 0 || err != nil || sizes[name] < 1 {
				return nil, fmt.Errorf("%s: the size, of a part that has one, must be a number above 0", arg)
			}
		}
	}
	for _, p := range parts {
		size, named := sizes[p.name]
		if named || len(sizes) == 0 && p.size == 0 && !p.named {
			w := &work{part: p}
			if p.size > 0 {
				w.size, w.keep = cmp.Or(size, p.size), keep
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// begunEnv passes the time of the beginning to the process in the lab.
const begunEnv = "NETTOLL_BENCH_BEGUN"

// outside bounds each program that is compared or that builds something, and each part without a size.
const outside = 10 * time.Minute

// doAll runs the parts that need no lab, and then the others by starting this program once more in a lab.
func doAll(ctx context.Context, all []*work) error {
	dir, err := os.MkdirTemp("", "nettoll-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begun, err := time.Parse(time.RFC3339Nano, os.Getenv(begunEnv))
	if err != nil {
		begun = time.Now()
	}
	if lab.Inside() {
		if err := lab.Prepare(); err != nil {
			return err
		}
	}
	program := ""
	for i, w := range all {
		if w.inside != lab.Inside() {
			continue
		}
		if program == "" && !w.inside {
			if program, err = compiled(ctx, dir); err != nil {
				return err
			}
		}
		w.program, w.dir = program, dir
		left := record.Sum(all[i:], func(later *work) time.Duration { return later.takes })
		if w.takes > 0 {
			fmt.Fprintf(os.Stderr, "%d of %d: %s; %v since the beginning, about %v left\n", i+1, len(all), w.name, time.Since(begun).Round(time.Second), left)
		}
		if err := w.bounded(ctx); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if lab.Inside() || !slices.ContainsFunc(all, func(w *work) bool { return w.inside }) {
		return nil
	}
	if err := os.Setenv(begunEnv, begun.Format(time.RFC3339Nano)); err != nil {
		return err
	}
	status, err := lab.Enter(lab.EnterOptions{Remove: cgroup.Remove})
	if err == nil && status != 0 {
		err = fmt.Errorf("in the lab: exit status %d", status)
	}
	return err
}

func (w *work) bounded(ctx context.Context) error {
	if w.size == 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, outside)
		defer cancel()
	}
	return w.do(ctx, w)
}

// step reports what begins in a part that takes long, and the time left if the remaining steps take as long as
// those that are done.
func (w *work) step(what string) {
	left := ""
	if w.steps == 0 {
		w.began = time.Now()
	} else if w.total > w.steps {
		rest := time.Since(w.began) / time.Duration(w.steps) * time.Duration(w.total-w.steps)
		left = fmt.Sprintf(", about %v left", rest.Round(time.Second))
	}
	w.steps++
	fmt.Fprintf(os.Stderr, "%s: %d of %d: %s%s\n", w.name, w.steps, w.total, what, left)
}
