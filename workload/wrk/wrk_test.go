package wrk

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func TestClient(t *testing.T) {
	plain := workloadtest.Job(record.HTTP, record.Options{})
	fractions := workloadtest.Warm(workloadtest.Job(record.HTTP, record.Options{}, workloadtest.Pair("c", "s", "2001:2::1")), 1)
	fractions.Duration = 1500 * time.Millisecond
	options := workloadtest.Job(record.HTTP, record.Options{Streams: 6, NoKeepAlive: true})
	options.CPUs.Client = []int{0, 1, 2, 3}
	const server = "-p ./ -e stderr -c nginx.conf"
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"plain", plain, server, "-t 1 -c 1 --timeout 10s http://198.18.0.1:20001/body"},
		{"times are whole seconds", fractions, server, "-t 1 -c 1 --timeout 10s http://[2001:2::1]:20001/body"},
		{"options", options, server, "-t 3 -c 6 --timeout 10s -H Connection: close http://198.18.0.1:20001/body"},
	})
	if _, c := workloadtest.Started(t, Tool, fractions, 0); c.Params != (request{time.Second, 2 * time.Second}) {
		t.Errorf("%+v", c.Params)
	}
	if _, c := workloadtest.Started(t, Tool, options, 0); c.Params != (request{0, time.Second}) || !slices.Equal(c.Command.CPUs, []int{0, 1, 2, 3}) {
		t.Errorf("%+v on CPUs %v", c.Params, c.Command.CPUs)
	}
}

func TestServer(t *testing.T) {
	job := workloadtest.Job(record.HTTP, record.Options{ResponseSize: 77},
		workloadtest.Pair("c", "a", "198.18.0.1"), workloadtest.Pair("d", "a", "2001:2::1"), workloadtest.Pair("e", "b", "198.18.0.2"))
	job.CPUs.Server = []int{2, 3}
	server := func(n int) program.Server { s, _ := workloadtest.Started(t, Tool, job, n); return s }
	first, second, third := server(0), server(1), server(2)
	if !reflect.DeepEqual(first, second) || first.Place.Files["body"].Size != 77 {
		t.Errorf("two servers where there is one: %+v, %+v", first, second)
	}
	text := func(s program.Server) string { return s.Place.Files["nginx.conf"].Text }
	for _, want := range []string{"listen 198.18.0.2:20001;", "listen [2001:2::2]:20001;", "worker_processes 2;", "worker_connections 1028;"} {
		if !strings.Contains(text(first), want) {
			t.Errorf("no %q in %s", want, text(first))
		}
	}
	if !slices.Equal(first.Command.CPUs, []int{2, 3}) || !slices.Equal(third.Command.CPUs, []int{3}) {
		t.Errorf("on CPUs %v and %v", first.Command.CPUs, third.Command.CPUs)
	}
	if !strings.Contains(text(third), "worker_processes 1;") || strings.Contains(text(third), "[") {
		t.Errorf("for one flow over IPv4: %s", text(third))
	}
	job.CPUs.Server = nil
	if s := server(0); !strings.Contains(text(s), "worker_processes auto;") {
		t.Errorf("anywhere: %s", text(s))
	}
}

func TestThreads(t *testing.T) {
	for _, c := range []struct{ connections, cpus, want int }{
		{1, 0, 1}, {1, 4, 1}, {4, 2, 2}, {5, 2, 1}, {5, 4, 1}, {6, 4, 3}, {100, 16, 10}, {2, 8, 2},
	} {
		if got := threads(c.connections, c.cpus); got != c.want {
			t.Errorf("%d connections on %d CPUs: %d threads, want %d", c.connections, c.cpus, got, c.want)
		}
	}
}

