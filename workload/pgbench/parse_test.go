package pgbench

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

// said is a figure that pgbench prints itself, such as "tps = 7659.402336".
func said(t *testing.T, text, mark string) float64 {
	t.Helper()
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		t.Fatalf("it says no %q", mark)
	}
	v, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		file        string
		connections int
		whole       bool // there is no warm-up: pgbench counts the same as we do
	}{
		{"15.18/one.txt", 1, true}, {"15.18/four.txt", 4, false}, {"15.18/crowd.txt", 20, true},
	} {
		text := transcript(t, c.file)
		f, err := read(text, c.connections)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		total := f.latencies.Count()
		rate, mean := float64(total)/f.window.Seconds(), f.latencies.Summary()[record.LatencyMean]
		if len(f.clients) != c.connections || total == 0 {
			t.Errorf("%s: %v, %d transactions", c.file, f.clients, total)
		}
		if !c.whole {
			continue
		}
		if n := said(t, text, processedMark); float64(total) != n {
			t.Errorf("%s: %d transactions, it says %v", c.file, total, n)
		}
		if v := said(t, text, "tps = "); rate < 0.97*v || rate > 1.03*v {
			t.Errorf("%s: %v transactions a second, it says %v", c.file, rate, v)
		}
		if v := said(t, text, "latency average = ") / 1e3; mean < 0.7*v || mean > 1.03*v { // its figure is the whole time, with that of pgbench itself
			t.Errorf("%s: mean latency %v, it says %v", c.file, mean, v)
		}
	}
}

const good = `number of transactions actually processed: 5
number of failed transactions: 0 (0.000%)
nettoll window lines=5 us=1000000
nettoll clients 1:1 0:2
nettoll latency_us 70:2 90:1
`

func TestParse(t *testing.T) {
	f, err := read(good, 2)
	if err != nil || f.window != time.Second || fmt.Sprint(f.clients, f.latencies) != "[2 1] map[70:2 90:1]" {
		t.Errorf("%+v, %v", f, err)
	}
	with := func(old, new string) string { return workloadtest.Altered(t, good, old, new) }
	for _, c := range []struct{ name, text, want string }{
		{"server killed", transcript(t, "15.18/killed.txt"), `it printed no "nettoll window"`},
		{"refused", transcript(t, "15.18/refused.txt"), "it printed no"},
		{"nothing", "", "known to work is pgbench 15"},
		{"no failures told, as before 15", with("number of failed", "number of foiled"), `it printed no "number of failed transactions"`},
		{"failures", with("0 (0.000%)", "2 (40.000%)"), "2 (40.000%) transactions failed"},
		{"unknown line of the log", good + "nettoll unknown 0 1 failed 0 1 2\n", `its log has the line "0 1 failed 0 1 2"`},
		{"incomplete log", with("lines=5", "lines=4"), "its log has 4 of 5 transactions"},
		{"nan", with("processed: 5", "processed: nan"), "its log has 5 of nan transactions"},
		{"empty log", with("lines=5", "lines=0"), "its log has 0 of 5 transactions"},
		{"negative", with("lines=5", "lines=-5"), `window is "lines=-5 us=1000000"`},
		{"no time", with("us=1000000", "us=0"), "a window of 0 µs"},
		{"no clients", with(" 1:1 0:2", ""), "clients: there are none"},
		{"idle connection", with(" 1:1 0:2", " 0:3"), "connection 1 did nothing"},
		{"more connections", with(" 1:1 0:2", " 0:1 1:1 2:1"), "3 transactions by 3 connections"},
		{"latency lost", with("70:2", "70:1"), "2 latencies of 3 transactions"},
		{"latency is none", with("70:2", "x:2"), `latencies: "x:2" is none`},
		{"latency is negative", with("70:2", "-70:2"), `latencies: "-70:2" is none`},
		{"latency twice", with("90:1", "70:1"), `latencies: "70:1" is none`},
	} {
		_, err := parse(workloadtest.Job(record.Postgres, record.Options{Streams: 2}), c.text, "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

func TestResult(t *testing.T) {
	f, err := read(good, 2)
	if err != nil {
		t.Fatal(err)
	}
	p := workloadtest.Pair("c", "s", "198.18.0.1")
	job := workloadtest.Job(record.Postgres, record.Options{Streams: 2}, p, p)
	slower := figures{window: 500 * time.Millisecond, clients: []uint64{1, 1}, latencies: program.Histogram{90: 1, 300: 1}}
	o := program.Outcome{Server: record.ProcessCPU{User: 1, System: 2}, Window: 2 * time.Second}
	r := together(job, o, []figures{f, slower})
	for name, want := range map[string]float64{
		record.TransactionRate: 3 + 4, record.LatencyP50: 90e-6, record.LatencyP99: 300e-6, record.LatencyMax: 300e-6,
		record.LatencyMean: (70 + 70 + 90 + 90 + 300) / 5e6,
	} {
		if got := r.Metrics[name].Value; fmt.Sprintf("%.9f", got) != fmt.Sprintf("%.9f", want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if r.Window != time.Second || r.Bytes != 5*37 || r.Server.Total() != 1.5 || len(r.Flows) != 4 {
		t.Errorf("%+v", r)
	}
	if v := r.Flows[1]; v.Stream != 1 || v.Transactions != 1 {
		t.Errorf("second flow: %+v", v)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good, 2)
	for _, name := range []string{"killed.txt", "refused.txt"} {
		f.Add(transcript(f, "15.18/"+name), 1)
	}
	f.Fuzz(func(t *testing.T, text string, connections int) {
		got, err := read(text, connections)
		if err != nil {
			return
		}
		var total uint64
		for _, n := range got.clients {
			total += n
		}
		if got.window <= 0 || total == 0 || total != got.latencies.Count() {
			t.Errorf("%+v", got)
		}
	})
}
