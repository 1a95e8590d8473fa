package netperf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// fields is netperf's output by selector.
type fields map[string]string

// chatter is what netperf says now and then when a test is over: that its timer
// has gone off once more.
const chatter = "catcher: timer popped with times_up != 0"

// read takes the lines NAME=VALUE apart, of which only those are known that were
// asked for.
func read(text string, asked []string) (fields, error) {
	f := fields{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line == chatter {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !slices.Contains(asked, name) {
			return nil, fmt.Errorf("netperf printed %.80q, which nobody asked for; version %s is known to work", line, known)
		}
		if _, twice := f[name]; twice {
			return nil, fmt.Errorf("netperf printed %s twice; version %s is known to work", name, known)
		}
		f[name] = value
	}
	return f, nil
}

func (f fields) text(name string) (string, error) {
	v, ok := f[name]
	if !ok {
		return "", fmt.Errorf("netperf did not print %s; version %s is known to work", name, known)
	}
	return v, nil
}

// is checks a field that must have a value, such as the unit of another.
func (f fields) is(name, want string) error {
	v, err := f.text(name)
	if err == nil && v != want {
		err = fmt.Errorf("netperf says %s=%.80s, not %s; version %s is known to work", name, v, want, known)
	}
	return err
}

func (f fields) number(name string) (float64, error) {
	v, err := f.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0, fmt.Errorf("netperf says %s=%.80s, which is no figure", name, v)
	}
	return n, nil
}

// positive is a number that is not zero where there was traffic.
func (f fields) positive(name string) (float64, error) {
	n, err := f.number(name)
	if err == nil && n == 0 {
		err = fmt.Errorf("netperf says %s=0: nothing was measured", name)
	}
	return n, err
}

func (f fields) count(name string) (uint64, error) {
	v, err := f.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("netperf says %s=%.80s, which is no count", name, v)
	}
	return n, nil
}

// figures is what one netperf measured, in base units.
type figures struct {
	seconds      float64
	bytes        uint64 // payload received, of transactions in both directions
	sent         uint64 // payload that the sender of a stream sent, less the last write of TCP
	throughput   float64
	transactions uint64
	rate         float64
	latency      map[string]float64 // by metric
	retransmits  float64            // negative where there is no TCP connection that lasts
	mss          uint64
	message      uint64 // bytes of a write of a stream
	congestion   string
}

// parse reads the output of one netperf.
func parse(job workload.Job, text, _ string) (figures, error) {
	t := tests[job.Workload]
	f, err := read(text, t.selectors())
	if err != nil {
		return figures{}, err
	}
	protocol, _, _ := strings.Cut(t.name, "_")
	if err := f.is("PROTOCOL", protocol); err != nil {
		return figures{}, err
	}
	if err := f.is("THROUGHPUT_UNITS", "10^3bits/s"); err != nil {
		return figures{}, err
	}
	m := figures{retransmits: -1}
	if m.seconds, err = f.positive("ELAPSED_TIME"); err != nil {
		return figures{}, err
	}
	if job.Workload == record.TCPStream || job.Workload == record.UDPStream {
		err = m.parseStream(f, job)
	} else {
		err = m.parseTransactions(f, job)
	}
	if err == nil && asksTransport(job) {
		err = m.parseTCP(f, job)
	}
	return m, err
}

// parseStream takes what the receiver counted. netperf computes the throughput
// from an elapsed time with more digits than it prints.
func (m *figures) parseStream(f fields, job workload.Job) (err error) {
	sender, receiver, direction := "LOCAL", "REMOTE", "Send"
	if job.Options.Reverse {
		sender, receiver, direction = receiver, sender, "Receive"
	}
	if err = f.is("DIRECTION", direction); err != nil {
		return err
	}
	if m.sent, err = f.count(sender + "_BYTES_SENT"); err != nil {
		return err
	}
	if m.bytes, err = f.count(receiver + "_BYTES_RECVD"); err != nil {
		return err
	}
	if m.throughput, err = f.positive("THROUGHPUT"); err != nil {
		return err
	}
	m.throughput *= 1e3
	if counted := float64(m.bytes) * 8 / m.seconds; math.Abs(counted-m.throughput) > 0.1*m.throughput {
		return fmt.Errorf("netperf says %.0f bit/s, but its receiver counted %.0f", m.throughput, counted)
	}
	want := uint64(job.Options.MessageSize)
	if job.Workload == record.UDPStream {
		want = uint64(datagramOf(job))
	}
	if m.message, err = f.count(sender + "_SEND_SIZE"); err != nil || want > 0 && m.message != want {
		return orElse(err, "netperf wrote %d bytes at a time, not %d", m.message, want)
	}
	return nil
}

