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
	// knownField is what qperf prints with the verbosity that it is asked for. Figures
	// that are zero it leaves out.
	knownField = regexp.MustCompile(`^(bw|send_bw|recv_bw|latency|msg_rate|msg_size|port|sock_buf_size|time|timeout|send_cost|recv_cost|` +
		`(loc|rem)_(cpus_\w+|real_time|cpu_time|(send|recv)_(bytes|msgs|errors)))$`)
)

// units are those of the fields that are read, and that qperf prints in one.
var units = map[string]string{
	"msg_size": "bytes", "bw": "bits/sec", "recv_bw": "bits/sec", "latency": "ns", "loc_real_time": "ns", "rem_real_time": "ns",
	"loc_recv_bytes": "bytes", "rem_recv_bytes": "bytes", "loc_send_msgs": "", "loc_recv_msgs": "", "rem_recv_msgs": "",
}

// read takes the lines of a test apart.
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
				return nil, fmt.Errorf("qperf says %s in %.20q, not in %q; version %s is known to work", name, unit, want, known)
			}
			f[name] = m[2]
		}
	}
	return f, nil
}

// count is a whole number that is not zero.
func count(r *program.Reader, name string) uint64 {
	n := r.Positive(name)
	if n != math.Trunc(n) || n >= 1<<63 {
		r.Fail("says %s=%v, which is no count", name, n)
	}
	return uint64(n)
}

// figures is what one qperf measured, in base units.
type figures struct {
	seconds      float64
	bytes        uint64 // payload received, of transactions in both directions
	received     uint64 // datagrams
	sent         uint64 // datagrams
	throughput   float64
	transactions uint64
	roundTrip    float64
	unanswered   bool // the last request did not arrive
}

// parse reads the output of one qperf.
func parse(job workload.Job, text, _ string) (m figures, err error) {
	fields, err := read(tests[job.Workload].name, text)
	if err != nil {
		return m, err
	}
	r := &program.Reader{Program: "qperf", Known: "it was zero, or the version is another than " + known, Fields: fields}
	if want := sizeOf(job); want > 0 {
		if size := count(r, "msg_size"); size != uint64(want) {
			r.Fail("wrote %d bytes at a time, not %d", size, want)
		}
	}
	if job.Workload == record.TCPStream || job.Workload == record.UDPStream {
		m.parseStream(r, job)
	} else {
		m.parseLatency(r)
	}
	return m, r.Err
}

// parseStream takes what the remote end received.
func (m *figures) parseStream(r *program.Reader, job workload.Job) {
	name := "bw"
	if job.Workload == record.UDPStream {
		name = "recv_bw"
		m.sent, m.received = count(r, "loc_send_msgs"), count(r, "rem_recv_msgs")
	}
	m.throughput = r.Positive(name)
	m.bytes = count(r, "rem_recv_bytes")
	m.seconds = r.Positive("rem_real_time") / 1e9
	agree(r, "bit/s", m.throughput, float64(m.bytes)*8/m.seconds)
}

// parseLatency doubles the latency, which is of half the way, and halves the rate of
// messages, which are of both ways.
func (m *figures) parseLatency(r *program.Reader) {
	m.transactions = count(r, "loc_recv_msgs")
	m.bytes = count(r, "loc_recv_bytes") + count(r, "rem_recv_bytes")
	m.roundTrip = 2 * r.Positive("latency") / 1e9
	m.seconds = r.Positive("loc_real_time") / 1e9
	m.unanswered = count(r, "loc_send_msgs") > count(r, "rem_recv_msgs")
	agree(r, "transactions a second", 1/m.roundTrip, float64(m.transactions)/m.seconds)
}

// agree compares a figure of qperf with what its counts and times make of it.
func agree(r *program.Reader, unit string, says, counted float64) {
	if math.Abs(says-counted) > 0.1*says+1 {
		r.Fail("says %.0f %s, but counted %.0f", says, unit, counted)
	}
}

// together puts the figures of all clients together.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var clients []program.Figures
	for _, m := range all {
		f := program.Figures{
			Flows: []record.Flow{{Transactions: m.transactions}}, Crossed: workload.Crossed{Bytes: m.bytes, Conns: 1}, Bytes: m.bytes,
		}
		switch job.Workload {
		case record.TCPStream, record.UDPStream:
			f.Flows[0].Bytes = m.bytes
			f.Sums = map[string]float64{record.Throughput: m.throughput}
		default:
			f.Sums = map[string]float64{record.TransactionRate: 1 / m.roundTrip}
			f.Transactions, f.Latency = float64(m.transactions), map[string]float64{record.LatencyMean: m.roundTrip}
		}
		if job.Workload == record.UDPStream {
			f.Sums[record.PacketRate] = float64(m.received) / m.seconds
			f.Sent, f.Lost = float64(m.sent), float64(m.sent)-float64(m.received)
		}
		clients = append(clients, f)
	}
	r := program.Together(job, o, clients)
	for i, m := range all {
		if job.Workload == record.UDPRR && m.unanswered {
			r.Warnings = append(r.Warnings, record.Warning{Code: "maybe-stalled", Text: fmt.Sprintf(
				"the last request of %s had not arrived when the time was over: if it was lost, qperf waited for it until then, and the latency is too high",
				job.Pairs[i].Client.Name())})
		}
	}
	return r
}
