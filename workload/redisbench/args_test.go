package redisbench

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

type endpoint struct {
	platform.Endpoint
	name string
}

func (e *endpoint) Name() string { return e.name }

func pair(server platform.Endpoint, addr string) workload.Pair {
	a := netip.MustParseAddr(addr)
	return workload.Pair{Client: &endpoint{name: "c"}, Server: server, Addr: a, Listen: a.Next(), Port: 5201}
}

func TestClient(t *testing.T) {
	job := workload.Job{Pairs: []workload.Pair{pair(&endpoint{}, "2001:2::1")}}
	got := client("/bin/bench", job, 0, "sesame", 300*time.Millisecond, 1500*time.Millisecond)
	if want := "/bin/bench -h 2001:2::1 -p 5201 -a sesame -c 1 -t get --csv"; got.Command.String() != want {
		t.Errorf("%s\nwant %s", got.Command, want)
	}
	want := request{netip.MustParseAddrPort("[2001:2::1]:5201"), "sesame", 3, 1, 300 * time.Millisecond, 1500 * time.Millisecond}
	if got.Params != want {
		t.Errorf("%+v\nwant %+v", got.Params, want)
	}
	job.Options = record.Options{Streams: 4, ResponseSize: 1000}
	job.CPUs.Client = []int{1, 2}
	got = client("/bin/bench", job, 0, "sesame", 300*time.Millisecond, time.Second)
	if p := got.Params.(request); p.Size != 1000 || p.Streams != 4 || !strings.Contains(got.Command.String(), "-c 4 ") {
		t.Errorf("%s, %+v", got.Command, p)
	}
	if !slices.Equal(got.Command.CPUs, []int{1, 2}) {
		t.Errorf("on CPUs %v", got.Command.CPUs)
	}
}

func TestServer(t *testing.T) {
	a, b := &endpoint{name: "a"}, &endpoint{name: "b"}
	job := workload.Job{
		Pairs:   []workload.Pair{pair(a, "198.18.0.1"), pair(a, "198.18.0.1"), pair(a, "2001:2::1"), pair(b, "198.18.0.2")},
		Options: record.Options{Streams: 3}, CPUs: workload.CPUs{Server: []int{2, 3}},
	}
	first, second := server("redis", job, 0, "sesame"), server("redis", job, 1, "sesame")
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two servers where there is one: %+v, %+v", first, second)
	}
	settings := first.Command.Stdin
	for _, want := range []string{"port 5201\n", "bind 198.18.0.2 2001:2::2\n", "requirepass sesame\n", "save \"\"\nappendonly no\n", "maxclients 109\n"} {
		if !strings.Contains(settings, want) {
			t.Errorf("no %q in %s", want, settings)
		}
	}
	if strings.Contains(first.Command.String(), "sesame") || !first.Place.Nobody {
		t.Errorf("%s, %+v", first.Command, first.Place)
	}
	job.Pairs, job.Options.Streams = append(job.Pairs[:1], job.Pairs[3]), 1
	first, last := server("redis", job, 0, ""), server("redis", job, 1, "")
	if !slices.Equal(first.Command.CPUs, []int{2}) || !slices.Equal(last.Command.CPUs, []int{3}) {
		t.Errorf("on CPUs %v and %v", first.Command.CPUs, last.Command.CPUs)
	}
}

func TestNext(t *testing.T) {
	const head = `"test","rps","avg_latency_ms"` + "\n"
	for _, c := range []struct {
		text                 string
		count, streams, want int
	}{
		{head + `"GET","20000.00","0.1"`, 50, 1, 2000},
		{head + `"GET","inf","0.1"`, 50, 1, 500},
		{head + `"GET","5","0.1"`, 50, 8, 8},
		{head + `"GET","1e300","0.1"`, 50, 8, 1<<31 - 1},
		{head + `"GET","nan","0.1"`, 50, 1, 0},
		{head + `"GET","-1","0.1"`, 50, 1, 0},
		{head, 50, 1, 0}, {"lorem ipsum", 50, 1, 0}, {"", 50, 1, 0}, {"a\nb\n", 50, 1, 0},
	} {
		got, err := next(c.text, c.count, c.streams)
		if got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%q: %d, %v; want %d", c.text, got, err, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"redis-benchmark 7.0.15": "7.0.15",
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0": "7.0.15",
		"redis-benchmark": "",
		"":                "",
	} {
		got, err := version(said, "it")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", said, got, err)
		}
	}
}

func TestResult(t *testing.T) {
	run := figures{rate: 1000, mean: 0.9e-3, p50: 0.8e-3, p99: 3e-3, max: 9e-3}
	faster := figures{rate: 2000, mean: 0.5e-3, p50: 0.4e-3, p99: 2e-3, max: 10e-3}
	job := workload.Job{Pairs: []workload.Pair{pair(&endpoint{name: "s"}, "198.18.0.1")}, Options: record.Options{ResponseSize: 10}}
	value := func(r workload.Result, name string) float64 { return r.Metrics[name].Value }

	r := result(job, time.Second, program.Outcome{}, []done{sum(1200, []figures{run})})
	if value(r, record.TransactionRate) != 1000 || value(r, record.LatencyP50) != 0.8e-3 || value(r, record.LatencyP99) != 3e-3 {
		t.Errorf("one run: %v", r.Metrics)
	}
	if r.Flows[0].Transactions != 1000 || r.Bytes != 10_000 || r.Crossed[0].Bytes != 12_000 || len(r.Warnings) != 0 {
		t.Errorf("one run: %+v", r)
	}
	// Two runs of 1,200 take 1.8 s.
	r = result(job, time.Second, program.Outcome{}, []done{sum(1200, []figures{run, faster})})
	if v := value(r, record.TransactionRate); v < 1333 || v > 1334 || value(r, record.LatencyP50) != 0.8e-3 || value(r, record.LatencyMax) != 10e-3 {
		t.Errorf("two runs: %v", r.Metrics)
	}
	if v := value(r, record.LatencyMean); v < 0.699e-3 || v > 0.701e-3 {
		t.Errorf("two runs: mean %v", v)
	}
	r = result(job, time.Second, program.Outcome{}, []done{sum(1200, []figures{run, faster, faster})})
	if _, ok := r.Metrics[record.LatencyP50]; ok || len(r.Warnings) != 1 || r.Warnings[0].Code != "no-latency" {
		t.Errorf("three runs: %v, %v", r.Metrics, r.Warnings)
	}
	run.p50 = 0.1e-3
	r = result(job, time.Second, program.Outcome{}, []done{sum(1200, []figures{run})})
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "coarse-latency" {
		t.Errorf("short latencies: %v", r.Warnings)
	}
	job.Pairs = append(job.Pairs, job.Pairs[0])
	r = result(job, time.Second, program.Outcome{}, []done{sum(1200, []figures{run}), sum(1200, []figures{faster})})
	if _, ok := r.Metrics[record.LatencyP50]; ok || value(r, record.TransactionRate) != 3000 || len(r.Flows) != 2 {
		t.Errorf("two clients: %+v", r)
	}
}
