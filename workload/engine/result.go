package engine

import (
	"fmt"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// result puts the figures of all parties together.
func (t *trial) result() (workload.Result, error) {
	r := workload.Result{
		Window:   t.job.Duration,
		Metrics:  map[string]record.Metric{},
		Client:   record.ProcessCPU{CPUs: t.job.CPUs.Client},
		Server:   record.ProcessCPU{CPUs: t.job.CPUs.Server},
		Crossed:  make([]workload.Crossed, len(t.job.Pairs)),
		Warnings: t.warnings(),
	}
	for _, p := range t.parties() {
		sum := &r.Server
		if p.role == client {
			sum = &r.Client
		}
		sum.User += p.window.CPU.User
		sum.System += p.window.CPU.System
	}
	retransmits := uint64(0)
	for _, f := range t.flows {
		flow, crossed, err := t.flowResult(f)
		if err != nil {
			return workload.Result{}, err
		}
		r.Flows = append(r.Flows, flow)
		r.Bytes += flow.Bytes + flow.Transactions*t.transactionSize()
		r.Crossed[f.pair].Bytes += crossed
		r.Crossed[f.pair].Conns++
		retransmits += uint64(flow.TCP.Retransmits)
	}
	r.Metrics[record.Retransmits] = metric(record.Retransmits, float64(retransmits))
	seconds := time.Duration(r.Window).Seconds()
	if t.traffic.counts == payloadBytes {
		r.Metrics[record.Throughput] = metric(record.Throughput, float64(r.Bytes)*8/seconds)
		return r, nil
	}
	return r, t.addLatency(&r, seconds)
}

// transactionSize is the payload of a transaction in both directions, in bytes.
func (t *trial) transactionSize() uint64 {
	return uint64(t.options.RequestSize + t.options.ResponseSize)
}

// flowResult finds the figures of a flow where it was measured, and says how much
// payload crossed the network for it, in bytes.
func (t *trial) flowResult(f plannedFlow) (flow record.Flow, crossed uint64, err error) {
	flow = record.Flow{Client: f.client.endpoint.Name(), Server: f.server.endpoint.Name(), Stream: f.stream}
	measured, at := f.server, f.atServer
	if t.traffic.measured == client {
		measured, at = f.client, f.atClient
	}
	if at >= len(measured.window.Units) || at >= len(measured.left.Totals) {
		return flow, 0, fmt.Errorf("%v: says nothing of %s", measured, measured.flows[at].Label)
	}
	if f.atClient >= len(f.client.left.TCP) || f.client.left.TCP[f.atClient] == nil {
		return flow, 0, fmt.Errorf("%v: no TCP_INFO of %s", f.client, f.client.flows[f.atClient].Label)
	}
	flow.TCP = f.client.left.TCP[f.atClient]
	units, total := uint64(measured.window.Units[at]), uint64(measured.left.Totals[at])
	if t.traffic.counts == transactions {
		flow.Transactions = units
		return flow, total * t.transactionSize(), nil
	}
	flow.Bytes = units
	return flow, total, nil
}

// addLatency merges the latencies of all clients.
func (t *trial) addLatency(r *workload.Result, seconds float64) error {
	var encoded []string
	for _, p := range t.clients {
		encoded = append(encoded, p.window.Latencies)
	}
	sum, err := mergeHistograms(encoded)
	if err != nil {
		return err
	}
	if r.Latency, err = recordHistogram(sum); err != nil {
		return err
	}
	r.Metrics[record.TransactionRate] = metric(record.TransactionRate, float64(r.Latency.Count)/seconds)
	for name, ns := range map[string]int64{
		record.LatencyP50:  r.Latency.P50,
		record.LatencyP90:  r.Latency.P90,
		record.LatencyP99:  r.Latency.P99,
		record.LatencyP999: r.Latency.P999,
		record.LatencyMax:  r.Latency.Max,
	} {
		r.Metrics[name] = metric(name, time.Duration(ns).Seconds())
	}
	return nil
}

// warnings collects the doubts of all parties, each once.
func (t *trial) warnings() []record.Warning {
	var all []record.Warning
	seen := map[record.Warning]bool{}
	add := func(warnings ...record.Warning) {
		for _, w := range warnings {
			if !seen[w] {
				seen[w] = true
				all = append(all, w)
			}
		}
	}
	for _, p := range t.parties() {
		add(p.opened.Warnings...)
		if w := generatorLimited(p.String(), p.window.CPU); w != nil {
			add(*w)
		}
		if w := strangersCame(p.String(), p.left.Strangers); w != nil {
			add(*w)
		}
	}
	return all
}
