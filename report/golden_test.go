package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/analysis"
	"nettoll/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func write(t *testing.T, format string, res analysis.Result, o Options) string {
	t.Helper()
	f, ok := ByName(format)
	if !ok {
		t.Fatalf("no format %q", format)
	}
	var b bytes.Buffer
	if err := f.Write(&b, res, o); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inTenDigits(string(want)), inTenDigits(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update accepts it:\n%s", path, diff)
	}
}

var allDigits = regexp.MustCompile(`[0-9]+\.[0-9]{3,}(e[+-]?[0-9]+)?`)

// inTenDigits is text whose numbers have ten digits, on machines that may round once where amd64, of which the
// golden files are, rounds twice: arm64 and others multiply and add in one step (Go specification,
// floating-point operators).
func inTenDigits(text string) string {
	if runtime.GOARCH == "amd64" {
		return text
	}
	return allDigits.ReplaceAllStringFunc(text, func(number string) string {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		return strconv.FormatFloat(v, 'g', 10, 64)
	})
}

// goldenRuns are the run files that are kept in testdata with their reports in every
// format. The tests of report/recheck compute both anew.
func goldenRuns() map[string]*record.File {
	return map[string]*record.File{"specimen": specimenFile(), "noisy": noisyFile(), "short": shortFile(), "many": manyFile(), "loads": loadsFile()}
}

func TestGolden(t *testing.T) {
	for name, file := range goldenRuns() {
		text := encoded(t, file)
		golden(t, name+".ndjson", text)
		read, err := record.Read(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		res := analysis.Analyze(read)
		for _, f := range Formats() {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				golden(t, name+"."+f.Name, write(t, f.Name, res, Options{Trials: read.Trials}))
			})
		}
	}
}

func TestGoldenWidths(t *testing.T) {
	res, o := specimenResult()
	for _, width := range []int{40, 60, 80, 100, 120, 160} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			o.Width = width
			golden(t, "specimen-"+strconv.Itoa(width)+".text", write(t, "text", res, o))
		})
	}
	o.Width, o.Color = 120, true
	golden(t, "specimen-color.text", write(t, "text", res, o))
}

// encoded is a run file as it is written: an earlier process, where there are resume lines,
// did the first half of the trials and was killed.
func encoded(t *testing.T, f *record.File) string {
	t.Helper()
	lines := []any{f.Run}
	half := len(f.Trials)
	if len(f.Resumes) > 0 {
		half /= 2
	}
	for _, tr := range f.Trials[:half] {
		lines = append(lines, tr)
	}
	for _, r := range f.Resumes {
		lines = append(lines, r)
	}
	for _, tr := range f.Trials[half:] {
		lines = append(lines, tr)
	}
	for _, e := range f.Ends {
		lines = append(lines, e)
	}
	var b bytes.Buffer
	for _, l := range lines {
		if err := json.NewEncoder(&b).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// noisyFile is a run on a busy machine: networks that are slower, perhaps slower, the same, not
// known and not tested, loss of which native has none, two tools, and a process that was killed.
func noisyFile() *record.File {
	start := time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(4, 1))
	f := &record.File{Run: specimenFile().Run}
	f.Run.Cells = nil
	f.Run.ID, f.Run.Note, f.Run.Suite, f.Run.Started, f.Run.Instance, f.Run.Price = "4e01", "", "busy", start, "mine", 0.25
	f.Run.Settings = record.Settings{Duration: 0.2, Warmup: 0.2, Precision: 0.05, Confidence: 0.95, MinRounds: 6, MaxRounds: 40, Budget: 60, Seed: 2, EqualWithin: 0.05}
	const rounds = 10
	// What each has of native, and by how much that varies.
	share := map[string]float64{"host": 1, "slower": 0.8, "perhaps": 0.84, "equal": 1, "unknown": 1, "late": 0.5}
	noise := map[string]float64{"host": 0.02, "slower": 0.02, "perhaps": 0.12, "equal": 0.02, "unknown": 0.2, "late": 0.02}
	for _, w := range []struct{ workload, tool string }{{record.TCPStream, "engine"}, {record.TCPStream, "iperf3"}, {record.TCPRR, "engine"}, {record.UDPStream, "engine"}} {
		for _, name := range []string{"host", "slower", "perhaps", "equal", "unknown", "late"} {
			c := record.Cell{Network: name, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: w.tool, Workload: w.workload, Placement: record.PlacementDistinct}
			f.Run.Cells = append(f.Run.Cells, c)
		}
	}
	for round := 1; round <= rounds; round++ {
		machine := math.Exp(0.1 * r.NormFloat64())
		for i, c := range f.Run.Cells {
			if c.Network == "late" && round > 4 {
				continue
			}
			v := machine * share[c.Network] * math.Exp(noise[c.Network]*r.NormFloat64())
			t := record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Order: i + 1, Status: record.OK, Window: 0.2, Elapsed: 0.45,
				Started: start.Add(time.Duration(round*len(f.Run.Cells)+i) * time.Second), Metrics: map[string]record.Metric{}}
			set := func(name string, v float64) { t.Metrics[name] = record.Measured(name, rounded(v)) }
			switch c.Workload {
			case record.TCPStream:
				if c.Tool == "iperf3" {
					v *= 0.93
				}
				set(record.Throughput, 18e9*v)
				set(record.CPUPerGB, 0.5/v*math.Exp(0.02*r.NormFloat64()))
				t.CPU = &record.CPUUse{Client: record.ProcessCPU{System: 0.1}, Server: record.ProcessCPU{System: 0.12}, Machine: record.MachineCPU{Busy: 0.24}}
				set(record.Retransmits, float64(r.IntN(3)))
			case record.TCPRR:
				set(record.LatencyP50, 50e-6/v)
				set(record.LatencyP99, 90e-6/v*math.Exp(0.2*r.NormFloat64()))
				set(record.TransactionRate, 19000*v)
				set(record.CPUPerTransaction, 40e-6/v)
			case record.UDPStream:
				set(record.PacketRate, 400e3*v)
				set(record.Throughput, 400e3*v*1400*8)
				set(record.Loss, 0)
				if c.Network != "host" && c.Network != "equal" {
					set(record.Loss, 0.002+0.001*r.Float64())
				}
				set(record.Jitter, 5e-6/v)
				set(record.CPUPerGB, 2.1/v)
			}
			f.Trials = append(f.Trials, t)
		}
	}
	later := f.Run.Settings
	later.Budget = 45
	f.Resumes = []record.Resume{{Type: record.TypeResume, Started: start.Add(time.Hour), Version: "0.1.0", Settings: &later}}
	f.Ends = []record.End{{Type: record.TypeEnd, Finished: start.Add(2 * time.Hour), Reason: record.EndBudget, Rounds: rounds, Elapsed: 44.5}}
	return f
}

