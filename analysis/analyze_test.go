package analysis

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

func TestAnalyze(t *testing.T) {
	res := Analyze(fileOf(pairedTrials(1, 8, 0.8, 0.02)...))
	if len(res.Scenarios) != 1 || len(res.Scenarios[0].Rows) != 2 {
		t.Fatalf("got %+v", res.Scenarios)
	}
	if res.Rounds != 8 || res.End != record.EndMaxRounds || len(res.Warnings) != 0 {
		t.Errorf("%d rounds, end %q, warnings %v", res.Rounds, res.End, res.Warnings)
	}
	if want := began.Add(time.Hour); !res.Finished.Equal(want) {
		t.Errorf("finished at %v, want %v", res.Finished, want)
	}
	open := fileOf(pairedTrials(1, 8, 0.8, 0.02)...)
	open.Ends, open.Open = nil, true
	if got, want := Analyze(open).Finished, began.Add(8*time.Minute+1500*time.Millisecond); !got.Equal(want) {
		t.Errorf("the last trial finished at %v, want %v", got, want)
	}
	host, bridge := res.Scenarios[0].Rows[0], res.Scenarios[0].Rows[1]
	if !host.Native || host.Figures[0].Ratio != nil || len(host.Figures) != 1 {
		t.Errorf("native %+v", host)
	}
	f, ok := bridge.Figure(record.Throughput)
	if !ok || f.Ratio == nil || f.Ratio.Effect != Worse || f.Ratio.N != 8 || f.Summary.N != 8 {
		t.Errorf("bridge %+v", f)
	}
	if f.Ratio.Low > 0.8 || f.Ratio.High < 0.8 {
		t.Errorf("the ratio 0.8 is not in %v to %v", f.Ratio.Low, f.Ratio.High)
	}
}

// The same file twice, and once through its text, gives equal results.
func TestAnalyzeIsDeterministic(t *testing.T) {
	trials := pairedTrials(1, 9, 0.9, 0.1)
	for i := range trials {
		trials[i].Latency = histogramOf(t, 1e9, 3, int64(1000+i))
		trials[i].Warnings = []record.Warning{{Code: "a", Text: "a"}, {Code: "b", Text: "b"}}
		trials[i].Endpoints = endpointsOf(1500+i%2, nil)
		trials[i].Metrics["x"], trials[i].Metrics["y"] = record.Metric{}, record.Metric{}
	}
	f := fileOf(trials...)
	read, err := record.Read(bytes.NewReader(encode(t, f)))
	iferr.Fatal(t, err)
	first := Analyze(f)
	for range 5 {
		if again := Analyze(f); !reflect.DeepEqual(first, again) {
			t.Fatal(cmp.Diff(first.Scenarios[0].Rows[1].Warnings, again.Scenarios[0].Rows[1].Warnings))
		}
	}
	if again := Analyze(read); !reflect.DeepEqual(first.Scenarios, again.Scenarios) {
		t.Error("a file that was written and read gives another result")
	}
}

