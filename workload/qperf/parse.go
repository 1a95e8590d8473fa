package qperf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// field is a figure with its unit.
type field struct{ value, unit string }

type fields map[string]field

var (
	saysField = regexp.MustCompile(`^    (\w+) += +(\S+)(?: (.*))?$`)
	// knownField is what qperf prints with the verbosity that it is asked for. Figures
	// that are zero it leaves out.
	knownField = regexp.MustCompile(`^(bw|send_bw|recv_bw|latency|msg_rate|msg_size|port|sock_buf_size|time|timeout|send_cost|recv_cost|` +
		`(loc|rem)_(cpus_\w+|real_time|cpu_time|(send|recv)_(bytes|msgs|errors)))$`)
)

// read takes the lines of a test apart.
func read(test, text string) (fields, error) {
	strange := func(line string) error {
		return fmt.Errorf("qperf printed %.80q, which is unknown; version %s is known to work", line, known)
	}
	f := fields{}
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
			if _, twice := f[m[1]]; twice {
				return nil, strange(line)
			}
			f[m[1]] = field{m[2], m[3]}
		}
	}
	return f, nil
}

// number is a field in the unit that it must have.
func (f fields) number(name, unit string) (float64, error) {
	v, ok := f[name]
	if !ok {
		return 0, fmt.Errorf("qperf did not print %s: it was zero, or the version is another than %s", name, known)
	}
	n, err := strconv.ParseFloat(v.value, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0, fmt.Errorf("qperf says %s=%.80s, which is no figure", name, v.value)
	}
	if v.unit != unit {
		return 0, fmt.Errorf("qperf says %s in %.20q, not in %q; version %s is known to work", name, v.unit, unit, known)
	}
	return n, nil
}

// positive is a number that is not zero where there was traffic.
func (f fields) positive(name, unit string) (float64, error) {
	n, err := f.number(name, unit)
	if err == nil && n == 0 {
		err = fmt.Errorf("qperf says %s=0: nothing was measured", name)
	}
	return n, err
}

func (f fields) count(name, unit string) (uint64, error) {
	n, err := f.positive(name, unit)
	if err == nil && (n != math.Trunc(n) || n >= 1<<63) {
		err = fmt.Errorf("qperf says %s=%v, which is no count", name, n)
	}
	return uint64(n), err
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
	f, err := read(tests[job.Workload].name, text)
	if err != nil {
		return m, err
	}
	if want := sizeOf(job); want > 0 {
		if size, err := f.count("msg_size", "bytes"); err != nil {
			return m, err
		} else if size != uint64(want) {
			return m, fmt.Errorf("qperf wrote %d bytes at a time, not %d", size, want)
		}
	}
	if job.Workload == record.TCPStream || job.Workload == record.UDPStream {
		return parseStream(job, f)
	}
	return parseLatency(f)
}

// parseStream takes what the remote end received.
func parseStream(job workload.Job, f fields) (m figures, err error) {
	name := "bw"
	if job.Workload == record.UDPStream {
		name = "recv_bw"
		if m.sent, err = f.count("loc_send_msgs", ""); err != nil {
			return m, err
		}
		if m.received, err = f.count("rem_recv_msgs", ""); err != nil {
			return m, err
		}
	}
	if m.throughput, err = f.positive(name, "bits/sec"); err != nil {
		return m, err
	}
	if m.bytes, err = f.count("rem_recv_bytes", "bytes"); err != nil {
		return m, err
	}
	if m.seconds, err = f.positive("rem_real_time", "ns"); err != nil {
		return m, err
	}
	m.seconds /= 1e9
	return m, agree("bit/s", m.throughput, float64(m.bytes)*8/m.seconds)
}

// parseLatency doubles the latency, which is of half the way, and halves the rate of
// messages, which are of both ways.
func parseLatency(f fields) (m figures, err error) {
	if m.transactions, err = f.count("loc_recv_msgs", ""); err != nil {
		return m, err
	}
	local, err := f.count("loc_recv_bytes", "bytes")
	if err != nil {
		return m, err
	}
	remote, err := f.count("rem_recv_bytes", "bytes")
	if err != nil {
		return m, err
	}
	m.bytes = local + remote
	oneWay, err := f.positive("latency", "ns")
	if err != nil {
		return m, err
	}
	m.roundTrip = 2 * oneWay / 1e9
	if m.seconds, err = f.positive("loc_real_time", "ns"); err != nil {
		return m, err
	}
	m.seconds /= 1e9
	asked, err := f.count("loc_send_msgs", "")
	if err != nil {
		return m, err
	}
	heard, err := f.count("rem_recv_msgs", "")
	if err != nil {
		return m, err
	}
	m.unanswered = asked > heard
	return m, agree("transactions a second", 1/m.roundTrip, float64(m.transactions)/m.seconds)
}

// agree compares a figure of qperf with what its counts and times make of it.
func agree(unit string, says, counted float64) error {
	if math.Abs(says-counted) > 0.1*says+1 {
		return fmt.Errorf("qperf says %.0f %s, but counted %.0f", says, unit, counted)
	}
	return nil
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
