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

// known is the version whose figures these are known to be.
const known = "wrk 4.1.0"

// figures is what wrk says of a client's requests.
type figures struct {
	duration  time.Duration
	requests  uint64
	bytes     uint64            // received, with headers
	latencies program.Histogram // nil where there were too many different ones to be told
}

const (
	summaryMark = "nettoll summary "
	latencyMark = "nettoll latency_us"
	tooMany     = "too-many"
)

// parse reads what a client printed.
func parse(job workload.Job, text, _ string) (figures, error) {
	f, err := read(text, max(job.Options.Streams, 1))
	if err == nil && f.bytes < f.requests*uint64(bodySize(job)) {
		err = fmt.Errorf("%d responses were only %d bytes", f.requests, f.bytes)
	}
	return f, err
}

// read reads what the script has made wrk print. connections is how many there were.
func read(text string, connections int) (figures, error) {
	var f figures
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
		return f, fmt.Errorf("it printed no summary; known to work is %s", known)
	}
	fields, err := parseSummary(summary)
	if err != nil {
		return f, fmt.Errorf("summary: %w; known to work is %s", err, known)
	}
	var wrong []string
	for _, name := range []string{"connect", "read", "write", "status", "timeout"} {
		if n := fields[name]; n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d %s", n, describe[name]))
		}
	}
	if len(wrong) > 0 {
		return f, errors.New(strings.Join(wrong, ", "))
	}
	f.requests, f.bytes = fields["requests"], fields["bytes"]
	for _, name := range []string{"duration_us", "requests", "bytes"} {
		if fields[name] == 0 {
			return f, fmt.Errorf("%s is zero", name)
		}
	}
	const limit = uint64(1<<63-1) / uint64(time.Microsecond)
	if fields["duration_us"] > limit {
		return f, fmt.Errorf("summary: duration_us is %d", fields["duration_us"])
	}
	f.duration = time.Duration(fields["duration_us"]) * time.Microsecond
	h, err := parseLatencies(latencies)
	if err == nil && h != nil {
		f.latencies, err = uncorrected(h, f, connections)
	}
	if err != nil {
		return f, fmt.Errorf("latencies: %w; known to work is %s", err, known)
	}
	return f, nil
}

// describe says of the errors that wrk counts what they are.
var describe = map[string]string{
	"connect": "connections were refused",
	"read":    "connections broke while a response was read",
	"write":   "connections broke while a request was written",
	"status":  "responses were errors",
	"timeout": fmt.Sprintf("responses took longer than %d s", timeout),
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

// maxLatency is what wrk can have counted, in microseconds.
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
			return nil, fmt.Errorf("%q is none", field)
		}
		h[at] = n
	}
	if len(h) == 0 {
		return nil, errors.New("there are none")
	}
	return h, nil
}

// uncorrected takes out of a histogram what wrk has added to it. Since 4.0 wrk takes
// the mean time between two requests of a connection for the time at which each
// should have been sent, and for each response that took more than twice as long adds
// those that would have been waiting meanwhile. (See stats_correct in its stats.c.)
// What it added lies below the latency that it was added for, so that it can be
// taken out again from the top, exactly: then as many are left as there were requests.
func uncorrected(h program.Histogram, f figures, connections int) (program.Histogram, error) {
	if h.Count() == f.requests {
		return h, nil
	}
	each := f.requests / uint64(max(connections, 1))
	if each == 0 {
		return nil, fmt.Errorf("%d of %d requests", h.Count(), f.requests)
	}
	expected := f.duration.Microseconds() / int64(each)
	raw, sorted := maps.Clone(h), slices.Sorted(maps.Keys(h))
	for _, us := range slices.Backward(sorted) {
		if expected == 0 || us < 2*expected {
			break
		}
		n := raw[us]
		// Below the least there is wrk adds, too, but does not look there again.
		for m := us - expected; n > 0 && m > expected && m >= sorted[0]; m -= expected {
			if raw[m] < n {
				return nil, fmt.Errorf("%d of %d µs, when those of %d µs should have added %d", raw[m], m, us, n)
			}
			raw[m] -= n
		}
	}
	maps.DeleteFunc(raw, func(_ int64, n uint64) bool { return n == 0 })
	if raw.Count() != f.requests {
		return nil, fmt.Errorf("%d of %d requests", raw.Count(), f.requests)
	}
	return raw, nil
}

// together puts what the clients measured together.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var clients []program.Figures
	body, told := uint64(bodySize(job)), true
	for _, m := range all {
		conns := uint64(max(job.Options.Streams, 1))
		f := program.Figures{
			Flows:  []record.Flow{{Bytes: m.requests * body, Transactions: m.requests}},
			Bytes:  m.requests * body,
			Window: m.duration,
			Sums:   map[string]float64{record.TransactionRate: float64(m.requests) / m.duration.Seconds()},
		}
		if job.Options.NoKeepAlive {
			conns = m.requests
		} else {
			f.Histogram = m.latencies
			told = told && m.latencies != nil
		}
		f.Crossed = workload.Crossed{Bytes: m.bytes, Conns: conns}
		clients = append(clients, f)
	}
	r := program.Together(job, o, clients)
	if !told {
		r.Warnings = append(r.Warnings, record.Warning{
			Code: "no-latency",
			Text: "wrk has seen so many different latencies that it would take long to tell them all: percentiles are left out",
		})
	}
	return r
}
