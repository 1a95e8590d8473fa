package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// result combines the figures of all parties.
func (t *trial) result() (workload.Result, error) {
	r := workload.Result{
		Window:  t.job.Duration,
		Metrics: map[string]record.Metric{},
		Client:  record.ProcessCPU{CPUs: t.job.CPUs.Client},
		Server:  record.ProcessCPU{CPUs: t.job.CPUs.Server},
		Crossed: make([]workload.Crossed, len(t.job.Pairs)),
		Clocks:  t.clocks,
	}
	for _, p := range t.parties() {
		sum := &r.Server
		if p.role == client {
			sum = &r.Client
		}
		sum.User += p.window.CPU.User
		sum.System += p.window.CPU.System
	}
	starved, err := t.judge()
	if err != nil {
		return r, err
	}
	var packets datagrams
	var streams, counted int
	r.Course = t.course()
	toServer, toClient := make([]uint64, len(r.Crossed)), make([]uint64, len(r.Crossed))
	for _, f := range t.flows {
		flow, d, err := t.flowResult(f, &r.Crossed[f.pair], &toServer[f.pair], &toClient[f.pair])
		if err != nil {
			return workload.Result{}, err
		}
		r.Flows = append(r.Flows, flow)
		to, from := t.carries(f)
		r.Bytes += (flow.Bytes + flow.Transactions) * (to + from) // it counts either
		if t.kinds[f.kind].counts == payloadBytes {
			streams++
		}
		if d != nil {
			counted++
			packets.add(*d)
		}
	}
	for i := range r.Crossed {
		r.Crossed[i].Bytes, r.Crossed[i].Fewer = toServer[i]+toClient[i], min(toServer[i], toClient[i])
	}
	seconds := r.Window.Seconds()
	if !t.inTurns { // they are known only for the connection as a whole
		t.addRetransmits(&r)
	}
	if streams > 0 {
		t.addThroughput(&r, seconds)
	}
	if err := t.addLatency(&r, seconds); err != nil {
		return r, err
	}
	if counted > 0 {
		packets.metrics(r.Metrics, streams > 0)
	}
	if counted > 0 && streams > 0 {
		rate := r.Metrics[record.Throughput].Value / 8 / float64(t.options.MessageSize)
		r.Metrics[record.PacketRate] = record.Measured(record.PacketRate, rate)
	}
	r.Warnings = slices.Concat(r.Warnings, t.warnings(), starved, t.pace(packets, r.Metrics))
	r.Congestion = t.controls()
	return r, nil
}

