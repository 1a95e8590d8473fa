package wrk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		file        string
		connections int
		want        figures
		mean        string // of what wrk says, before its additions are taken out: ours is not above it
	}{
		{"4.1.0/one.txt", 1, figures{duration: 1001786 * time.Microsecond, requests: 22876, bytes: 29235528}, "257.70us"},
		{"4.1.0/four.txt", 4, figures{duration: 1097521 * time.Microsecond, requests: 55692, bytes: 71174376}, "377.92us"},
		{"4.1.0/close.txt", 2, figures{duration: 1010147 * time.Microsecond, requests: 6260, bytes: 7968980}, "1.50ms"},
	} {
		text := transcript(t, c.file)
		f, err := read(text, c.connections)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if f.duration != c.want.duration || f.requests != c.want.requests || f.bytes != c.want.bytes {
			t.Errorf("%s: %v, %d requests, %d bytes; want %+v", c.file, f.duration, f.requests, f.bytes, c.want)
		}
		if f.latencies.Count() != f.requests {
			t.Errorf("%s: %d latencies of %d requests", c.file, f.latencies.Count(), f.requests)
		}
		said, err := time.ParseDuration(c.mean)
		if err != nil || !strings.Contains(text, c.mean) {
			t.Fatalf("%s: it does not say %s, or it is none: %v", c.file, c.mean, err)
		}
		// With one request at a time on each connection that is kept these are all of
		// the time.
		s, least := f.latencies.Summary(), 0.5
		if c.file == "4.1.0/close.txt" {
			least = 0
		}
		busy := s[record.LatencyMean] * float64(f.requests) / float64(c.connections) / f.duration.Seconds()
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
		{"status", transcript(t, "4.1.0/status.txt"), "24066 responses were errors"},
		{"server killed", transcript(t, "4.1.0/killed.txt"), "2 connections broke while a response was read, 213 connections broke while a request was written"},
		{"refused", transcript(t, "4.1.0/refused.txt"), "no summary"},
		{"nothing", "", "known to work is wrk 4.1.0"},
		{"nan", with("1000000", "nan"), `duration_us is "nan"`},
		{"inf", with("3072", "inf"), `bytes is "inf"`},
		{"negative", with("requests=3", "requests=-3"), `requests is "-3"`},
		{"no requests", with("requests=3", "requests=0"), "requests is zero"},
		{"no bytes", with("3072", "0"), "bytes is zero"},
		{"no time", with("1000000", "0"), "duration_us is zero"},
		{"too long", with("1000000", "18446744073709551615"), "duration_us is 18446744073709551615"},
		{"missing", with(" timeout=0", ""), "timeout is missing"},
		{"timeout", with("timeout=0", "timeout=7"), "7 responses took longer than 10 s"},
		{"no latencies", with(" 5*2 1", ""), "there are none"},
		{"too few latencies", with("5*2", "5*1"), "2 of 3 requests"},
		{"more latencies than were added", with("5*2", "5*9"), "10 of 3 requests"},
		{"wrong addition", strings.ReplaceAll(with("5*2 1", "5*2 1999995*2"), "=1000000", "=300"), "known to work is wrk 4.1.0"},
		{"latency is none", with("5*2", "5*x"), `"5*x" is none`},
		{"latency twice", with("5*2 1", "5*2 0"), `"0" is none`},
		{"latency beyond the timeout", with("5*2", "99000000"), `"99000000" is none`},
	} {
		_, err := read(c.text, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

func TestTooManyLatencies(t *testing.T) {
	f, err := read("nettoll summary duration_us=1000000 requests=3 bytes=3072 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us too-many\n", 1)
	if err != nil || f.latencies != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

// corrected adds what wrk's stats_correct does.
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
		if us >= least { // wrk does not look below
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
			f := figures{requests: raw.Count()}
			f.duration = time.Duration(expected*int64(f.requests)) * time.Microsecond
			got, err := uncorrected(corrected(raw, expected), f, 1)
			if err != nil || !maps.Equal(got, raw) {
				t.Errorf("%v, expected interval %d µs: %v, %v", raw, expected, got, err)
			}
		}
	}
}

func TestResult(t *testing.T) {
	p := workloadtest.Pair("c", "s", "198.18.0.1")
	job := workloadtest.Job(record.HTTP, record.Options{Streams: 2, ResponseSize: 10}, p, p)
	o := program.Outcome{Server: record.ProcessCPU{User: 1, System: 1}, Window: time.Second}
	all := []figures{
		{duration: time.Second, requests: 3, bytes: 99, latencies: program.Histogram{100: 3}},
		{duration: 2 * time.Second, requests: 2, bytes: 77, latencies: program.Histogram{300: 1, 1000: 1}},
	}
	r := together(job, o, all)
	for name, want := range map[string]float64{
		record.TransactionRate: 3 + 1, record.LatencyP50: 100e-6, record.LatencyP90: 1000e-6, record.LatencyMean: 320e-6,
	} {
		if got := r.Metrics[name].Value; fmt.Sprintf("%.9f", got) != fmt.Sprintf("%.9f", want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if r.Window != 2*time.Second || r.Server.Total() != 4 || r.Bytes != 50 || r.Flows[1].Transactions != 2 || len(r.Flows) != 2 {
		t.Errorf("%+v", r)
	}
	if r.Crossed[0] != (workload.Crossed{Bytes: 99, Conns: 2}) {
		t.Errorf("crossed %+v", r.Crossed)
	}
	job.Options.NoKeepAlive = true
	r = together(job, o, all)
	if len(r.Metrics) != 1 || len(r.Warnings) != 0 || r.Crossed[1].Conns != 2 || r.Crossed[0].Conns != 3 {
		t.Errorf("without keep-alive: %+v", r)
	}
	job.Options.NoKeepAlive = false
	all[0].latencies = nil
	r = together(job, o, all)
	if len(r.Metrics) != 1 || len(r.Warnings) != 1 || r.Warnings[0].Code != "no-latency" || len(r.Flows) != 2 {
		t.Errorf("with too many latencies: %+v", r)
	}
}

// TestFewBytes wants the bodies to have arrived.
func TestFewBytes(t *testing.T) {
	text := "nettoll summary duration_us=1000000 requests=3 bytes=3071 connect=0 read=0 write=0 status=0 timeout=0\nnettoll latency_us 5*2 1\n"
	if f, err := parse(workloadtest.Job(record.HTTP, record.Options{}), text, ""); err == nil || !strings.Contains(err.Error(), "3 responses were only 3071 bytes") {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzParse(f *testing.F) {
	// Long seeds would have the fuzzer spend its time on shortening them.
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
		if got.duration <= 0 || got.requests == 0 || got.bytes == 0 {
			t.Errorf("zero: %+v", got)
		}
		if got.latencies != nil && got.latencies.Count() != got.requests {
			t.Errorf("%d latencies of %d requests", got.latencies.Count(), got.requests)
		}
	})
}
