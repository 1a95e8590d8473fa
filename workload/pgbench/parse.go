package pgbench

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version whose output this is known to be.
const known = "pgbench 15"

// figures is what a client did in the window.
type figures struct {
	window    time.Duration
	clients   []uint64          // transactions of each connection
	latencies program.Histogram // of all
}

// Lines of pgbench itself, and of what was made of its log.
const (
	processedMark = "number of transactions actually processed: "
	failedMark    = "number of failed transactions: "
	unknownMark   = "nettoll unknown "
	windowMark    = "nettoll window "
	clientsMark   = "nettoll clients"
	latencyMark   = "nettoll latency_us"
)

// parse reads a client's output.
func parse(job workload.Job, text, _ string) (figures, error) {
	f, err := read(text, max(job.Options.Streams, 1))
	if err != nil {
		return f, fmt.Errorf("%w; known to work is %s", err, known)
	}
	return f, nil
}

// read reads a client's output. connections is how many it had.
func read(text string, connections int) (f figures, err error) {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for _, mark := range []string{processedMark, failedMark, unknownMark, windowMark, clientsMark, latencyMark} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				said[mark] = strings.TrimSpace(rest)
			}
		}
	}
	if line, ok := said[unknownMark]; ok {
		return f, fmt.Errorf("its log has the line %q", line)
	}
	for _, mark := range []string{processedMark, failedMark, windowMark, clientsMark, latencyMark} {
		if _, ok := said[mark]; !ok {
			return f, fmt.Errorf("it printed no %q", strings.Trim(mark, " :"))
		}
	}
	if failed, _, _ := strings.Cut(said[failedMark], " "); failed != "0" {
		return f, fmt.Errorf("%s transactions failed", said[failedMark])
	}
	var lines, us uint64
	if n, err := fmt.Sscanf(said[windowMark], "lines=%d us=%d", &lines, &us); n != 2 || err != nil {
		return f, fmt.Errorf("window is %q", said[windowMark])
	}
	if processed := strconv.FormatUint(lines, 10); lines == 0 || said[processedMark] != processed {
		return f, fmt.Errorf("its log has %d of %s transactions", lines, said[processedMark])
	}
	const longest = 1e12 // µs, more than a week
	if us == 0 || us > longest {
		return f, fmt.Errorf("a window of %d µs", us)
	}
	f.window = time.Duration(us) * time.Microsecond
	clients, err := parseCounts(said[clientsMark])
	if err != nil {
		return f, fmt.Errorf("clients: %w", err)
	}
	for i := range connections {
		if clients[int64(i)] == 0 {
			return f, fmt.Errorf("connection %d did nothing in the window", i)
		}
		f.clients = append(f.clients, clients[int64(i)])
	}
	if f.latencies, err = parseCounts(said[latencyMark]); err != nil {
		return f, fmt.Errorf("latencies: %w", err)
	}
	if total := clients.Count(); len(clients) != connections || total != f.latencies.Count() || total > lines {
		return f, fmt.Errorf("%d latencies of %d transactions by %d connections", f.latencies.Count(), total, len(clients))
	}
	return f, nil
}

// parseCounts reads "30:2 40:1".
func parseCounts(line string) (program.Histogram, error) {
	h := program.Histogram{}
	for field := range strings.FieldsSeq(line) {
		value, times, _ := strings.Cut(field, ":")
		v, err := strconv.ParseInt(value, 10, 48)
		n, err2 := strconv.ParseUint(times, 10, 48)
		if _, twice := h[v]; errors.Join(err, err2) != nil || v < 0 || n == 0 || twice {
			return nil, fmt.Errorf("%q is none", field)
		}
		h[v] = n
	}
	if len(h) == 0 {
		return nil, errors.New("there are none")
	}
	return h, nil
}

// answer is what the server sends for a transaction at least, in bytes: the messages
// BindComplete, DataRow with one digit, CommandComplete "SELECT 1" and ReadyForQuery
// of PostgreSQL's protocol 3.0.
const answer = 5 + (1 + 4 + 2 + 4 + 1) + (1 + 4 + 9) + 6

// together puts together what the clients measured.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var clients []program.Figures
	for _, m := range all {
		n := m.latencies.Count()
		f := program.Figures{
			Crossed: workload.Crossed{Bytes: n * answer, Conns: uint64(len(m.clients))}, Bytes: n * answer,
			Window: m.window, Histogram: m.latencies,
			Sums: map[string]float64{record.TransactionRate: float64(n) / m.window.Seconds()},
		}
		for _, n := range m.clients {
			f.Flows = append(f.Flows, record.Flow{Bytes: n * answer, Transactions: n})
		}
		clients = append(clients, f)
	}
	return program.Together(job, o, clients)
}
