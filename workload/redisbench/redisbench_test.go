package redisbench

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
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
	want := request{netip.MustParseAddrPort("[2001:2::1]:20001"), p.Password, 3, 1, 400 * time.Millisecond, 1500 * time.Millisecond}
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
	iferr.Fatal(t, err)
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

func TestRate(t *testing.T) {
	const head = `"test","rps","avg_latency_ms"` + "\n"
	for _, c := range []struct {
		text  string
		count int
		want  float64 // less than 0 for an error
	}{
		{head + `"GET","20000.00","0.1"`, 50, 20000},
		{head + `"GET","inf","0.1"`, 50, 5000},
		{head + `"GET","0.5","0.1"`, 50, 0.5},
		{head + `"GET","nan","0.1"`, 50, -1},
		{head + `"GET","-1","0.1"`, 50, -1},
		{head, 50, -1}, {"lorem ipsum", 50, -1}, {"", 50, -1}, {"a\nb\n", 50, -1},
	} {
		if got, err := rate(c.text, c.count); (err == nil) != (c.want >= 0) || err == nil && got != c.want {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

// TestRequests has at least one request on each stream, which says nothing about how many a second there are.
func TestRequests(t *testing.T) {
	for most, want := range map[float64]int{2000.9: 2000, 0.2: 8, 1e300: 1<<31 - 1} {
		if got := requests(most, 8); got != want {
			t.Errorf("%v: %d, want %d", most, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	workloadtest.Versions(t, Tool, map[string]string{
		"redis-benchmark 7.0.15": "7.0.15",
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0": "7.0.15",
		"redis-benchmark 6.0.16": "", // reports no percentiles
		"redis-benchmark":        "",
		"":                       "",
	})
}

func TestResult(t *testing.T) {
	one := run{rate: 1000, mean: 0.9e-3, p50: 0.8e-3, p99: 3e-3, max: 9e-3}
	faster := run{rate: 2000, mean: 0.5e-3, p50: 0.4e-3, p99: 2e-3, max: 10e-3}
	short := one
	short.p50 = 0.1e-3
	job := workloadtest.Clients(record.Redis, record.Options{ResponseSize: 10}, 2)
	for _, c := range []struct {
		name, want string
		clients    [][]run // each of 1200 requests; two of these take 1.8 s
	}{
		{"one run", "1s 10000 B [{12000 1 1200}] latency_max=0.009 latency_mean=0.0009 latency_p50=0.0008 latency_p99=0.003 " +
			"transaction_rate=1000 10000 B/1000", [][]run{{one}}},
		{"two runs", "1s 13330 B [{24000 1 2400}] latency_max=0.01 latency_mean=0.0007 latency_p50=0.0008 latency_p99=0.003 " +
			"transaction_rate=1333.333 13330 B/1333", [][]run{{one, faster}}},
		{"three runs", "1s 15000 B [{36000 1 3600}] latency_max=0.01 latency_mean=0.0006333333 transaction_rate=1500 15000 B/1500 " +
			"no-latency: redis-benchmark was faster than in its first runs,", [][]run{{one, faster, faster}}},
		{"short latencies", "1s 10000 B [{12000 1 1200}] latency_max=0.009 latency_mean=0.0009 latency_p50=0.0001 latency_p99=0.003 " +
			"transaction_rate=1000 10000 B/1000 coarse-latency: redis-benchmark counts latencies in steps of 8 µs,", [][]run{{short}}},
		{"two clients", "1s 22000 B [{12000 1 1200} {12000 1 1200}] latency_max=0.01 latency_mean=0.0007 transaction_rate=3000 10000 B/1000 12000 B/1200", [][]run{{one}, {faster}}},
	} {
		all := record.Each(c.clients, func(runs []run) figures { return sum(job, 1200, runs) })
		if got := workloadtest.Told(together(job, program.Outcome{Window: time.Second}, all)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		file           string
		size, requests int
		want           []run
	}{
		{"7.0.15/one.txt", 1024, 10406, []run{
			{36131.95, 0.024e-3, 0.023e-3, 0.071e-3, 2.119e-3},
			{28277.17, 0.032e-3, 0.023e-3, 0.159e-3, 2.855e-3},
			{32930.38, 0.027e-3, 0.023e-3, 0.119e-3, 4.631e-3},
		}},
		{"7.0.15/sixteen.txt", 3, 17875, []run{
			{20084.27, 0.495e-3, 0.247e-3, 5.215e-3, 21.727e-3},
			{25682.47, 0.426e-3, 0.263e-3, 3.527e-3, 8.191e-3},
		}},
	} {
		requests, runs, err := readOutput(transcript(t, c.file), c.size)
		if err != nil || requests != c.requests || fmt.Sprintf("%.6g", runs) != fmt.Sprintf("%.6g", c.want) {
			t.Errorf("%s: %d requests, %+v, %v", c.file, requests, runs, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	header := `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"` + "\n"
	good := "3\n100\n" + header + `"GET","1000.00","0.400","0.100","0.200","0.300","0.500","2.000"` + "\n"
	if _, _, err := readOutput(good, 3); err != nil {
		t.Fatal(err)
	}
	with := func(old, new string) string { return workloadtest.Altered(t, good, old, new) }
	for _, c := range []struct{ name, text, want string }{
		{"server killed", transcript(t, "7.0.15/killed.txt"), `store a value of 3 bytes: "6"`},
		{"another value is there", transcript(t, "7.0.15/size.txt"), `store a value of 3 bytes: "6"`},
		{"refused", transcript(t, "7.0.15/refused.txt"), "Could not connect to Redis at 198.18.0.1:6379: Connection refused"},
		{"text instead of CSV", transcript(t, "7.0.15/text.txt"), "redis-benchmark 7.0 is known to work"},
		{"nothing", "", "store a value of 3 bytes"},
		{"no runs", "3\n100\n", "0 lines of output; redis-benchmark 7.0 is known to work"},
		{"no requests", with("100\n", "0\n"), `"0" requests`},
		{"header alone", "3\n100\n" + header, "1 lines of output"},
		{"error of the server", with("3\n", "ERR out of coffee\n"), "ERR out of coffee"},
		{"other columns", with("p95", "p96"), "unknown columns"},
		{"before 7.0", "3\n100\n" + `"GET","1000.00"` + "\n" + `"GET","1000.00"`, "unknown columns"},
		{"other test", with(`"GET"`, `"SET"`), "unknown line"},
		{"fewer columns", with(`,"2.000"`, ""), "unknown line"},
		{"nan", with("0.400", "-nan"), `avg_latency_ms is "-nan"`},
		{"faster than it can tell", with("1000.00", "inf"), `rps is "inf"`},
		{"negative", with("1000.00", "-1"), `rps is "-1"`},
		{"zero rate", with("1000.00", "0.00"), "rps is zero"},
		{"zero latency", with(`"0.200"`, `"0.000"`), "p50_latency_ms is zero"},
		{"unordered", with("0.500", "0.250"), "p99_latency_ms is 0.25, but a lower percentile is 0.3"},
	} {
		_, _, err := readOutput(c.text, 3)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"one.txt", "sixteen.txt", "short.txt", "text.txt", "killed.txt", "refused.txt"} {
		f.Add(transcript(f, "7.0.15/"+name), 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		requests, runs, err := readOutput(text, size)
		if err != nil {
			return
		}
		if requests < 1 || len(runs) == 0 {
			t.Fatalf("%d requests, %d runs", requests, len(runs))
		}
		for _, r := range runs {
			if !(r.rate > 0 && r.mean > 0 && r.p50 > 0 && r.p50 <= r.p99 && r.p99 <= r.max) {
				t.Errorf("%+v", r)
			}
		}
	})
}