func TestVersions(t *testing.T) {
	workloadtest.Versions(t, Tool, map[string]string{
		"wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>": "4.1.0",
		"wrk 4.2.0 [epoll] Copyright (C) 2012 Will Glozer":                                         "4.2.0",
		"nginx version: nginx/1.22.1":                                                              "1.22.1",
		"nginx version: nginx/1.24.0 (Ubuntu)":                                                     "1.24.0",
		"Usage: wrk <options> <url>":                                                               "",
		"":                                                                                         "",
	})
}

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		file        string
		connections int
		want        string // window, requests, bytes
		mean        string // mean that wrk prints, including its additions: ours is not above it
	}{
		{"4.1.0/one.txt", 1, "1.001786s 22876 29235528", "257.70us"},
		{"4.1.0/four.txt", 4, "1.097521s 55692 71174376", "377.92us"},
		{"4.1.0/close.txt", 2, "1.010147s 6260 7968980", "1.50ms"},
	} {
		text := transcript(t, c.file)
		f, err := read(text, c.connections)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if got := fmt.Sprint(f.Window, " ", f.Transactions, " ", f.Crossed.Bytes); got != c.want {
			t.Errorf("%s: %s, want %s", c.file, got, c.want)
		}
		if n := f.Histogram.Count(); float64(n) != f.Transactions {
			t.Errorf("%s: %d latencies of %v requests", c.file, n, f.Transactions)
		}
		said, err := time.ParseDuration(c.mean)
		if err != nil || !strings.Contains(text, c.mean) {
			t.Fatalf("%s: it does not say %s, or it is none: %v", c.file, c.mean, err)
		}
		// With one request at a time on each persistent connection, the latencies add up to all of
		// the time.
		s, least := f.Histogram.Summary(), 0.5
		if c.file == "4.1.0/close.txt" {
			least = 0
		}
		busy := s[record.LatencyMean] * f.Transactions / float64(c.connections) / f.Window.Seconds()
		if s[record.LatencyMean] > said.Seconds() || busy < least || busy > 1 {
			t.Errorf("%s: latencies %v take %.2f of the time", c.file, s, busy)
		}
	}
}

