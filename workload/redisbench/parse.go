package redisbench

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version whose output this is known to be.
const known = "redis-benchmark 7.0"

// columns is the header of the output. Times are in milliseconds.
var columns = []string{
	"test", "rps", "avg_latency_ms", "min_latency_ms", "p50_latency_ms",
	"p95_latency_ms", "p99_latency_ms", "max_latency_ms",
}

// figures is what redis-benchmark says of one run.
type figures struct {
	rate                float64 // requests a second
	mean, p50, p99, max float64 // seconds
}

// parse adds up what a client did in all its runs.
func parse(job workload.Job, text, _ string) (done, error) {
	requests, runs, err := readOutput(text, valueSize(job))
	if err != nil {
		return done{}, err
	}
	return sum(requests, runs), nil
}

// readOutput reads a client's output: the size of the stored value, the number of requests
// of each run, and the runs.
func readOutput(text string, size int) (requests int, runs []figures, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if stored, err := strconv.Atoi(strings.TrimSpace(first)); err != nil || stored != size {
		return 0, nil, fmt.Errorf("store a value of %d bytes: %q", size, first)
	}
	first, rest, _ = strings.Cut(rest, "\n")
	if requests, err = strconv.Atoi(strings.TrimSpace(first)); err != nil || requests < 1 {
		return 0, nil, fmt.Errorf("%q requests", first)
	}
	runs, err = parseRuns(rest)
	return requests, runs, err
}

func parseRuns(text string) ([]figures, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%w; known to work is %s", err, known)
	}
	if len(lines) == 0 || len(lines)%2 != 0 {
		return nil, fmt.Errorf("%d lines of output; known to work is %s", len(lines), known)
	}
	var runs []figures
	for pair := range slices.Chunk(lines, 2) {
		if !slices.Equal(pair[0], columns) {
			return nil, fmt.Errorf("unknown columns %q; known to work is %s", pair[0], known)
		}
		f, err := parseRun(pair[1])
		if err != nil {
			return nil, err
		}
		runs = append(runs, f)
	}
	return runs, nil
}

func parseRun(line []string) (f figures, err error) {
	if len(line) != len(columns) || line[0] != "GET" {
		return f, fmt.Errorf("unknown line %q; known to work is %s", line, known)
	}
	v := map[string]float64{}
	for i, name := range columns[1:] {
		n, err := strconv.ParseFloat(line[i+1], 64)
		switch {
		case err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0:
			return f, fmt.Errorf("%s is %q", name, line[i+1])
		case n == 0 && name != "min_latency_ms": // which is rounded down
			return f, fmt.Errorf("%s is zero", name)
		}
		v[name] = n
	}
	last := 0.0
	for _, name := range []string{"min_latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "max_latency_ms"} {
		if v[name] < last {
			return f, fmt.Errorf("%s is %v, and what should be less is %v", name, v[name], last)
		}
		last = v[name]
	}
	const second = 1e3 // in milliseconds
	return figures{
		rate: v["rps"], mean: v["avg_latency_ms"] / second, p50: v["p50_latency_ms"] / second,
		p99: v["p99_latency_ms"] / second, max: v["max_latency_ms"] / second,
	}, nil
}

// step is the width of the classes that redis-benchmark counts latencies in: its
// histogram has 10 µs as the least that it tells apart, which is rounded to a power
// of two.
const step = 8e-6 // seconds

// done is what a client has done in all its runs.
type done struct {
	requests, seconds float64
	latency           float64 // sum over all requests, in seconds
	max               float64
	first             figures
	share             float64 // of the requests, that the first run had
}

// sum adds up a client's runs, each of n requests.
func sum(n int, runs []figures) done {
	d := done{first: runs[0], share: 1 / float64(len(runs))}
	for _, f := range runs {
		d.requests += float64(n)
		d.seconds += float64(n) / f.rate
		d.latency += float64(n) * f.mean
		d.max = max(d.max, f.max)
	}
	return d
}

// together puts together what the clients measured, with the rate of all that each has done.
// Percentiles are those of the first run, when that is most of what the only client did.
func together(job workload.Job, o program.Outcome, all []done) workload.Result {
	var clients []program.Figures
	size := uint64(valueSize(job))
	for _, d := range all {
		inWindow := uint64(min(d.requests, d.requests/d.seconds*o.Window.Seconds()))
		f := program.Figures{
			Flows:        []record.Flow{{Bytes: inWindow * size, Transactions: inWindow}},
			Crossed:      workload.Crossed{Bytes: uint64(d.requests) * size, Conns: uint64(max(job.Options.Streams, 1))},
			Bytes:        inWindow * size,
			Window:       o.Window,
			Sums:         map[string]float64{record.TransactionRate: d.requests / d.seconds},
			Transactions: d.requests,
			Latency:      map[string]float64{record.LatencyMean: d.latency / d.requests, record.LatencyMax: d.max},
		}
		if d.most() {
			f.Latency[record.LatencyP50], f.Latency[record.LatencyP99] = d.first.p50, d.first.p99
		}
		clients = append(clients, f)
	}
	r := program.Together(job, o, clients)
	if d, coarse := all[0], 0.05; len(all) > 1 {
		return r
	} else if !d.most() {
		r.Warnings = append(r.Warnings, record.Warning{Code: "no-latency", Text: fmt.Sprintf(
			"redis-benchmark was faster than it had been before, and had to be run %.0f times: percentiles are left out", 1/d.share)})
	} else if d.first.p50*coarse < step {
		r.Warnings = append(r.Warnings, record.Warning{
			Code: "coarse-latency", Text: "redis-benchmark counts latencies in steps of 8 µs, which is more than 5 % of these",
		})
	}
	return r
}

// most says whether the first run had most of the requests.
func (d done) most() bool { return d.share >= 0.5 }
