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

// known is the version that is known to print this output.
const known = "redis-benchmark 7.0"

// columns is the header of the output. Times are in milliseconds.
var columns = []string{
	"test", "rps", "avg_latency_ms", "min_latency_ms", "p50_latency_ms",
	"p95_latency_ms", "p99_latency_ms", "max_latency_ms",
}

// run is redis-benchmark's report of one run.
type run struct {
	rate                float64 // requests per second
	mean, p50, p99, max float64 // seconds
}

// figures are the results of all runs of a client.
type figures struct {
	program.Figures
	first run
	runs  int
}

// half reports whether the first run had at least half of the requests: all runs have as many.
func (f figures) half() bool { return f.runs <= 2 }

// parse adds up the results of all runs of a client. Percentiles are those of the first run, if it had
// at least half of the requests. The window of a trial is the job's.
func parse(job workload.Job, text, _ string) (figures, error) {
	requests, runs, err := readOutput(text, valueSize(job))
	if err != nil {
		return figures{}, err
	}
	return sum(job, float64(requests), runs), nil
}

// readOutput reads a client's output: the size of the stored value, the number of requests of each run,
// and the runs.
func readOutput(text string, size int) (requests int, runs []run, err error) {
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

func parseRuns(text string) ([]run, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%w; %s is known to work", err, known)
	}
	if len(lines) == 0 || len(lines)%2 != 0 {
		return nil, fmt.Errorf("%d lines of output; %s is known to work", len(lines), known)
	}
	var runs []run
	for pair := range slices.Chunk(lines, 2) {
		if !slices.Equal(pair[0], columns) {
			return nil, fmt.Errorf("unknown columns %q; %s is known to work", pair[0], known)
		}
		one, err := parseRun(pair[1])
		if err != nil {
			return nil, err
		}
		runs = append(runs, one)
	}
	return runs, nil
}

func parseRun(line []string) (r run, err error) {
	if len(line) != len(columns) || line[0] != "GET" {
		return r, fmt.Errorf("unknown line %q; %s is known to work", line, known)
	}
	v := map[string]float64{}
	for i, name := range columns[1:] {
		n, err := strconv.ParseFloat(line[i+1], 64)
		switch {
		case err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0:
			return r, fmt.Errorf("%s is %q", name, line[i+1])
		case n == 0 && name != "min_latency_ms": // it is rounded down
			return r, fmt.Errorf("%s is zero", name)
		}
		v[name] = n
	}
	last := 0.0
	for _, name := range []string{"min_latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "max_latency_ms"} {
		if v[name] < last {
			return r, fmt.Errorf("%s is %v, but a lower percentile is %v", name, v[name], last)
		}
		last = v[name]
	}
	const second = 1e3 // in milliseconds
	return run{
		rate: v["rps"], mean: v["avg_latency_ms"] / second, p50: v["p50_latency_ms"] / second,
		p99: v["p99_latency_ms"] / second, max: v["max_latency_ms"] / second,
	}, nil
}

// step is the width of the classes in which redis-benchmark counts latencies: the lowest value that its
// histogram can discern is 10 µs, which is rounded to a power of two.
const step = 8e-6 // seconds

// sum adds up a client's runs, each of n requests.
func sum(job workload.Job, n float64, runs []run) figures {
	f := figures{first: runs[0], runs: len(runs)}
	var seconds, latency, longest float64
	for _, r := range runs {
		f.Transactions += n
		seconds += n / r.rate
		latency += n * r.mean
		longest = max(longest, r.max)
	}
	size, inWindow := uint64(valueSize(job)), uint64(min(f.Transactions, f.Transactions/seconds*job.Duration.Seconds()))
	f.Bytes, f.Window = inWindow*size, job.Duration
	f.Flows = []record.Flow{{Bytes: f.Bytes, Transactions: inWindow}}
	f.Crossed = workload.Crossed{Bytes: uint64(f.Transactions) * size, Conns: uint64(max(job.Options.Streams, 1)), Transactions: uint64(f.Transactions)}
	f.Sums = map[string]float64{record.TransactionRate: f.Transactions / seconds}
	f.Latency = map[string]float64{record.LatencyMean: latency / f.Transactions, record.LatencyMax: longest}
	if f.half() {
		f.Latency[record.LatencyP50], f.Latency[record.LatencyP99] = f.first.p50, f.first.p99
	}
	return f
}

// together combines the results of the clients; the rate of each is that of all its runs.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	r := program.Together(job, o, all)
	if f, coarse := all[0], 0.05; len(all) == 1 {
		r.Warnings = append(r.Warnings, record.Warn(!f.half(), "no-latency",
			"redis-benchmark was faster than in its first runs, and had to be run %d times: percentiles are left out", f.runs)...)
		r.Warnings = append(r.Warnings, record.Warn(f.half() && f.first.p50*coarse < step, "coarse-latency",
			"redis-benchmark counts latencies in steps of 8 µs, which is more than 5 %% of their median")...)
	}
	return r
}