func TestAnalyzeOrder(t *testing.T) {
	other := streamCell("host")
	other.Family = 6
	ovs := streamCell("ovs")
	f := fileOf(throughputTrial(streamCell("bridge"), 1, 1), throughputTrial(other, 1, 1), throughputTrial(ovs, 1, 1), throughputTrial(streamCell("host"), 1, 1))
	res := Analyze(f)
	var got []string
	for _, s := range res.Scenarios {
		if s.Cell.Network != "" {
			t.Errorf("scenario %v names a network", s.Cell)
		}
		for _, r := range s.Rows {
			got = append(got, r.Cell.Network)
		}
	}
	if want := []string{"host", "bridge", "ovs", "host"}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

func TestAnalyzeLostTrials(t *testing.T) {
	host, bridge, ovs := streamCell("host"), streamCell("bridge"), streamCell("ovs")
	skipped := lostTrial(ovs, 1, record.Skipped, "no openvswitch")
	skipped.Remedy = "modprobe openvswitch"
	f := fileOf(lostTrial(host, 1, record.Failed, "first"), lostTrial(bridge, 1, record.Invalid, "bypassed"), skipped,
		lostTrial(host, 2, record.Failed, "second"), lostTrial(bridge, 2, record.Failed, "broke"))
	res := Analyze(f)
	if res.Rounds != 2 {
		t.Errorf("%d rounds, want 2: a cell that cannot run is in none", res.Rounds)
	}
	for _, tt := range []struct {
		network, reason, remedy string
		status                  record.Status
		counts                  map[record.Status]int
		lost                    []Lost
		codes                   []string
	}{
		{"host", "second", "", record.Failed, map[record.Status]int{record.Failed: 2}, []Lost{{record.Failed, 1, "first", ""}, {record.Failed, 1, "second", ""}}, []string{WarnFailed, WarnFailed}},
		{"bridge", "broke", "", record.Failed, map[record.Status]int{record.Failed: 1, record.Invalid: 1},
			[]Lost{{record.Failed, 1, "broke", ""}, {record.Invalid, 1, "bypassed", ""}}, []string{WarnFailed, WarnInvalid}},
		{"ovs", "no openvswitch", "modprobe openvswitch", record.Skipped, map[record.Status]int{record.Skipped: 1},
			[]Lost{{record.Skipped, 1, "no openvswitch", "modprobe openvswitch"}}, nil},
	} {
		r := rowOf(t, res, tt.network)
		if r.Status != tt.status || r.Reason != tt.reason || r.Remedy != tt.remedy || len(r.Figures) != 0 || r.Latency != nil {
			t.Errorf("%s: got %+v", tt.network, r)
		}
		if diff := cmp.Diff(tt.counts, r.Counts); diff != "" {
			t.Errorf("%s: counts %s", tt.network, diff)
		}
		if diff := cmp.Diff(tt.lost, r.Lost); diff != "" {
			t.Errorf("%s: lost %s", tt.network, diff)
		}
		if !slices.Equal(codes(r.Warnings), tt.codes) {
			t.Errorf("%s: warnings %q, want %q", tt.network, codes(r.Warnings), tt.codes)
		}
	}
}

// If a resumed run measured a cell twice in a round, the last OK trial counts.
func TestAnalyzeDuplicates(t *testing.T) {
	c := streamCell("host")
	ok := func(v float64) record.Trial { return throughputTrial(c, 1, v) }
	bad := func(reason string) record.Trial { return lostTrial(c, 1, record.Failed, reason) }
	for _, tt := range []struct {
		name   string
		trials []record.Trial
		median float64
		reason string
	}{
		{"two OK", []record.Trial{ok(1), ok(2)}, 2, ""},
		{"failed, then OK", []record.Trial{bad("a"), ok(2)}, 2, ""},
		{"OK, then failed", []record.Trial{ok(1), bad("a")}, 1, ""},
		{"two failed", []record.Trial{bad("a"), bad("b")}, 0, "b"},
	} {
		r := rowOf(t, Analyze(fileOf(tt.trials...)), "host")
		fig, _ := r.Figure(record.Throughput)
		if fig.Summary.Median != tt.median || r.Reason != tt.reason || r.Counts[record.OK]+r.Counts[record.Failed] != 1 {
			t.Errorf("%s: got %+v", tt.name, r)
		}
	}
}

func TestAnalyzeOneRound(t *testing.T) {
	res := Analyze(fileOf(pairedTrials(1, 1, 0.5, 0)...))
	f, _ := rowOf(t, res, "bridge").Figure(record.Throughput)
	want := Comparison{N: 1, Value: 0.5, Interval: Interval{Low: 0.5, High: 0.5}, P: 1, Primary: true, Judged: true}
	got := *f.Ratio
	got.Value, got.Low, got.High = round9(got.Value), round9(got.Low), round9(got.High)
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if f.Summary != (Summary{N: 1, Estimate: 5e9, Median: 5e9, Interval: Interval{Low: 5e9, High: 5e9}, Min: 5e9, Max: 5e9}) {
		t.Errorf("got %+v", f.Summary)
	}
}

func round9(v float64) float64 { return float64(int64(v*1e9+0.5)) / 1e9 }

func TestAnalyzePairsByRound(t *testing.T) {
	trials := slices.DeleteFunc(pairedTrials(1, 8, 0.8, 0.02), func(t record.Trial) bool {
		return t.Round == 3 && t.Cell.Network == "host"
	})
	trials = append(trials, lostTrial(streamCell("host"), 3, record.Failed, "x"))
	slices.Reverse(trials)
	res := Analyze(fileOf(trials...))
	r := rowOf(t, res, "bridge")
	f, _ := r.Figure(record.Throughput)
	if f.Ratio.N != 7 || f.Summary.N != 8 {
		t.Errorf("%d pairs of %d trials, want 7 of 8", f.Ratio.N, f.Summary.N)
	}
	warningOf(t, r.Warnings, WarnUnpaired)
}

func TestAnalyzeZeroHasNoRatio(t *testing.T) {
	trials := pairedTrials(1, 8, 0.8, 0.02)
	for i := range trials {
		trials[i].Metrics[record.Retransmits] = record.Metric{Value: float64(i % 3), Unit: "segments"}
	}
	r := rowOf(t, Analyze(fileOf(trials...)), "bridge")
	f, ok := r.Figure(record.Retransmits)
	if !ok || f.Ratio != nil || f.Summary.N != 8 {
		t.Errorf("got %+v", f)
	}
	if r.Figures[0].Kind.Name != record.Throughput || r.Figures[1].Kind.Name != record.Retransmits {
		t.Errorf("figures are not in the order of their kinds: %+v", r.Figures)
	}
}

// The first twin is the baseline of its own network's second twin only.
func TestAnalyzeTwins(t *testing.T) {
	f := twinFile(1, 8, 0.7)
	for _, tr := range twinFile(3, 8, 1).Trials {
		tr.Cell.Network = "veth"
		f.Trials = append(f.Trials, tr)
		f.Run.Cells = record.AddNew(f.Run.Cells, tr.Cell)
	}
	res := Analyze(f)
	rows := res.Scenarios[0].Rows
	if first := res.Scenarios[0].Extremes; len(first) > 0 {
		t.Errorf("twins of different networks are ranked: %+v", first)
	}
	effects := map[string]Effect{}
	for _, r := range rows {
		if fig, _ := r.Figure(record.Throughput); r.Cell.Twin == 2 {
			effects[r.Cell.Network] = fig.Ratio.Effect
		} else if fig.Ratio != nil || !r.Native {
			t.Errorf("first twin of %s is not native", r.Cell.Network)
		}
	}
	if want := map[string]Effect{"bridge": Worse, "veth": ""}; !reflect.DeepEqual(effects, want) {
		t.Errorf("effects %v, want %v", effects, want)
	}
}

func TestCompleteRounds(t *testing.T) {
	f := fileOf(pairedTrials(1, 3, 1, 0.01)[:5]...)
	if res := Analyze(f); res.Rounds != 2 {
		t.Errorf("%d rounds, want 2", res.Rounds)
	}
	f.Run.Cells = append(f.Run.Cells, streamCell("ovs"))
	res := Analyze(f)
	if res.Rounds != 0 {
		t.Errorf("%d rounds although a cell was never tried", res.Rounds)
	}
	warningOf(t, rowOf(t, res, "ovs").Warnings, WarnNotMeasured)
}

// A cell that failed once would have been tried again: a round that ended before it is not
// complete. A cell that failed as often as cells are tried is missing from later rounds.
func TestCompleteRoundsWithoutWhatWasGivenUp(t *testing.T) {
	for failures, want := range map[int]int{1: 5, 2: 5, 3: 6} {
		trials := pairedTrials(1, 6, 1, 0.01)
		for round := 1; round <= 5; round++ {
			c := streamCell("veth")
			if round > 5-failures {
				trials = append(trials, lostTrial(c, round, record.Failed, "no"))
			} else {
				trials = append(trials, throughputTrial(c, round, 9e9))
			}
		}
		if res := Analyze(fileOf(trials...)); res.Rounds != want {
			t.Errorf("%d failures: %d complete rounds, want %d", failures, res.Rounds, want)
		}
	}
}

// A cell whose baseline was never measured is compared with nothing, and requires no more rounds of the others.
func TestComparedWithWhatWasMeasured(t *testing.T) {
	trials := pairedTrials(1, 6, 1, 0.001)
	for round := 1; round <= 6; round++ {
		alone := streamCell("vxlan")
		alone.Hosts = 2
		trials = append(trials, throughputTrial(alone, round, 9e9), lostTrial(alone.Against(), round, record.Failed, "no"))
	}
	if f := fileOf(trials...); !Precision(f.Trials, f.Limits())[streamCell("bridge").Key()].Known || Analyze(f).Multiplicity.Primary != 1 {
		t.Errorf("%+v of %+v", Precision(f.Trials, f.Limits()), Analyze(f).Multiplicity)
	}
}

// A cell that is known well enough, and so was not measured further, does
// not make later rounds incomplete; one that is missing for no reason does.
func TestCompleteRoundsWithoutWhatIsKnown(t *testing.T) {
	quiet := several(9, 0.7, 0.8, 0.6, 0.9, 0.5)
	longer := several(16, 0.7, 0.8, 0.6, 0.9, 0.5)
	for name, stops := range map[string]int{"known": 9, "stopped before it was known": 7} {
		var trials []record.Trial
		for _, t := range longer {
			if t.Cell.Network == "n1" && t.Round > stops {
				continue
			}
			trials = append(trials, t)
		}
		res := Analyze(fileOf(trials...))
		if want := map[int]int{9: 16, 7: 7}[stops]; res.Rounds != want {
			t.Errorf("%s: %d complete rounds, want %d", name, res.Rounds, want)
		}
	}
	if res := Analyze(fileOf(quiet...)); res.Rounds != 9 {
		t.Errorf("%d complete rounds, want 9", res.Rounds)
	}
}

// After a resume the limits of the last process apply, and times add up.
func TestAnalyzeResumed(t *testing.T) {
	f := fileOf(pairedTrials(1, 13, 0.9, 0.2)...)
	f.Run.Settings.MaxRounds, f.Spent = 40, 108
	f.Resumes = []record.Resume{{Started: began.Add(time.Minute), Settings: &record.Settings{MaxRounds: 13, Precision: 0.3, Confidence: 0.9, EqualWithin: 0.5}}}
	res := Analyze(f)
	if res.Limits.MaxRounds != 13 || res.Elapsed != 108 || res.Level != 0.9 || res.Margin != 0.5 {
		t.Errorf("limits %+v, %v s, level %v, margin %v", res.Limits, res.Elapsed, res.Level, res.Margin)
	}
	if c := rowOf(t, res, "bridge").Figures[0].Ratio; c.Outcome != Same {
		t.Errorf("within half of native: %+v", c)
	}
}
