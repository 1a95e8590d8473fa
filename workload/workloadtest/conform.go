// Package workloadtest is the conformance suite of the tools that are programs: one suite for all
// of them. It runs them over veth pairs of a lab, with real programs and with broken ones.
package workloadtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// second is the shortest window that all tools can measure.
const second = time.Second

// Conform runs the suite on a tool. A client process is recognized by the server's address among
// its arguments or in its environment. Where a server has the address there, too, server is a text
// that only its command line contains.
//
// A tool that is not installed is skipped, unless NETTOLL_REQUIRE names it in its comma-separated
// list.
func Conform(t *testing.T, of program.Tool, server string) {
	tool, programs := of.At(nil), of.Names()
	t.Run("missing", func(t *testing.T) { missing(t, of) })
	if err := tool.Probe(t.Context()); err != nil {
		required := strings.Split(os.Getenv("NETTOLL_REQUIRE"), ",")
		for _, name := range append([]string{tool.Name}, programs...) {
			if slices.Contains(required, name) {
				t.Fatalf("%s is required: %v", name, err)
			}
		}
		if !errors.Is(err, platform.ErrUnsupported) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if v, err := tool.Version(t.Context()); err != nil || v == "" || strings.ContainsAny(v, "\n ") {
		t.Errorf("version %q, error %v", v, err)
	}
	known := map[string]bool{}
	for _, d := range tool.Drives {
		if known[d.Workload] || len(record.Primary(d.Workload)) == 0 {
			t.Errorf("drives %s twice, or it is not a workload", d.Workload)
		}
		known[d.Workload] = true
	}
	// Trials wait for whole seconds, and run in parallel on networks of their own.
	t.Run("one client", func(t *testing.T) { oneClient(t, tool) })
	t.Run("several clients", func(t *testing.T) { several(t, tool) })
	t.Run("broken", func(t *testing.T) { broken(t, of, server) })
}

// missing gives each program a path at which there is no file.
func missing(t *testing.T, of program.Tool) {
	for _, name := range of.Names() {
		tool := of.At(program.Paths{name: t.TempDir() + "/" + name})
		err := tool.Probe(t.Context())
		var why *platform.Unsupported
		if !errors.Is(err, platform.ErrUnsupported) || !errors.As(err, &why) || why.Remedy == "" {
			t.Errorf("without %s: probe says %v, with no remedy or not that it is unsupported", name, err)
		}
		if _, err := tool.Run(t.Context(), workload.Job{Workload: tool.Drives[0].Workload, Duration: second}); err == nil {
			t.Errorf("without %s: a trial runs", name)
		}
	}
}

// oneClient drives every workload over both families, with and without options. Of each workload but the first,
// trials without options and trials with them take turns.
func oneClient(t *testing.T, tool workload.Tool) {
	one := network.Topology{Hosts: 1, Servers: 1, Clients: 1}
	for i, d := range tool.Drives {
		turns := func(k int) func(*testing.T) {
			return func(t *testing.T) {
				if i > 0 {
					alternate(t, i+k)
				}
			}
		}
		o := optionsOf(d)
		if o == (record.Options{}) {
			trial(t, tool, one, d, "plain", network.IPv4, o, 0, always)
		} else {
			trial(t, tool, one, d, "plain", network.IPv4, record.Options{}, 0, turns(0))
			trial(t, tool, one, d, "options", network.IPv4, o, 0, turns(1))
		}
		if i == 0 && !d.IPv4Only {
			trial(t, tool, one, d, "IPv6", network.IPv6, record.Options{}, 0, always)
		}
		if slices.Contains(d.Options, "reverse") {
			trial(t, tool, one, d, "reverse", network.IPv4, record.Options{Reverse: true, Congestion: o.Congestion}, 0, always)
		}
	}
}

// always is the turn of trials that run each time.
func always(*testing.T) {}

// alternate has a trial run in every second run of the suite, see turn.Alternate.
func alternate(t *testing.T, i int) {
	t.Helper()
	turn.Alternate(t, i, "workload/workloadtest", "internal/program", "internal/keeper", "agent")
}

// several has six clients of two servers, two in each container. Workloads but the first take turns.
func several(t *testing.T, tool workload.Tool) {
	for i, d := range tool.Drives {
		family := network.IPv6
		if d.IPv4Only {
			family = network.IPv4
		}
		turns := always
		if i > 0 {
			turns = func(t *testing.T) { alternate(t, i) }
		}
		trial(t, tool, network.Topology{Hosts: 1, Servers: 2, Clients: 3, Processes: 2}, d, "warm", family, record.Options{}, second/5, turns)
	}
}

func trial(t *testing.T, tool workload.Tool, topo network.Topology, d workload.Drive, what string, f network.Family, o record.Options, warmup time.Duration, turns func(*testing.T)) {
	t.Run(fmt.Sprintf("%s %s", d.Workload, what), func(t *testing.T) {
		turns(t)
		t.Parallel()
		trialOn(t, tool, connect(t, topo), d, f, o, warmup)
	})
}

func trialOn(t *testing.T, tool workload.Tool, n *standing, d workload.Drive, f network.Family, o record.Options, warmup time.Duration) {
	job, w := n.job(t, d.Workload, f)
	job.Options, job.Warmup = o, warmup
	confined := n.confined(t, job)
	var counts [][]network.Count
	var r workload.Result
	var bad wrong
	var err error
	// Beside other tests, a program may get no CPU time for most of its window, and says so, is refused by its parser or
	// has odd figures. That is less likely the longer the window. What is wrong with a tool is wrong each time.
	for range 5 {
		counts, *w, bad = n.count(t, f), watched{}, nil
		if r, err = tool.Run(t.Context(), job); err == nil {
			bad.check(job, r)
		}
		if err == nil && len(bad) == 0 && !missesMost(job, r, n.counted(t, counts, f)) {
			break
		}
		t.Logf("an attempt failed: error %v, %s received, %q", err, megabytes(r.Bytes), bad)
		job.Duration += second
	}
	confined()
	iferr.Fatal(t, err)
	w.check(t, 1)
	n.nothingLeft(t)
	for _, what := range bad {
		t.Error(what)
	}
	if len(bad) > 0 {
		return
	}
	n.checkCrossed(t, job, r, counts, f)
}

// numbers are values of options that are small enough for every network.
var numbers = map[string]int{
	"streams": 2, "message-size": 4096, "window": 128 << 10, "request-size": 100, "response-size": 200,
	"bandwidth": 40_000_000, "rate": 500,
}

// optionsOf sets all options that a drive honours at once, except those that reverse the traffic or
// leave connections behind.
func optionsOf(d workload.Drive) record.Options {
	var c record.Cell
	for _, name := range d.Options {
		option, _ := record.DimensionOf(name)
		switch field := option.Field(&c).(type) {
		case *int:
			*field = numbers[name]
		case *string:
			*field = "reno" // congestion control, which every kernel has
		case *bool:
			*field = name != "reverse" && name != "no-keep-alive"
		}
	}
	if c.Options.MessageSize > 0 && (d.Workload == record.UDPStream || d.Workload == record.UDPRR) {
		c.Options.MessageSize = 1000
	}
	return c.Options
}
