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

// chatter is a line that netperf sometimes prints after a test: its timer has fired once more.
const chatter = "catcher: timer popped with times_up != 0"

// read parses the lines NAME=VALUE; only names that were requested are known.
func read(text string, asked []string) (map[string]string, error) {
	f := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line == chatter {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !slices.Contains(asked, name) {
			return nil, fmt.Errorf("netperf printed %.80q, which was not requested; version %s is known to work", line, known)
		}
		if _, twice := f[name]; twice {
			return nil, fmt.Errorf("netperf printed %s twice; version %s is known to work", name, known)
		}
		f[name] = value
	}
	return f, nil
}

// parse reads the output of one netperf.
func parse(job workload.Job, text, _ string) (f program.Figures, err error) {
	t := tests[job.Workload]
	fields, err := read(text, t.selectors())
	if err != nil {
		return f, err
	}
	r := &program.Reader{Program: "netperf", Known: "version " + known + " is known to work", Fields: fields}
	protocol, _, _ := strings.Cut(t.name, "_")
	r.Is("PROTOCOL", protocol)
	r.Is("THROUGHPUT_UNITS", "10^3bits/s")
	seconds := r.Positive("ELAPSED_TIME")
	if job.Workload == record.TCPStream || job.Workload == record.UDPStream {
		parseStream(&f, r, job, seconds)
	} else {
		parseTransactions(&f, r, job, seconds)
	}
	f.Crossed = workload.Crossed{Bytes: f.Bytes, Conns: 1, Transactions: f.Flows[0].Transactions}
	switch job.Workload {
	case record.TCPStream, record.TCPRR: // one connection, for which netperf reports TCP values
		parseTCP(&f, r, job)
	case record.TCPCRR:
		f.Crossed.Conns = f.Flows[0].Transactions
	}
	return f, r.Err
}

// parseStream reads the receiver's counts. netperf computes the throughput from an elapsed time
// with more digits than it prints.
func parseStream(f *program.Figures, r *program.Reader, job workload.Job, seconds float64) {
	sender, receiver, direction := "LOCAL", "REMOTE", "Send"
	if job.Options.Reverse {
		sender, receiver, direction = receiver, sender, "Receive"
	}
	r.Is("DIRECTION", direction)
	sent := r.Count(sender + "_BYTES_SENT") // for TCP, without the last write
	f.Bytes = r.Count(receiver + "_BYTES_RECVD")
	throughput := r.Number("THROUGHPUT") * 1e3
	if counted := float64(f.Bytes) * 8 / seconds; math.Abs(counted-throughput) > 0.1*throughput {
		r.Fail("reported %.0f bit/s, but its receiver counted %.0f", throughput, counted)
	}
	f.Sums = map[string]float64{record.Throughput: throughput}
	want := uint64(job.Options.MessageSize)
	if job.Workload == record.UDPStream {
		if want = uint64(datagramOf(job)); sent == 0 {
			r.Fail("received %d bytes of datagrams, and sent none", f.Bytes)
		}
		f.Sums[record.PacketRate] = throughput / 8 / float64(want)
		f.Sent, f.Lost = float64(sent), float64(sent)-float64(f.Bytes)
	}
	message := r.Count(sender + "_SEND_SIZE")
	if want > 0 && message != want {
		r.Fail("wrote %d bytes at a time, not %d", message, want)
	}
	f.Flows = []record.Flow{{Bytes: f.Bytes, Message: int(min(message, math.MaxInt32))}}
}

// stalled is the least share of the time that transactions, made one after the other, must have
// taken, with the one that was under way at the end. It is 0.997 or more unless the machine is busy. If it is less than
// this, netperf has waited for one that was lost, and its rate is too low.
const stalled = 0.8

func parseTransactions(f *program.Figures, r *program.Reader, job workload.Job, seconds float64) {
	request, response := transactionOf(job)
	r.Is("REQUEST_SIZE", strconv.Itoa(request))
	r.Is("RESPONSE_SIZE", strconv.Itoa(response))
	transactions := r.Count("LOCAL_BYTES_RECVD") / uint64(response)
	f.Bytes = transactions * uint64(request+response)
	rate := r.Positive("TRANSACTION_RATE")
	if counted := float64(transactions) / seconds; counted == 0 || math.Abs(counted-rate) > 0.1*rate+1 {
		r.Fail("reported %.0f transactions per second, but received %.0f", rate, counted)
	}
	f.Flows, f.Transactions = []record.Flow{{Transactions: transactions}}, float64(transactions)
	f.Sums, f.Latency = map[string]float64{record.TransactionRate: rate}, map[string]float64{}
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
				r.Fail("reported %s=%v, less than a lower percentile", field.name, us)
			}
			last = us
		}
		f.Latency[field.metric] = us / 1e6
	}
	if busy := (rate + 1/seconds) * f.Latency[record.LatencyMean]; busy < stalled {
		r.Fail("spent only %.0f %% of the time in transactions: it waits forever for one that is lost", busy*100)
	}
}

// parseTCP reads netperf's values for its connection, which do not include round-trip times.
func parseTCP(f *program.Figures, r *program.Reader, job workload.Job) {
	mss := r.Count("TRANSPORT_MSS")
	sender := "LOCAL"
	if job.Options.Reverse {
		sender = "REMOTE"
	}
	congestion := r.Text(sender + "_CONG_CONTROL")
	if want := job.Options.Congestion; want != "" && congestion != want {
		r.Fail("used the congestion control %q, not %q", congestion, want)
	}
	retransmits := r.Number(sender + "_TRANSPORT_RETRANS")
	if job.Workload == record.TCPRR {
		retransmits += r.Number("REMOTE_TRANSPORT_RETRANS")
	}
	f.Sums[record.Retransmits] = retransmits
	f.Flows[0].TCP = &record.TCPInfo{Retransmits: uint32(retransmits), SndMSS: uint32(mss), Congestion: congestion}
}
