package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// One target for each format, and one for charts: for every run file that can be read, a
// report is made, in time, and is well-formed.

func FuzzText(f *testing.F)        { fuzzFormat(f, "text") }
func FuzzHTML(f *testing.F)        { fuzzFormat(f, "html") }
func FuzzMarkdown(f *testing.F)    { fuzzFormat(f, "md") }
func FuzzCSV(f *testing.F)         { fuzzFormat(f, "csv") }
func FuzzJSON(f *testing.F)        { fuzzFormat(f, "json") }
func FuzzOpenMetrics(f *testing.F) { fuzzFormat(f, "openmetrics") }
func FuzzBench(f *testing.F)       { fuzzFormat(f, "bench") }

func TestEveryFormatIsFuzzed(t *testing.T) {
	text, err := os.ReadFile("fuzz_test.go")
	iferr.Fatal(t, err)
	for _, f := range Formats() {
		if !strings.Contains(string(text), fmt.Sprintf("fuzzFormat(f, %q)", f.Name)) {
			t.Errorf("format %s has no fuzz target", f.Name)
		}
	}
}

func fuzzFormat(f *testing.F, name string) {
	fuzzFiles(f, func(t *testing.T, res analysis.Result, o Options, _ uint64) {
		got := write(t, name, res, o)
		if at := notNumber.FindStringIndex(got); at != nil {
			t.Errorf("holds %q", got[max(0, at[0]-60):min(len(got), at[1]+20)])
		}
		wellFormed(t, name, got)
		if name == "text" {
			o.Width, o.Color = 60, true
			write(t, name, res, o)
		}
	})
}

func FuzzCharts(f *testing.F) {
	fuzzFiles(f, func(t *testing.T, res analysis.Result, _ Options, twist uint64) {
		for i, c := range Charts(res) {
			var b bytes.Buffer
			if err := c.SVG(&b); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if text := b.String(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%s: a place is not a number: %.300s", c.Name, text)
			}
			if uint64(i) != twist%64 { // a picture takes long
				continue
			}
			if err := c.PNG(io.Discard); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
		}
	})
}

// longestFuzz bounds the time for one input on a slow machine.
const longestFuzz = 2 * time.Minute

// fuzzFiles makes run files, changed by the bytes of an input and by its twist, and passes
// the results of those that can be read to report.
func fuzzFiles(f *testing.F, report func(*testing.T, analysis.Result, Options, uint64)) {
	for _, file := range fuzzSeeds(f) {
		for twist := range uint64(6) {
			f.Add(file, twist)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, twist uint64) {
		if len(text) > 1<<17 {
			return
		}
		text = twisted(text, twist)
		file, err := record.Read(bytes.NewReader(text))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
			return
		}
		alarm := time.AfterFunc(longestFuzz, func() { panic(fmt.Sprintf("no report after %v of:\n%s", longestFuzz, text)) })
		defer alarm.Stop()
		o := Options{Trials: file.Trials}
		report(t, analysis.Analyze(file), o, twist)
	})
}

// fuzzSeeds returns small run files with everything that reports show.
func fuzzSeeds(f *testing.F) (all [][]byte) {
	cell := func(c record.Cell) record.Cell {
		c.Family, c.Servers, c.Clients, c.Placement = 4, cmp.Or(c.Servers, 1), cmp.Or(c.Clients, 1), record.PlacementFree
		c.Hosts, c.Tool, c.Workload = cmp.Or(c.Hosts, 1), cmp.Or(c.Tool, "engine"), cmp.Or(c.Workload, record.TCPStream)
		return c
	}
	networks := func(c record.Cell, names ...string) (cells []record.Cell) {
		for _, c.Network = range names {
			cells = append(cells, cell(c))
		}
		return cells
	}
	sweep := networks(record.Cell{Clients: 2}, "host", "iptables")
	for _, n := range []int{4, 16} {
		sweep = append(sweep, networks(record.Cell{Clients: n}, "host", "iptables")...)
	}
	var matrix, instances []record.Cell
	for _, n := range []int{1, 2, 3} {
		for _, p := range []int{2, 3} {
			matrix = append(matrix, networks(record.Cell{Clients: n, Processes: p}, "host")...)
		}
	}
	for _, underlay := range []string{"t2.micro:rate=500mbit", "m4.10xlarge"} {
		instances = append(instances, networks(record.Cell{Hosts: 2, Underlay: underlay, Tool: "iperf3"}, "native", "vxlan")...)
	}
	twins := networks(record.Cell{}, "host", "host")
	twins[0].Twin, twins[1].Twin = 1, 2
	for _, one := range []struct {
		suite  string
		rounds int
		cells  []record.Cell
	}{
		{"a", 6, networks(record.Cell{}, "host", "link")},
		{"a", 3, networks(record.Cell{Workload: record.TCPRR}, "host", "link", "ovs")},
		{"icc-2014", 2, append(networks(record.Cell{Tool: "iperf"}, "host", "iptables"), networks(record.Cell{}, "host", "iptables")...)},
		{"a", 1, sweep},
		{"a", 1, matrix},
		{"cloud-2015", 2, instances},
		{"a", 2, twins},
	} {
		all = append(all, fuzzSeed(f, one.suite, one.rounds, one.cells))
	}
	return all
}

