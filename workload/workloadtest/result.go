package workloadtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"nettoll/network"
	"nettoll/record"
	"nettoll/workload"
)

// wrong is what is wrong with a result.
type wrong []string

func (w *wrong) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

// check checks the properties that hold for figures of any size.
func (w *wrong) check(job workload.Job, r workload.Result) {
	// A busy machine can make it shorter or longer than intended.
	if r.Window < job.Duration/4 || r.Window > 10*job.Duration {
		w.add("a window of %v, asked for %v", r.Window, job.Duration)
	}
	if r.Client.Total() <= 0 || r.Server.Total() <= 0 {
		w.add("CPU time of client %v, of server %v", r.Client, r.Server)
	}
	if len(r.Crossed) != len(job.Pairs) {
		w.add("%d pairs crossed, want %d", len(r.Crossed), len(job.Pairs))
	}
	primary := record.Primary(job.Workload)
	if !slices.ContainsFunc(primary, func(name string) bool { _, ok := r.Metrics[name]; return ok }) {
		w.add("none of %v is measured", primary)
	}
	for name, m := range r.Metrics {
		kind, known := record.KindOf(name)
		if !known || m.Unit != kind.Unit || math.IsNaN(m.Value) || math.IsInf(m.Value, 0) || m.Value < 0 {
			w.add("metric %s is %+v", name, m)
		}
		if kind.Better == record.HigherIsBetter && m.Value == 0 {
			w.add("metric %s is zero", name)
		}
		if kind.Unit == "ratio" && m.Value > 1 {
			w.add("metric %s is %v", name, m.Value)
		}
	}
	w.checkFlows(job, r)
	w.checkLatency(job, r)
	if m, ok := r.Metrics[record.Throughput]; ok {
		if got := float64(r.Bytes) * 8 / r.Window.Seconds(); math.Abs(got-m.Value) > 0.1*m.Value {
			w.add("throughput %v of %d bytes in %v", m, r.Bytes, r.Window)
		}
		if b := job.Options.Bandwidth; b > 0 && m.Value > 1.5*float64(b*len(r.Flows)) {
			w.add("throughput %v of %d flows that offer %d", m, len(r.Flows), b)
		}
	}
}

// checkFlows expects the flows of all pairs in their order. A tool that cannot distinguish the
// streams of a client reports one flow for each client; one that has a connection for each direction of
// tcp_bidir reports both.
func (w *wrong) checkFlows(job workload.Job, r workload.Result) {
	streams := max(job.Options.Streams, 1)
	switch len(r.Flows) {
	case len(job.Pairs):
		streams = 1
	case 2 * streams * len(job.Pairs):
		if job.Workload == record.TCPBidir {
			streams *= 2
		}
	}
	if len(r.Flows) != streams*len(job.Pairs) {
		w.add("%d flows, want %d", len(r.Flows), streams*len(job.Pairs))
		return
	}
	var bytes uint64
	for i, f := range r.Flows {
		p := job.Pairs[i/streams]
		if f.Client != p.Client.Name() || f.Server != p.Server.Name() || f.Stream != i%streams || f.Bytes+f.Transactions == 0 {
			w.add("flow %d is %+v", i, f)
		}
		if want := job.Options.MessageSize; want > 0 && f.Message > 0 && f.Message != want {
			w.add("flow %d wrote messages of %d bytes, asked for were %d", i, f.Message, want)
		}
		bytes += f.Bytes
	}
	if bytes > 0 && bytes != r.Bytes {
		w.add("%d bytes, %d in the flows", r.Bytes, bytes)
	}
}

// checkLatency checks that percentiles ascend, and that in a closed loop of one client the mean is
// that of the round trip: with one transaction at a time, the mean times the rate is about one
// second per second.
func (w *wrong) checkLatency(job workload.Job, r workload.Result) {
	last := 0.0
	for _, name := range []string{record.LatencyP50, record.LatencyP90, record.LatencyP99, record.LatencyP999, record.LatencyMax} {
		m, ok := r.Metrics[name]
		if ok && (m.Value < last || m.Value <= 0) {
			w.add("%s is %v, and a lower percentile %v", name, m, last)
		}
		last = max(last, m.Value)
	}
	if job.Workload != record.TCPRR && job.Workload != record.UDPRR || len(r.Flows) > 1 || job.Options.Rate > 0 {
		return
	}
	mean, told := r.Metrics[record.LatencyMean]
	rate, counted := r.Metrics[record.TransactionRate]
	if busy := mean.Value * rate.Value; told && counted && (busy < 0.6 || busy > 1.6) {
		w.add("%v transactions a second of %v take %v s of each second: is it the round trip?", rate, mean, busy)
	}
}

// checkCrossed compares the tool's report with the counters of the devices.
func (n *standing) checkCrossed(t *testing.T, job workload.Job, r workload.Result, before [][]network.Count, f network.Family) {
	t.Helper()
	after := n.count(t, f)
	processes := max(n.topo.Processes, 1)
	crossed := uint64(0)
	for i := range n.Clients {
		var sum workload.Crossed
		for _, c := range r.Crossed[i*processes : (i+1)*processes] {
			if c.Bytes == 0 || c.Conns == 0 {
				t.Errorf("%+v crossed for client %d", c, i)
			}
			sum.Bytes += c.Bytes
			sum.Conns += c.Conns
		}
		for k := range after[i] {
			bytes, packets := after[i][k].Bytes-before[i][k].Bytes, after[i][k].Packets-before[i][k].Packets
			if sum.Bytes > bytes || sum.Conns > packets || sum.Transactions > packets {
				t.Errorf("client %d: %+v crossed, and the device counted %d bytes and %d packets", i, sum, bytes, packets)
			}
		}
		crossed += sum.Bytes
	}
	if crossed < r.Bytes {
		t.Errorf("%d bytes received, but only %d crossed", r.Bytes, crossed)
	}
	if all := n.counted(t, before, f); missesMost(job, r, all) {
		t.Errorf("%s received, the devices counted %s", megabytes(r.Bytes), megabytes(all))
	}
}

// counted returns the bytes that the clients' devices have counted since before.
func (n *standing) counted(t *testing.T, before [][]network.Count, f network.Family) (all uint64) {
	for i, hops := range n.count(t, f) {
		all += hops[0].Bytes - before[i][0].Bytes
	}
	return all
}

// missesMost reports whether a stream's bytes are less than a quarter of what devices counted. Nearly all of a full
// segment is payload, and without warm-up at least half of the payload is in the window, unless a busy machine delays
// the trial. If it happens in several trials, the unit of the bytes is wrong.
func missesMost(job workload.Job, r workload.Result, all uint64) bool {
	stream := job.Workload == record.TCPStream || job.Workload == record.TCPBidir
	return stream && job.Warmup == 0 && job.Options == (record.Options{}) && r.Bytes < all/4
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
