package iperf3

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func job(load string, pairs int) workload.Job {
	return workloadtest.Job(load, record.Options{}, slices.Repeat([]workload.Pair{workloadtest.Pair("c", "s", "198.18.0.1")}, pairs)...)
}

func TestResultSumsClients(t *testing.T) {
	two, three := uint64(2), uint64(3)
	r := together(job(record.TCPStream, 2), program.Outcome{}, []figures{
		{seconds: 1, streams: []stream{{bytes: 1000}, {bytes: 500}}, retransmits: &two, minor: 12},
		{seconds: 2, streams: []stream{{bytes: 4000}, {bytes: 2000}}, retransmits: &three, minor: 12, message: 1 << 17},
	})
	if got := r.Metrics[record.Throughput]; got != record.Measured(record.Throughput, 1500*8+6000*4) {
		t.Errorf("throughput %+v", got)
	}
	if got := r.Metrics[record.Retransmits].Value; got != 5 || len(r.Metrics) != 2 {
		t.Errorf("metrics %v", r.Metrics)
	}
	if r.Bytes != 7500 || r.Window.Round(time.Millisecond) != 1667*time.Millisecond || len(r.Flows) != 4 || r.Flows[3].Stream != 1 || r.Flows[3].Bytes != 2000 || r.Flows[3].Message != 1<<17 {
		t.Errorf("%+v", r)
	}
	if r.Crossed[0] != (workload.Crossed{Bytes: 1500, Conns: 2}) || r.Crossed[1] != (workload.Crossed{Bytes: 6000, Conns: 2}) {
		t.Errorf("crossed %+v", r.Crossed)
	}
	r = together(job(record.TCPStream, 1), program.Outcome{}, []figures{{seconds: 1, streams: []stream{{bytes: 1}}}})
	if _, told := r.Metrics[record.Retransmits]; told {
		t.Error("retransmits that nobody told")
	}
}

func TestResultOfDatagrams(t *testing.T) {
	r := together(job(record.UDPStream, 2), program.Outcome{}, []figures{
		{seconds: 2, streams: []stream{{bytes: 9000}}, datagrams: &datagrams{sent: 10, received: 9, jitter: 1e-6}},
		// One that was on the way when the window opened: more came than were sent.
		{seconds: 1, streams: []stream{{bytes: 11000}}, datagrams: &datagrams{sent: 10, received: 11, jitter: 3e-6}},
	})
	for name, want := range map[string]float64{record.PacketRate: 4.5 + 11, record.Loss: 1.0 / 21, record.Jitter: 2e-6, record.Throughput: 36000 + 88000} {
		if got := r.Metrics[name]; math.Abs(got.Value-want) > 1e-12*want || got.Unit != record.Measured(name, 0).Unit {
			t.Errorf("%s is %+v, want %v", name, got, want)
		}
	}
	if len(r.Metrics) != 4 {
		t.Errorf("metrics %v", r.Metrics)
	}
}

func TestOtherWindows(t *testing.T) {
	for _, c := range []struct {
		seconds []float64
		want    string // in the warning
	}{
		{[]float64{0.91, 1.09}, ""},
		{[]float64{1, 0.41}, "1 of 2 clients measured in other windows than 1s, from 0.41 to 1.00 s"},
		{[]float64{3.02}, "1 of 1 clients"},
	} {
		var all []figures
		for _, s := range c.seconds {
			all = append(all, figures{seconds: s, streams: []stream{{bytes: 1}}})
		}
		r := together(job(record.TCPStream, len(all)), program.Outcome{}, all)
		if len(r.Warnings) != min(len(c.want), 1) || c.want != "" && (r.Warnings[0].Code != "other-window" || !strings.HasPrefix(r.Warnings[0].Text, c.want)) {
			t.Errorf("%v s: %v", c.seconds, r.Warnings)
		}
	}
}

func TestOneThreadForAllStreams(t *testing.T) {
	for _, c := range []struct {
		name    string
		load    string
		streams int
		minor   int
		busy    [2]float64
		want    int
	}{
		{"all idle", record.TCPStream, 4, 12, [2]float64{0.5, 0.94}, 0},
		{"server has no time left", record.TCPStream, 4, 12, [2]float64{0.5, 0.95}, 1},
		{"both", record.TCPStream, 4, 15, [2]float64{1, 1}, 2},
		{"threads", record.TCPStream, 4, 16, [2]float64{1, 3}, 0},
		{"one stream", record.TCPStream, 1, 12, [2]float64{1, 1}, 0},
		{"one stream each way", record.TCPBidir, 1, 12, [2]float64{1, 0}, 1},
	} {
		f := figures{seconds: 1, streams: make([]stream, c.streams), minor: c.minor, busy: c.busy}
		r := together(job(c.load, 1), program.Outcome{}, []figures{f})
		if len(r.Warnings) != c.want {
			t.Errorf("%s: %v", c.name, r.Warnings)
		}
		for _, w := range r.Warnings {
			if w.Code != "generator-limited" {
				t.Errorf("%s: %v", c.name, w)
			}
		}
	}
}
