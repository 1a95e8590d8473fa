package record_test

import (
	"math"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

const (
	runLine   = `{"type":"run","schema_version":1,"id":"a"}` + "\n"
	cellKey   = `"cell":{"network":"bridge","family":4,"tool":"engine","workload":"tcp_rr"}`
	trialLine = `{"type":"trial",` + cellKey + `,"round":1,"status":"ok"}` + "\n"
)

func TestReadNamesTheLineThatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty file", "", "not a run file: it has no complete line"},
		{"first line cut", strings.TrimSuffix(runLine, "\n"), "not a run file: it has no complete line"},
		{"text", "hello\n", "line 1: not a run file: the first line is not JSON"},
		{"other JSON", `{"a":1}` + "\n", `line 1: not a run file: it begins with type "" instead of "run"`},
		{"no run line", trialLine, `line 1: not a run file: it begins with type "trial"`},
		{"joined files", runLine + trialLine + runLine, "line 3: a second run begins here"},
		{"newer schema", `{"type":"run","schema_version":2}` + "\n", "line 1: schema version 2; this nettoll reads 1 to 1"},
		{"no schema", `{"type":"run"}` + "\n", "line 1: schema version 0"},
		{"unknown type", runLine + trialLine + `{"type":"tune"}` + "\n", `line 3: unknown type "tune"`},
		{"no type", runLine + `{}` + "\n", `line 2: unknown type ""`},
		{"blank line", runLine + "\n" + trialLine, "line 2: not JSON"},
		{"NaN", runLine + `{"type":"trial",` + cellKey + `,"round":1,"status":"ok","metrics":{"throughput":{"value":NaN}}}` + "\n", "line 2: not JSON"},
		{"metric too large", runLine + `{"type":"trial",` + cellKey + `,"round":1,"status":"ok","metrics":{"throughput":{"value":1e999}}}` + "\n", "line 2: "},
		{"negative metric", runLine + `{"type":"trial",` + cellKey + `,"round":1,"status":"ok","metrics":{"throughput":{"value":-1}}}` + "\n", "line 2: metrics.throughput.value is -1; it must be from 0 to 1e+18"},
		{"skipped without reason", runLine + `{"type":"trial","round":1,"status":"skipped"}` + "\n", "line 2: skipped trial without a reason"},
		{"failed without reason", runLine + `{"type":"trial","round":1,"status":"failed"}` + "\n", "line 2: failed trial without a reason"},
		{"unknown status", runLine + `{"type":"trial","round":1,"status":"fine"}` + "\n", `line 2: unknown status "fine"`},
		{"round zero", runLine + `{"type":"trial","round":0,"status":"ok"}` + "\n", "line 2: round 0: rounds count from 1"},
		{"wrong kind of value", runLine + `{"type":"trial","round":"one","status":"ok"}` + "\n", "line 2: "},
		{"cut in the middle", runLine + trialLine[:10] + "\n" + trialLine, "line 2: not JSON"},
		{"overlong line", runLine + strings.Repeat("x", 16<<20+1) + "\n", "line 2: longer than 16777216 bytes"},
		{"no line at all", strings.Repeat("x", 16<<20+1), "line 1: longer than 16777216 bytes: not a run file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := record.Read(strings.NewReader(c.file))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %q, want one line that begins with %q", err, c.want)
			}
		})
	}
}

func TestWriterRefusesWhatNobodyMayCompareWith(t *testing.T) {
	metric := func(v float64) map[string]record.Metric {
		return map[string]record.Metric{record.Throughput: {Value: v, Unit: "bit/s"}}
	}
	bulky := map[string]uint64{}
	for _, letter := range "ab" {
		bulky[strings.Repeat(string(letter), 9<<20)] = 1
	}
	for _, c := range []struct {
		name  string
		trial record.Trial
		want  string
	}{
		{"NaN", record.Trial{Cell: small, Round: 1, Status: record.OK, Metrics: metric(math.NaN())}, "metrics.throughput.value is NaN"},
		{"infinity", record.Trial{Cell: small, Round: 1, Status: record.OK, Metrics: metric(math.Inf(1))}, "metrics.throughput.value is +Inf"},
		{"negative", record.Trial{Cell: small, Round: 1, Status: record.OK, Metrics: metric(-1)}, "metrics.throughput.value is -1"},
		{"NaN outside metrics", record.Trial{Cell: small, Round: 1, Status: record.OK, Elapsed: math.NaN()}, "elapsed_s is NaN"},
		{"silent skip", record.Trial{Round: 1, Status: record.Skipped, Remedy: "modprobe it"}, "skipped trial without a reason"},
		{"silent failure", record.Trial{Round: 1, Status: record.Failed}, "failed trial without a reason"},
		{"no status", record.Trial{Round: 1}, `unknown status ""`},
		{"no round", record.Trial{Status: record.OK}, "round 0"},
		{"longer than a reader takes", record.Trial{Cell: small, Round: 1, Status: record.OK, Counters: bulky}, "bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, before := write(t, filledRun(t), filledTrial(t, 1))
			w, _, err := record.Append(path, record.Resume{})
			iferr.Fatal(t, err)
			defer w.Close()
			if err := w.Trial(c.trial); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one that says %q", err, c.want)
			}
			f, err := record.ReadFile(path)
			if err != nil {
				t.Fatalf("unreadable after the refusal: %v", err)
			}
			if len(f.Trials) != 1 || len(content(t, path)) <= len(before) {
				t.Errorf("%d trials after the refusal, want 1", len(f.Trials))
			}
		})
	}
}

// TestLoadCanTakeLatencyAway checks that a trial is kept if latency was slightly lower under load than without.
func TestLoadCanTakeLatencyAway(t *testing.T) {
	added := record.Measured(record.LatencyAdded, -3.4e-6)
	cell := record.Cell{Network: "host", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.LatencyUnderLoad}
	path, _ := write(t, record.Run{}, record.Trial{Cell: cell, Round: 1, Status: record.OK, Metrics: map[string]record.Metric{record.LatencyAdded: added}})
	f, err := record.ReadFile(path)
	if err != nil || len(f.Trials) != 1 || f.Trials[0].Metrics[record.LatencyAdded] != added {
		t.Errorf("read %+v, %v", f, err)
	}
}