func TestRefuses(t *testing.T) {
	good := "nettoll summary duration_us=1000000 requests=3 bytes=3072 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us 5*2 1\n"
	if _, err := read(good, 1); err != nil {
		t.Fatal(err)
	}
	with := func(old, new string) string { return workloadtest.Altered(t, good, old, new) }
	for _, c := range []struct{ name, text, want string }{
		{"status", transcript(t, "4.1.0/status.txt"), "responses that were errors: 24066"},
		{"server killed", transcript(t, "4.1.0/killed.txt"), "connections that broke while a response was read: 2, connections that broke while a request was written: 213"},
		{"refused", transcript(t, "4.1.0/refused.txt"), "no summary"},
		{"nothing", "", "wrk 4.1.0 is known to work"},
		{"nan", with("1000000", "nan"), `duration_us is "nan"`},
		{"inf", with("3072", "inf"), `bytes is "inf"`},
		{"negative", with("requests=3", "requests=-3"), `requests is "-3"`},
		{"no requests", with("requests=3", "requests=0"), "requests is zero"},
		{"no bytes", with("3072", "0"), "bytes is zero"},
		{"no time", with("1000000", "0"), "duration_us is zero"},
		{"too long", with("1000000", "18446744073709551615"), "duration_us is 18446744073709551615"},
		{"missing", with(" timeout=0", ""), "timeout is missing"},
		{"timeout", with("timeout=0", "timeout=7"), "responses that took longer than 10 s: 7"},
		{"no latencies", with(" 5*2 1", ""), "there are none"},
		{"too few latencies", with("5*2", "5*1"), "2 of 3 requests"},
		{"more latencies than were added", with("5*2", "5*9"), "10 of 3 requests"},
		{"wrong addition", strings.ReplaceAll(with("5*2 1", "5*2 1999995*2"), "=1000000", "=300"), "wrk 4.1.0 is known to work"},
		{"latency is none", with("5*2", "5*x"), `"5*x" is not valid`},
		{"latency twice", with("5*2 1", "5*2 0"), `"0" is not valid`},
		{"latency beyond the timeout", with("5*2", "99000000"), `"99000000" is not valid`},
	} {
		_, err := read(c.text, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

func TestTooManyLatencies(t *testing.T) {
	f, err := read("nettoll summary duration_us=1000000 requests=3 bytes=3072 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us too-many\n", 1)
	if err != nil || f.Histogram != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

// corrected adds the same latencies as wrk's stats_correct.
func corrected(raw program.Histogram, expected int64) program.Histogram {
	h, seen := maps.Clone(raw), program.Histogram{}
	largest := slices.Max(slices.Collect(maps.Keys(h)))
	least := slices.Min(slices.Collect(maps.Keys(h)))
	for n := 2 * expected; n <= largest; n++ {
		count := h[n]
		for m := n - expected; count > 0 && m > expected; m -= expected {
			h[m] += count
		}
	}
	for us, n := range h {
		if us >= least { // wrk does not report latencies below
			seen[us] = n
		}
	}
	return seen
}

func TestUncorrected(t *testing.T) {
	for _, raw := range []program.Histogram{
		{100: 9, 1000: 1},
		{10: 5, 20: 5, 30: 5, 41: 3, 100: 1},
		{1: 1000, 2: 300, 5: 7, 11: 2, 12: 3, 17: 1, 250: 2},
		{50: 1},
		{3000: 5, 9000: 5},
	} {
		for _, expected := range []int64{1, 3, 7, 40, 190, 5000} {
			n := raw.Count()
			f := program.Figures{Transactions: float64(n), Window: time.Duration(expected*int64(n)) * time.Microsecond}
			got, err := uncorrected(corrected(raw, expected), f, 1)
			if err != nil || !maps.Equal(got, raw) {
				t.Errorf("%v, expected interval %d µs: %v, %v", raw, expected, got, err)
			}
		}
	}
}

func TestResult(t *testing.T) {
	const said = "nettoll summary duration_us=1000000 requests=3 bytes=99 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us "
	longer := strings.NewReplacer("duration_us=1000000", "duration_us=2000000", "requests=3", "requests=2").Replace(said)
	keep, closed := record.Options{Streams: 2, ResponseSize: 10}, record.Options{Streams: 2, ResponseSize: 10, NoKeepAlive: true}
	for _, c := range []struct {
		name      string
		o         record.Options
		latencies string
		want      string
	}{
		{"kept", keep, "100*3", "1.25s 50 B [{99 2 3} {99 2 2}] latency_max=0.001 latency_mean=0.00032 latency_p50=0.0001 latency_p90=0.001 " +
			"latency_p99=0.001 latency_p999=0.001 transaction_rate=4 30 B/3 20 B/2"},
		{"not kept", closed, "100*3", "1.25s 50 B [{99 3 3} {99 2 2}] transaction_rate=4 30 B/3 20 B/2"},
		{"too many latencies", keep, tooMany, "1.25s 50 B [{99 2 3} {99 2 2}] transaction_rate=4 30 B/3 20 B/2 " +
			"no-latency: wrk measured too many different latencies to repor"},
	} {
		o := program.Outcome{
			Clients: []program.Output{{Stdout: said + c.latencies + "\n"}, {Stdout: longer + "300 700\n"}}, Servers: make([]program.Output, 1),
			ServerOf: []int{0, 0}, Server: record.ProcessCPU{User: 1, System: 1}, Window: time.Second,
		}
		r, err := Tool.Result(workloadtest.Clients(record.HTTP, c.o, 2), o)
		if got := workloadtest.Told(r); err != nil || got != c.want || r.Server.Total() != 2.5 {
			t.Errorf("%s: %v, %v\n%s\nwant\n%s", c.name, r.Server, err, got, c.want)
		}
	}
}

// TestFewBytes checks that the bodies have arrived.
func TestFewBytes(t *testing.T) {
	text := "nettoll summary duration_us=1000000 requests=3 bytes=3071 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us 5*2 1\n"
	if f, err := parse(workloadtest.Job(record.HTTP, record.Options{}), text, ""); err == nil || !strings.Contains(err.Error(), "3 responses were only 3071 bytes") {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzParse(f *testing.F) {
	// The fuzzer would spend its time on minimizing long seeds.
	for _, name := range []string{"killed.txt", "refused.txt"} {
		f.Add(transcript(f, "4.1.0/"+name), 2)
	}
	f.Add("nettoll summary duration_us=80 requests=5 bytes=5 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us 10*4 14 16", 1)
	f.Add("nettoll summary duration_us=9 requests=3 bytes=3 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us 5*2 1", 1)
	f.Fuzz(func(t *testing.T, text string, connections int) {
		got, err := read(text, connections)
		if err != nil {
			return
		}
		if got.Window <= 0 || got.Transactions == 0 || got.Crossed.Bytes == 0 {
			t.Errorf("zero: %+v", got)
		}
		if n := got.Histogram.Count(); got.Histogram != nil && float64(n) != got.Transactions {
			t.Errorf("%d latencies of %v requests", n, got.Transactions)
		}
	})
}
