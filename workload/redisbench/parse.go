package redisbench

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// parse reads a client's output: the size of the stored value, the number of requests
// of each run, and the runs.
func parse(text string, size int) (requests int, runs []figures, err error) {
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
