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

// chatter is what netperf says now and then when a test is over: that its timer
// has gone off once more.
const chatter = "catcher: timer popped with times_up != 0"

// read takes the lines NAME=VALUE apart, of which only those are known that were
// asked for.
func read(text string, asked []string) (map[string]string, error) {
	f := map[string]string{}
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
	fields, err := read(text, t.selectors())
	if err != nil {
		return figures{}, err
	}
	r := &program.Reader{Program: "netperf", Known: "version " + known + " is known to work", Fields: fields}
	protocol, _, _ := strings.Cut(t.name, "_")
	r.Is("PROTOCOL", protocol)
	r.Is("THROUGHPUT_UNITS", "10^3bits/s")
	m := figures{retransmits: -1, seconds: r.Positive("ELAPSED_TIME")}
	if job.Workload == record.TCPStream || job.Workload == record.UDPStream {
		m.parseStream(r, job)
	} else {
		m.parseTransactions(r, job)
	}
	if asksTransport(job) {
		m.parseTCP(r, job)
	}
	return m, r.Err
}

// parseStream takes what the receiver counted. netperf computes the throughput
// from an elapsed time with more digits than it prints.
func (m *figures) parseStream(r *program.Reader, job workload.Job) {
	sender, receiver, direction := "LOCAL", "REMOTE", "Send"
	if job.Options.Reverse {
		sender, receiver, direction = receiver, sender, "Receive"
	}
	r.Is("DIRECTION", direction)
	m.sent = r.Count(sender + "_BYTES_SENT")
	m.bytes = r.Count(receiver + "_BYTES_RECVD")
	m.throughput = r.Positive("THROUGHPUT") * 1e3
	if counted := float64(m.bytes) * 8 / m.seconds; math.Abs(counted-m.throughput) > 0.1*m.throughput {
		r.Fail("says %.0f bit/s, but its receiver counted %.0f", m.throughput, counted)
	}
	want := uint64(job.Options.MessageSize)
	if job.Workload == record.UDPStream {
		if want = uint64(datagramOf(job)); m.sent == 0 {
			r.Fail("received %d bytes of datagrams, and sent none", m.bytes)
		}
	}
	if m.message = r.Count(sender + "_SEND_SIZE"); want > 0 && m.message != want {
		r.Fail("wrote %d bytes at a time, not %d", m.message, want)
	}
}

// stalled is the least share of the time that transactions, one after the other,
// must have taken, if none was lost on the way.
const stalled = 0.5

func (m *figures) parseTransactions(r *program.Reader, job workload.Job) {
	request, response := transactionOf(job)
	r.Is("REQUEST_SIZE", strconv.Itoa(request))
	r.Is("RESPONSE_SIZE", strconv.Itoa(response))
	m.transactions = r.Count("LOCAL_BYTES_RECVD") / uint64(response)
	m.bytes = m.transactions * uint64(request+response)
	m.rate = r.Positive("TRANSACTION_RATE")
	if counted := float64(m.transactions) / m.seconds; counted == 0 || math.Abs(counted-m.rate) > 0.1*m.rate+1 {
		r.Fail("says %.0f transactions a second, but received %.0f", m.rate, counted)
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
		us := r.Positive(field.name)
		if field.metric != record.LatencyMean {
			if us < last {
				r.Fail("says %s=%v, less than a lower percentile", field.name, us)
			}
			last = us
		}
		m.latency[field.metric] = us / 1e6
	}
	if busy := m.rate * m.latency[record.LatencyMean]; busy < stalled {
		r.Fail("spent only %.0f %% of the time in transactions: it waits for ever for one that is lost", busy*100)
	}
}

func (m *figures) parseTCP(r *program.Reader, job workload.Job) {
	m.mss = r.Count("TRANSPORT_MSS")
	sender := "LOCAL"
	if job.Options.Reverse {
		sender = "REMOTE"
	}
	m.congestion = r.Text(sender + "_CONG_CONTROL")
	if want := job.Options.Congestion; want != "" && m.congestion != want {
		r.Fail("used the congestion control %q, not %q", m.congestion, want)
	}
	m.retransmits = r.Number(sender + "_TRANSPORT_RETRANS")
	if job.Workload == record.TCPRR {
		m.retransmits += r.Number("REMOTE_TRANSPORT_RETRANS")
	}
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