// stalled is the least share of the time that transactions, one after the other,
// must have taken, if none was lost on the way.
const stalled = 0.5

func (m *figures) parseTransactions(f fields, job workload.Job) (err error) {
	request, response := transactionOf(job)
	for name, want := range map[string]int{"REQUEST_SIZE": request, "RESPONSE_SIZE": response} {
		if err := f.is(name, strconv.Itoa(want)); err != nil {
			return err
		}
	}
	received, err := f.count("LOCAL_BYTES_RECVD")
	if err != nil {
		return err
	}
	m.transactions = received / uint64(response)
	m.bytes = m.transactions * uint64(request+response)
	if m.rate, err = f.positive("TRANSACTION_RATE"); err != nil {
		return err
	}
	if counted := float64(m.transactions) / m.seconds; counted == 0 || math.Abs(counted-m.rate) > 0.1*m.rate+1 {
		return fmt.Errorf("netperf says %.0f transactions a second, but received %.0f", m.rate, counted)
	}
	m.latency = map[string]float64{}
	last := 0.0
	for _, field := range []struct{ metric, name string }{
		{record.LatencyMean, "MEAN_LATENCY"},
		{record.LatencyP50, "P50_LATENCY"},
		{record.LatencyP90, "P90_LATENCY"},
		{record.LatencyP99, "P99_LATENCY"},
		{record.LatencyMax, "MAX_LATENCY"},
	} {
		us, err := f.positive(field.name)
		if err != nil {
			return err
		}
		if field.metric != record.LatencyMean {
			if us < last {
				return fmt.Errorf("netperf says %s=%v, less than a lower percentile", field.name, us)
			}
			last = us
		}
		m.latency[field.metric] = us / 1e6
	}
	if busy := m.rate * m.latency[record.LatencyMean]; busy < stalled {
		return fmt.Errorf("netperf spent only %.0f %% of the time in transactions: it waits for ever for one that is lost", busy*100)
	}
	return nil
}

func (m *figures) parseTCP(f fields, job workload.Job) (err error) {
	if m.mss, err = f.count("TRANSPORT_MSS"); err != nil {
		return err
	}
	sender := "LOCAL"
	if job.Options.Reverse {
		sender = "REMOTE"
	}
	if m.congestion, err = f.text(sender + "_CONG_CONTROL"); err != nil {
		return err
	}
	if want := job.Options.Congestion; want != "" && m.congestion != want {
		return fmt.Errorf("netperf used the congestion control %q, not %q", m.congestion, want)
	}
	m.retransmits, err = f.number(sender + "_TRANSPORT_RETRANS")
	if err == nil && job.Workload == record.TCPRR {
		var remote float64
		remote, err = f.number("REMOTE_TRANSPORT_RETRANS")
		m.retransmits += remote
	}
	return err
}

func orElse(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

// asksTransport says whether there is one TCP connection, of which netperf tells.
func asksTransport(job workload.Job) bool {
	return job.Workload == record.TCPStream || job.Workload == record.TCPRR
}

// together puts the figures of all clients together.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var clients []program.Figures
	for _, m := range all {
		f := program.Figures{
			Flows: []record.Flow{m.flow(job)}, Crossed: workload.Crossed{Bytes: m.bytes, Conns: 1}, Bytes: m.bytes,
			Sums: map[string]float64{}, Transactions: float64(m.transactions), Latency: m.latency,
		}
		switch job.Workload {
		case record.TCPStream, record.UDPStream:
			f.Sums[record.Throughput] = m.throughput
		default:
			f.Sums[record.TransactionRate] = m.rate
		}
		switch job.Workload {
		case record.UDPStream:
			f.Sums[record.PacketRate] = m.throughput / 8 / float64(datagramOf(job))
			f.Sent, f.Lost = float64(m.sent), float64(m.sent)-float64(m.bytes)
		case record.TCPCRR:
			f.Crossed.Conns = m.transactions
		}
		if asksTransport(job) {
			f.Sums[record.Retransmits] = m.retransmits
		}
		clients = append(clients, f)
	}
	return program.Together(job, o, clients)
}

// flow has of TCP what netperf says: no round trip times.
func (m figures) flow(job workload.Job) record.Flow {
	f := record.Flow{Transactions: m.transactions}
	if m.transactions == 0 {
		f.Bytes, f.Message = m.bytes, int(min(m.message, math.MaxInt32))
	}
	if asksTransport(job) {
		f.TCP = &record.TCPInfo{Retransmits: uint32(m.retransmits), SndMSS: uint32(m.mss), Congestion: m.congestion}
	}
	return f
}
