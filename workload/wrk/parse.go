package wrk

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version that is known to print these figures.
const known = "wrk 4.1.0"

const (
	summaryMark = "nettoll summary "
	latencyMark = "nettoll latency_us"
	tooMany     = "too-many"
)

// parse reads a client's output. Latencies are left out where each request has a connection of its
// own, because they do not include making it.
func parse(job workload.Job, text, _ string) (program.Figures, error) {
	f, err := read(text, max(job.Options.Streams, 1))
	if err != nil {
		return f, err
	}
	requests := uint64(f.Transactions)
	f.Bytes, f.Crossed.Conns, f.Crossed.Transactions = requests*uint64(bodySize(job)), uint64(max(job.Options.Streams, 1)), requests
	if f.Crossed.Bytes < f.Bytes {
		return f, fmt.Errorf("%d responses were only %d bytes", requests, f.Crossed.Bytes)
	}
	if job.Options.NoKeepAlive {
		f.Histogram, f.Crossed.Conns = nil, requests
	}
	f.Flows = []record.Flow{{Bytes: f.Bytes, Transactions: requests}}
	f.Sums = map[string]float64{record.TransactionRate: f.Transactions / f.Window.Seconds()}
	return f, nil
}

// read reads the figures that the script has made wrk print: the time, the requests, the bytes
// received, including headers, and the latencies, which are nil if there were too many different
// ones to print. connections is the number of connections.
func read(text string, connections int) (f program.Figures, err error) {
	summary, latencies := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if s, ok := strings.CutPrefix(line, summaryMark); ok {
			summary = s
		} else if s, ok := strings.CutPrefix(line, latencyMark); ok {
			latencies = s
		}
	}
	if summary == "" {
		return f, fmt.Errorf("it printed no summary; %s is known to work", known)
	}
	fields, err := parseSummary(summary)
	if err != nil {
		return f, fmt.Errorf("summary: %w; %s is known to work", err, known)
	}
	var wrong []string
	for _, name := range []string{"connect", "read", "write", "status", "timeout"} {
		if n := fields[name]; n > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d", describe[name], n))
		}
	}
	if len(wrong) > 0 {
		return f, errors.New(strings.Join(wrong, ", "))
	}
	f.Transactions, f.Crossed.Bytes = float64(fields["requests"]), fields["bytes"]
	for _, name := range []string{"duration_us", "requests", "bytes"} {
		if fields[name] == 0 {
			return f, fmt.Errorf("%s is zero", name)
		}
	}
	const limit = uint64(1<<63-1) / uint64(time.Microsecond)
	if fields["duration_us"] > limit {
		return f, fmt.Errorf("summary: duration_us is %d", fields["duration_us"])
	}
	f.Window = time.Duration(fields["duration_us"]) * time.Microsecond
	h, err := parseLatencies(latencies)
	if err == nil && h != nil {
		f.Histogram, err = uncorrected(h, f, connections)
	}
	if err != nil {
		return f, fmt.Errorf("latencies: %w; %s is known to work", err, known)
	}
	return f, nil
}

// describe explains the errors that wrk counts.
var describe = map[string]string{
	"connect": "refused connections",
	"read":    "connections that broke while a response was read",
	"write":   "connections that broke while a request was written",
	"status":  "responses that were errors",
	"timeout": fmt.Sprintf("responses that took longer than %d s", timeout),
}

func parseSummary(line string) (map[string]uint64, error) {
	fields := map[string]uint64{}
	for field := range strings.FieldsSeq(line) {
		name, value, _ := strings.Cut(field, "=")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is %q", name, value)
		}
		fields[name] = n
	}
	for _, name := range []string{"duration_us", "requests", "bytes", "connect", "read", "write", "status", "timeout"} {
		if _, ok := fields[name]; !ok {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return fields, nil
}

// maxLatency is the longest latency that wrk can have counted, in microseconds.
const maxLatency = (timeout + 1) * 1e6

func parseLatencies(line string) (program.Histogram, error) {
	if strings.TrimSpace(line) == tooMany {
		return nil, nil
	}
	h, at := program.Histogram{}, int64(0)
	for field := range strings.FieldsSeq(line) {
		gap, times, more := strings.Cut(field, "*")
		if !more {
			times = "1"
		}
		g, err := strconv.ParseInt(gap, 10, 32)
		n, err2 := strconv.ParseUint(times, 10, 48)
		at += g
		if errors.Join(err, err2) != nil || g < 0 || g == 0 && at > 0 || n == 0 || at > maxLatency {
			return nil, fmt.Errorf("%q is not valid", field)
		}
		h[at] = n
	}
	if len(h) == 0 {
		return nil, errors.New("there are none")
	}
	return h, nil
}

// uncorrected removes from a histogram the latencies that wrk has added. Since 4.0 wrk assumes that
// the requests of a connection should be sent at equal intervals, their mean one. For each response
// that took more than two intervals, it adds the latencies of the requests that would have waited
// meanwhile. (See stats_correct in its stats.c.) The added latencies lie below the one that they
// were added for, so they can be removed exactly, starting from the top: the number that remains
// then equals the number of requests.
func uncorrected(h program.Histogram, f program.Figures, connections int) (program.Histogram, error) {
	requests := uint64(f.Transactions)
	if h.Count() == requests {
		return h, nil
	}
	each := requests / uint64(max(connections, 1))
	if each == 0 {
		return nil, fmt.Errorf("%d of %d requests", h.Count(), requests)
	}
	expected := f.Window.Microseconds() / int64(each)
	raw, sorted := maps.Clone(h), slices.Sorted(maps.Keys(h))
	for _, us := range slices.Backward(sorted) {
		if expected == 0 || us < 2*expected {
			break
		}
		n := raw[us]
		// wrk also adds latencies below the lowest one it measured, but does not report those.
		for m := us - expected; n > 0 && m > expected && m >= sorted[0]; m -= expected {
			if raw[m] < n {
				return nil, fmt.Errorf("%d of %d µs, when those of %d µs should have added %d", raw[m], m, us, n)
			}
			raw[m] -= n
		}
	}
	maps.DeleteFunc(raw, func(_ int64, n uint64) bool { return n == 0 })
	if raw.Count() != requests {
		return nil, fmt.Errorf("%d of %d requests", raw.Count(), requests)
	}
	return raw, nil
}

// together combines the results of the clients.
func together(job workload.Job, o program.Outcome, all []program.Figures) workload.Result {
	r := program.Together(job, o, all)
	untold := func(f program.Figures) bool { return f.Histogram == nil }
	r.Warnings = append(r.Warnings, record.Warn(!job.Options.NoKeepAlive && slices.ContainsFunc(all, untold), "no-latency",
		"wrk measured too many different latencies to report them all: percentiles are left out")...)
	return r
}