// shortFile is a run of more networks than there are sentences, ended after two rounds.
func shortFile() *record.File {
	f := specimenFile()
	f.Run.ID, f.Run.Note, f.Run.Suite = "5407", "", "short"
	f.Run.Cells, f.Trials = nil, nil
	f.Run.Settings.MaxRounds, f.Run.Settings.MinRounds = 2, 2
	for i, name := range []string{"host", "a", "b", "c", "d", "e", "f", "g", "h"} {
		for _, w := range []string{record.TCPStream, record.TCPRR} {
			c := record.Cell{Network: name, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: w, Placement: record.PlacementDistinct}
			f.Run.Cells = append(f.Run.Cells, c)
			for round := 1; round <= 2; round++ {
				t := record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Order: 1, Status: record.OK, Window: 0.2, Elapsed: 0.4, Started: f.Run.Started, Metrics: map[string]record.Metric{}}
				v := rounded((1 - 0.07*float64(i)) * (1 + 0.01*float64(round)))
				if w == record.TCPStream {
					t.Metrics[record.Throughput] = record.Measured(record.Throughput, rounded(2e10*v))
				} else {
					t.Metrics[record.LatencyP50] = record.Measured(record.LatencyP50, rounded(4e-5/v))
				}
				f.Trials = append(f.Trials, t)
			}
		}
	}
	f.Ends[0].Reason = record.EndMaxRounds
	return f
}

// loadsFile offers networks more and more transactions, up to more than any of them can do.
func loadsFile() *record.File {
	f := shortFile()
	f.Run.ID, f.Run.Suite, f.Run.Settings.MaxRounds = "10ad5", "loads", inventedRounds
	f.Run.Cells, f.Trials = nil, nil
	most := map[string]float64{"host": 21e3, "bridge": 17e3, "published": 9e3}
	for _, rate := range []int{1000, 5000, 10_000, 20_000} {
		for i, name := range []string{"host", "bridge", "published"} {
			c := record.Cell{Network: name, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.PacedRR, Placement: record.PlacementDistinct,
				Options: record.Options{Streams: 1, Rate: rate}}
			f.Run.Cells = append(f.Run.Cells, c)
			for round := 1; round <= inventedRounds; round++ {
				ripple := 1 + 0.02*math.Sin(float64(5*round+i))
				did, wait := float64(rate), 60e-6*(1+0.2*float64(i))/(1-min(float64(rate)/most[name], 0.9))
				if did > most[name] { // it does less than its most, and a queue grows
					did, wait = 0.95*most[name], 12e-3
				}
				t := record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Order: 1, Status: record.OK, Window: 0.2, Elapsed: 0.4, Started: f.Run.Started, Metrics: map[string]record.Metric{}}
				for metric, v := range map[string]float64{record.TransactionRate: did * (1 + 0.1*(ripple-1)), record.LatencyP50: wait * ripple, record.LatencyP99: 4 * wait * ripple} {
					t.Metrics[metric] = record.Measured(metric, rounded(v))
				}
				f.Trials = append(f.Trials, t)
			}
		}
	}
	return f
}

// manyFile has as many networks, measured often enough: one that is too noisy to tell, and CPU cost
// that is not throughput once more.
func manyFile() *record.File {
	f := shortFile()
	f.Run.ID, f.Run.Suite, f.Run.Settings.MaxRounds = "3a41", "many", inventedRounds
	short := f.Trials
	f.Trials = nil
	for _, first := range short {
		if first.Round > 1 {
			continue
		}
		network := float64(first.Cell.Network[0])
		noise := 0.02
		if first.Cell.Network == "d" {
			noise = 0.24
		}
		for round := 1; round <= inventedRounds; round++ {
			t := first
			t.Round, t.Metrics = round, map[string]record.Metric{}
			for name, m := range first.Metrics {
				t.Metrics[name] = record.Measured(name, rounded(m.Value*(1+noise*math.Sin(float64(5*round)+network))))
			}
			if v, ok := t.Metrics[record.Throughput]; ok {
				t.Metrics[record.CPUPerGB] = record.Measured(record.CPUPerGB, rounded(1e10/v.Value*(0.3+0.1*(network-'a'))))
			}
			f.Trials = append(f.Trials, t)
		}
	}
	return f
}
