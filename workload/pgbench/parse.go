package pgbench

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version that is known to print this output.
const known = "pgbench 15"

// Beginnings of lines of pgbench itself, and of the summary of its log.
const (
	processedMark = "number of transactions actually processed: "
	failedMark    = "number of failed transactions: "
	loggedMark    = "nettoll log "
)

// figures are the results of one client.
type figures struct {
	program.Figures
	late time.Duration // by how much its window began later than that of the CPU time
}

// parse reads a client's output.
func parse(job workload.Job, text, _ string) (figures, error) {
	f, err := read(text, max(job.Options.Streams, 1))
	if err != nil {
		return f, fmt.Errorf("%w; %s is known to work", err, known)
	}
	return f, nil
}

// read reads a client's output. connections is the number of its connections.
func read(text string, connections int) (f figures, err error) {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for _, mark := range []string{processedMark, failedMark, loggedMark} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				said[mark] = strings.TrimSpace(rest)
			}
		}
	}
	for _, mark := range []string{processedMark, failedMark, loggedMark} {
		if _, ok := said[mark]; !ok {
			return f, fmt.Errorf("it printed no %q", strings.Trim(mark, " :"))
		}
	}
	if failed, _, _ := strings.Cut(said[failedMark], " "); failed != "0" {
		return f, fmt.Errorf("%s transactions failed", said[failedMark])
	}
	var log logged
	if err := json.Unmarshal([]byte(said[loggedMark]), &log); err != nil {
		return f, fmt.Errorf("its log: %w", err)
	}
	if log.Unknown != "" {
		return f, fmt.Errorf("its log has the line %q", log.Unknown)
	}
	if processed := strconv.FormatInt(log.Lines, 10); log.Lines <= 0 || said[processedMark] != processed {
		return f, fmt.Errorf("its log has %d of %s transactions", log.Lines, said[processedMark])
	}
	const longest = 1e12 // µs, more than a week
	if log.Microseconds <= 0 || log.Microseconds > longest {
		return f, fmt.Errorf("a window of %d µs", log.Microseconds)
	}
	if log.Late < 0 || log.Late > longest {
		return f, fmt.Errorf("a window that began %d µs late", log.Late)
	}
	f.late = time.Duration(log.Late) * time.Microsecond
	f.Window, f.Histogram = time.Duration(log.Microseconds)*time.Microsecond, log.Latencies
	counted := uint64(0)
	for i := range connections {
		n := log.Clients[int64(i)]
		counted += n
		f.Flows = append(f.Flows, record.Flow{Bytes: n * answer, Transactions: n})
	}
	n := f.Histogram.Count()
	if total := log.Clients.Count(); n == 0 || counted != total || total != n || total > uint64(log.Lines) {
		return f, fmt.Errorf("%d latencies of %d transactions, %d of them by %d connections", n, total, counted, connections)
	}
	f.Transactions = float64(n)
	f.Bytes, f.Crossed = n*answer, workload.Crossed{Bytes: n * answer, Conns: uint64(connections), Transactions: n}
	f.Sums = map[string]float64{record.TransactionRate: float64(n) / f.Window.Seconds()}
	return f, nil
}

// together combines the figures of all clients.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	r := program.Together(job, o, all)
	_, window := program.Window(job)
	const tolerance = 0.1 // of the window
	var most time.Duration
	for _, f := range all {
		most = max(most, f.late, window-f.Window)
	}
	r.Warnings = append(r.Warnings, record.Warn(most.Seconds() > tolerance*window.Seconds(), "other-window",
		"the transactions of a client were counted in a window that differed by up to %v from that of the CPU time, of %v: connections took longer than expected",
		most.Round(time.Millisecond), window)...)
	return r
}

// answer is the least that the server sends for a transaction, in bytes: the messages BindComplete,
// DataRow with one digit, CommandComplete "SELECT 1" and ReadyForQuery of PostgreSQL's protocol
// 3.0.
const answer = 5 + (1 + 4 + 2 + 4 + 1) + (1 + 4 + 9) + 6
