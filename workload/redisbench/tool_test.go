package redisbench

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func TestClient(t *testing.T) {
	job := workloadtest.Job(record.Redis, record.Options{}, workloadtest.Pair("c", "s", "2001:2::1"))
	job.Duration = 1500 * time.Millisecond
	_, got := workloadtest.Started(t, Tool, job, 0)
	p := got.Params.(request)
	if want := "/bin/redis-benchmark -h 2001:2::1 -p 20001 -a " + p.Password + " -c 1 -t get --csv"; got.Command.String() != want {
		t.Errorf("%s\nwant %s", got.Command, want)
	}
	want := request{netip.MustParseAddrPort("[2001:2::1]:20001"), p.Password, 3, 1, 300 * time.Millisecond, 1500 * time.Millisecond}
	if p != want {
		t.Errorf("%+v\nwant %+v", p, want)
	}
	job.Options = record.Options{Streams: 4, ResponseSize: 1000}
	job.CPUs.Client = []int{1, 2}
	_, got = workloadtest.Started(t, Tool, job, 0)
	if p := got.Params.(request); p.Size != 1000 || p.Streams != 4 || !strings.Contains(got.Command.String(), "-c 4 ") {
		t.Errorf("%s, %+v", got.Command, p)
	}
	if !slices.Equal(got.Command.CPUs, []int{1, 2}) {
		t.Errorf("on CPUs %v", got.Command.CPUs)
	}
}

func TestServer(t *testing.T) {
	four, six, other := workloadtest.Pair("c", "a", "198.18.0.1"), workloadtest.Pair("c", "a", "2001:2::1"), workloadtest.Pair("c", "b", "198.18.0.2")
	job := workloadtest.Job(record.Redis, record.Options{Streams: 3}, four, four, six, other)
	job.CPUs.Server = []int{2, 3}
	trial, err := Tool.Trial(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := trial.Servers[0], trial.Servers[1]
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two servers where there is one: %+v, %+v", first, second)
	}
	settings, password := first.Command.Stdin, trial.Clients[0].Params.(request).Password
	for _, want := range []string{"port 20001\n", "bind 198.18.0.2 2001:2::2\n", "requirepass " + password + "\n", "save \"\"\nappendonly no\n", "maxclients 109\n"} {
		if !strings.Contains(settings, want) {
			t.Errorf("no %q in %s", want, settings)
		}
	}
	if len(password) < 20 || strings.Contains(first.Command.String(), password) || !first.Place.Nobody {
		t.Errorf("%s, %+v", first.Command, first.Place)
	}
	job.Pairs, job.Options.Streams = []workload.Pair{four, other}, 1
	first, _ = workloadtest.Started(t, Tool, job, 0)
	last, _ := workloadtest.Started(t, Tool, job, 1)
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

func TestVersions(t *testing.T) {
	workloadtest.Versions(t, Tool, map[string]string{
		"redis-benchmark 7.0.15": "7.0.15",
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0": "7.0.15",
		"redis-benchmark": "",
		"":                "",
	})
}

func TestResult(t *testing.T) {
	run := figures{rate: 1000, mean: 0.9e-3, p50: 0.8e-3, p99: 3e-3, max: 9e-3}
	faster := figures{rate: 2000, mean: 0.5e-3, p50: 0.4e-3, p99: 2e-3, max: 10e-3}
	job, o := workloadtest.Job(record.Redis, record.Options{ResponseSize: 10}), program.Outcome{Window: time.Second}
	value := func(r workload.Result, name string) float64 { return r.Metrics[name].Value }

	r := together(job, o, []done{sum(1200, []figures{run})})
	if value(r, record.TransactionRate) != 1000 || value(r, record.LatencyP50) != 0.8e-3 || value(r, record.LatencyP99) != 3e-3 {
		t.Errorf("one run: %v", r.Metrics)
	}
	if r.Flows[0].Transactions != 1000 || r.Bytes != 10_000 || r.Crossed[0].Bytes != 12_000 || len(r.Warnings) != 0 {
		t.Errorf("one run: %+v", r)
	}
	// Two runs of 1,200 take 1.8 s.
	r = together(job, o, []done{sum(1200, []figures{run, faster})})
	if v := value(r, record.TransactionRate); v < 1333 || v > 1334 || value(r, record.LatencyP50) != 0.8e-3 || value(r, record.LatencyMax) != 10e-3 {
		t.Errorf("two runs: %v", r.Metrics)
	}
	if v := value(r, record.LatencyMean); v < 0.699e-3 || v > 0.701e-3 {
		t.Errorf("two runs: mean %v", v)
	}
	r = together(job, o, []done{sum(1200, []figures{run, faster, faster})})
	if _, ok := r.Metrics[record.LatencyP50]; ok || len(r.Warnings) != 1 || r.Warnings[0].Code != "no-latency" {
		t.Errorf("three runs: %v, %v", r.Metrics, r.Warnings)
	}
	run.p50 = 0.1e-3
	r = together(job, o, []done{sum(1200, []figures{run})})
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "coarse-latency" {
		t.Errorf("short latencies: %v", r.Warnings)
	}
	job.Pairs = append(job.Pairs, job.Pairs[0])
	r = together(job, o, []done{sum(1200, []figures{run}), sum(1200, []figures{faster})})
	if _, ok := r.Metrics[record.LatencyP50]; ok || value(r, record.TransactionRate) != 3000 || len(r.Flows) != 2 {
		t.Errorf("two clients: %+v", r)
	}
}
