package qperf

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

var (
	saysField = regexp.MustCompile(`^    (\w+) += +(\S+)(?: (.*))?$`)
	// knownField matches the fields that qperf prints at the requested verbosity. It omits figures
	// that are zero.
	knownField = regexp.MustCompile(`^(bw|send_bw|recv_bw|latency|msg_rate|msg_size|port|sock_buf_size|time|timeout|send_cost|recv_cost|` +
		`(loc|rem)_(cpus_\w+|real_time|cpu_time|(send|recv)_(bytes|msgs|errors)))$`)
)

// units are those of the fields that are read and that qperf prints in a fixed unit.
var units = map[string]string{
	"msg_size": "bytes", "bw": "bits/sec", "recv_bw": "bits/sec", "latency": "ns", "loc_real_time": "ns", "rem_real_time": "ns",
	"loc_recv_bytes": "bytes", "rem_recv_bytes": "bytes", "loc_send_msgs": "", "loc_recv_msgs": "", "rem_recv_msgs": "",
}

// read parses the lines of a test.
func read(test, text string) (map[string]string, error) {
	strange := func(line string) error {
		return fmt.Errorf("qperf printed %.80q, which is unknown; version %s is known to work", line, known)
	}
	f := map[string]string{}
	titled := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		switch m := saysField.FindStringSubmatch(line); {
		case line == "":
		case line == test+":" && !titled:
			titled = true
		case m == nil || !titled || !knownField.MatchString(m[1]):
			return nil, strange(line)
		default:
			name, unit := m[1], m[3]
			if _, twice := f[name]; twice {
				return nil, strange(line)
			}
			if want, read := units[name]; read && unit != want {
				return nil, fmt.Errorf("qperf reported %s in %.20q, not in %q; version %s is known to work", name, unit, want, known)
			}
			f[name] = m[2]
		}
	}
	return f, nil
}

// count returns a whole number that is not zero.
func count(r *program.Reader, name string) uint64 {
	n := r.Positive(name)
	if n != math.Trunc(n) || n >= 1<<63 {
		r.Fail("reported %s=%v, which is not a count", name, n)
	}
	return uint64(n)
}

// figures are the results of one qperf.
type figures struct {
	program.Figures
	unanswered bool // the last request did not arrive
}

// parse reads the output of one qperf.
func parse(job workload.Job, text, _ string) (f figures, err error) {
	fields, err := read(tests[job.Workload].name, text)
	if err != nil {
		return f, err
	}
	r := &program.Reader{Program: "qperf", Known: "it was zero, or this is not version " + known, Fields: fields}
	if want := sizeOf(job); want > 0 {
		if size := count(r, "msg_size"); size != uint64(want) {
			r.Fail("wrote %d bytes at a time, not %d", size, want)
		}
	}
	if job.Workload == record.TCPStream || job.Workload == record.UDPStream {
		f.parseStream(r, job)
	} else {
		f.parseLatency(r)
	}
	f.Crossed = workload.Crossed{Bytes: f.Bytes, Conns: 1, Transactions: uint64(f.Transactions)}
	return f, r.Err
}

// parseStream reads the counts of the receiving remote end.
func (f *figures) parseStream(r *program.Reader, job workload.Job) {
	name, sent, received := "bw", uint64(0), uint64(0)
	if job.Workload == record.UDPStream {
		name = "recv_bw"
		sent, received = count(r, "loc_send_msgs"), count(r, "rem_recv_msgs")
	}
	throughput := r.Number(name)
	f.Bytes = count(r, "rem_recv_bytes")
	seconds := r.Positive("rem_real_time") / 1e9
	agree(r, "bit/s", throughput, float64(f.Bytes)*8/seconds)
	f.Flows, f.Sums = []record.Flow{{Bytes: f.Bytes}}, map[string]float64{record.Throughput: throughput}
	if job.Workload == record.UDPStream {
		f.Sums[record.PacketRate] = float64(received) / seconds
		f.Sent, f.Lost = float64(sent), float64(sent)-float64(received)
	}
}

// parseLatency doubles the latency, which is that of half the round trip, and so halves the rate,
// which counts messages in both directions.
func (f *figures) parseLatency(r *program.Reader) {
	transactions := count(r, "loc_recv_msgs")
	f.Bytes = count(r, "loc_recv_bytes") + count(r, "rem_recv_bytes")
	roundTrip := 2 * r.Positive("latency") / 1e9
	seconds := r.Positive("loc_real_time") / 1e9
	f.unanswered = count(r, "loc_send_msgs") > count(r, "rem_recv_msgs")
	agree(r, "transactions per second", 1/roundTrip, float64(transactions)/seconds)
	f.Flows, f.Sums = []record.Flow{{Transactions: transactions}}, map[string]float64{record.TransactionRate: 1 / roundTrip}
	f.Transactions, f.Latency = float64(transactions), map[string]float64{record.LatencyMean: roundTrip}
}

// agree compares a figure of qperf with the one computed from its counts and times.
func agree(r *program.Reader, unit string, says, counted float64) {
	if math.Abs(says-counted) > 0.1*says+1 {
		r.Fail("reported %.0f %s, but counted %.0f", says, unit, counted)
	}
}

// together combines the figures of all clients.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	r := program.Together(job, o, all)
	for i, m := range all {
		r.Warnings = append(r.Warnings, record.Warn(job.Workload == record.UDPRR && m.unanswered, record.WarnStalled,
			"the last request of %s had not arrived when the time was over: if it was lost, qperf waited for it until then, and the latency is too high",
			job.Pairs[i].Client.Name())...)
	}
	return r
}