// fuzzSeed writes a run of the cells, with all fields that a trial can have.
func fuzzSeed(f *testing.F, suite string, rounds int, cells []record.Cell) []byte {
	f.Helper()
	h := hdrhistogram.New(1, int64(time.Hour), 3)
	for i := range int64(300) {
		iferr.Fatal(f, h.RecordValue(20_000+i*i*100))
	}
	start := time.Date(2026, 3, 15, 9, 0, 0, 0, time.UTC)
	lines := []any{record.Run{
		Type: record.TypeRun, SchemaVersion: 1, ID: "c0ffee42", Started: start, Suite: suite, Cells: cells, Source: suite,
		Machine: record.Machine{CPUs: []record.CPU{{}, {ID: 1, Core: 1}}}, Instance: "m4.large", Price: 0.1,
		Settings: record.Settings{Duration: 1, Precision: 0.05, Confidence: 0.75, MinRounds: 1, MaxRounds: 6},
	}}
	for round := 1; round <= rounds; round++ {
		for i, c := range cells {
			t := matrixTrial(c, round, i)
			t.Started = start.Add(time.Duration(round*len(cells)+i) * time.Second)
			if c.Workload == record.TCPRR && t.Status == record.OK {
				t.Metrics = map[string]record.Metric{
					record.LatencyP50:      {Value: rounded(2e-5 + 1e-6*float64(round+i)), Unit: "s"},
					record.TransactionRate: {Value: float64(40_000 + 100*round), Unit: "1/s"},
				}
				t.Latency = encodedLatencies(h)
				t.Flows = []record.Flow{{Client: "h1c1", Server: "h1c2", Transactions: 300, TCP: &record.TCPInfo{Retransmits: 1, Congestion: "cubic"}}}
				t.CPU.Hosts = []record.HostCPU{{Host: "h1", Busy: 1, Idle: 0.1}}
				t.Endpoints = []record.Endpoint{{Name: "h1c1", Role: "client", Device: "eth0", MTU: 1500, Offloads: map[string]bool{"tso": i > 0}}}
			}
			lines = append(lines, t)
		}
	}
	lines = append(lines, record.End{Type: record.TypeEnd, Finished: start.Add(time.Hour), Reason: record.EndMaxRounds, Rounds: rounds, Elapsed: 60})
	return []byte(inLines(f, lines))
}

// extremes are numbers at and beyond the limits of fields.
var extremes = []json.Number{
	"0", "1", "2", "3", "-1", "1000000", "1000000000", "9007199254740993", "1000000000000000000", "9223372036854775807",
	"5e-324", "1e-300", "1e-18", "0.5", "0.9999999", "1e9", "1e15", "999999999999999999.0", "1e18", "1.7e308",
}

// oddities are texts that are easily taken for something else.
var oddities = []string{
	"", "host", "native", "link", hostile, "\x1b[2J\u009b\u2066", strings.Repeat("wide ", 60), "=1+1", "a\tb\r\n", "÷ engine", "engine",
	record.LatencyP50, record.PacedRR, "ok", "failed", "rate=0", "#01FE05", "日本語\u200d\u0301", "\ufeff", "icc-2014", "%s",
}

// twisted changes a few values of a run file, selected by the number; 0 changes nothing.
// Randomly changed bytes rarely make a readable file.
func twisted(text []byte, twist uint64) []byte {
	if twist == 0 {
		return text
	}
	r := rand.New(rand.NewPCG(twist, 0))
	lines := slices.Collect(bytes.Lines(text))
	for range 1 + r.IntN(6) {
		if len(lines) == 0 {
			break
		}
		at := r.IntN(len(lines))
		if r.IntN(8) == 0 { // duplicated, or with another item's values
			lines = slices.Insert(lines, max(1, at), bytes.Clone(lines[at]))
		}
		var value any
		d := json.NewDecoder(bytes.NewReader(lines[at]))
		d.UseNumber()
		if d.Decode(&value) != nil {
			continue
		}
		changed, err := json.Marshal(changed(r, value))
		if err == nil {
			lines[at] = append(changed, '\n')
		}
	}
	return bytes.Join(lines, nil)
}

// changed returns a JSON value with one change somewhere inside.
func changed(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return v
		}
		keys := slices.Sorted(maps.Keys(v))
		k := keys[r.IntN(len(keys))]
		switch r.IntN(12) {
		case 0:
			delete(v, k)
		case 1:
			v[oddities[r.IntN(len(oddities))]] = v[k]
		default:
			v[k] = changed(r, v[k])
		}
	case []any:
		if len(v) == 0 {
			return v
		}
		i := r.IntN(len(v))
		if r.IntN(6) == 0 {
			return append(v, v[i])
		}
		v[i] = changed(r, v[i])
	case json.Number:
		return extremes[r.IntN(len(extremes))]
	case string:
		return oddities[r.IntN(len(oddities))]
	case bool:
		return !v
	}
	return value
}