// controls returns the congestion controls that the kernel reports for the connections, at either
// end.
func (t *trial) controls() []string {
	all := slices.Concat(record.Each(t.parties(), func(p *party) []string { return p.left.Controls })...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// carries returns the payload of one of what a flow counts, in each direction, in bytes.
func (t *trial) carries(f plannedFlow) (toServer, toClient uint64) {
	switch k := t.kinds[f.kind]; {
	case k.counts == transactions:
		to, from := t.traffic.exchanged(t.options)
		return uint64(to), uint64(from)
	case k.measured == server:
		return 1, 0
	}
	return 0, 1
}

// flowResult finds the figures of a flow at its two ends, and adds its share of what crossed the
// network: the bytes to toServer and toClient, everything else to crossed.
func (t *trial) flowResult(f plannedFlow, crossed *workload.Crossed, toServer, toClient *uint64) (flow record.Flow, d *datagrams, err error) {
	flow = record.Flow{Client: f.client.endpoint.Name(), Server: f.server.endpoint.Name(), Stream: f.kind}
	k := t.kinds[f.kind]
	measured, at := f.end(k.measured)
	if at >= len(measured.window.Units) || at >= len(measured.left.Totals) || at >= len(measured.left.Conns) || at >= len(measured.left.Datagrams) {
		return flow, nil, fmt.Errorf("%v: reported nothing about %s", measured, measured.flows[at].Label)
	}
	if k.informs != "" {
		informant, i := f.end(k.informs)
		if i >= len(informant.left.TCP) || informant.left.TCP[i] == nil {
			return flow, nil, fmt.Errorf("%v: no TCP_INFO of %s", informant, informant.flows[i].Label)
		}
		flow.TCP = informant.left.TCP[i]
	}
	units, total := uint64(math.Round(measured.window.Units[at])), uint64(measured.left.Totals[at])
	if k.counts == transactions {
		flow.Transactions = units
		crossed.Transactions += total
	} else {
		flow.Bytes, flow.Message = units, t.options.MessageSize
	}
	to, from := t.carries(f)
	*toServer, *toClient = *toServer+total*to, *toClient+total*from
	crossed.Conns += uint64(measured.left.Conns[at])
	if !t.traffic.meeting.managed {
		crossed.Conns++
	}
	return flow, measured.left.Datagrams[at], nil
}

// end finds a flow at one of its ends.
func (f plannedFlow) end(r role) (*party, int) {
	if r == client {
		return f.client, f.atClient
	}
	return f.server, f.atServer
}

func (t *trial) addRetransmits(r *workload.Result) {
	sum, known := uint64(0), false
	for _, f := range r.Flows {
		if f.TCP != nil {
			known = true
			sum += uint64(f.TCP.Retransmits)
		}
	}
	if known {
		r.Metrics[record.Retransmits] = record.Measured(record.Retransmits, float64(sum))
	}
}

func (t *trial) addThroughput(r *workload.Result, seconds float64) {
	sum := record.Sum(r.Flows, func(f record.Flow) uint64 { return f.Bytes })
	r.Metrics[record.Throughput] = record.Measured(record.Throughput, float64(sum)*8/seconds)
}

// addLatency merges the latencies of all clients, if there are any.
func (t *trial) addLatency(r *workload.Result, seconds float64) error {
	sum, err := t.merged(func(w startResult) string { return w.Latencies })
	if err != nil || sum == nil {
		return err
	}
	switch {
	case sum.TotalCount() == 0 && t.inTurns:
		return nil // together reports it
	case sum.TotalCount() == 0:
		return fmt.Errorf("%s: no transaction that began in the window of %v was answered: use a longer window (--duration)", t.traffic.name, t.job.Duration)
	}
	if r.Latency, err = recordHistogram(sum); err != nil {
		return err
	}
	var ended float64
	for _, p := range t.parties() {
		r.Latency.Unfinished += p.window.Unfinished
		for _, n := range p.window.Ended {
			ended += n
		}
	}
	r.Covered = t.covered()
	set := func(name string, ns float64) { r.Metrics[name] = record.Measured(name, ns/float64(time.Second)) }
	r.Metrics[record.TransactionRate] = record.Measured(record.TransactionRate, ended/seconds)
	set(record.LatencyMean, sum.Mean())
	set(record.LatencyP50, float64(r.Latency.P50))
	set(record.LatencyP90, float64(r.Latency.P90))
	set(record.LatencyP99, float64(r.Latency.P99))
	set(record.LatencyP999, float64(r.Latency.P999))
	set(record.LatencyMax, float64(r.Latency.Max))

	connects, err := t.merged(func(w startResult) string { return w.Connects })
	if err != nil {
		return err
	}
	if connects != nil && connects.TotalCount() > 0 {
		set(record.ConnectP50, float64(connects.ValueAtPercentile(50)))
		set(record.ConnectP99, float64(connects.ValueAtPercentile(99)))
	}
	unloaded, err := t.merged(func(w startResult) string { return w.Unloaded })
	if err != nil || unloaded == nil {
		return err
	}
	if unloaded.TotalCount() == 0 {
		r.Warnings = append(r.Warnings, record.Warning{Code: WarnNoUnloaded, Text: fmt.Sprintf(
			"what the load adds to the latency is not known: no transaction ended before it began, in a warm-up of %v (a longer one would help)", t.job.Warmup)})
		return nil
	}
	set(record.LatencyAdded, float64(r.Latency.P50-unloaded.ValueAtPercentile(50)))
	return nil
}

// course returns the payload and transactions of all flows together in each part of the window.
func (t *trial) course() *record.Course {
	c := &record.Course{}
	for _, p := range t.parties() {
		if p.window.Bytes != nil && c.Bytes == nil {
			c.Bytes = make([]uint64, partsOfWindow)
		}
		if p.window.Ended != nil && c.Transactions == nil {
			c.Transactions = make([]float64, partsOfWindow)
		}
		for i, n := range p.window.Bytes {
			c.Bytes[i] += uint64(math.Round(n))
		}
		for i, n := range p.window.Ended {
			c.Transactions[i] += math.Round(n*1000) / 1000
		}
	}
	return c
}

// covered returns the share of the window in which transactions that count were under way, over all
// flows. It is 0 where transactions are not made one after the other.
func (t *trial) covered() float64 {
	flows, covered := 0, int64(0)
	for _, f := range t.flows {
		switch k := t.kinds[f.kind]; {
		case k.counts != transactions:
		case k.open:
			return 0
		default:
			flows++
		}
	}
	for _, p := range t.parties() {
		covered += p.window.Covered
	}
	return float64(covered) / (float64(flows) * float64(t.job.Duration))
}
