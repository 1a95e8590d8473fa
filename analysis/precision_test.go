package analysis

import (
	"slices"
	"strings"
	"testing"

	"nettoll/record"
)

func TestPrecision(t *testing.T) {
	host, bridge := streamCell("host"), streamCell("bridge")
	settings := settings95()
	strict := settings
	strict.Precision = 0.001
	long := settings
	long.MinRounds = 9
	any := settings
	any.Precision = 0
	only := func(trials []record.Trial, c record.Cell) []record.Trial {
		return record.Those(trials, func(t record.Trial) bool { return t.Cell == c })
	}
	var zeros []record.Trial
	for i := range 8 {
		zeros = append(zeros, throughputTrial(host, i+1, 0), throughputTrial(bridge, i+1, 0))
	}
	eight := pairedTrials(1, 8, 0.9, 0.02)
	noisy := pairedTrials(1, 8, 0.9, 0.2)
	for _, tt := range []struct {
		name         string
		trials       []record.Trial
		s            record.Settings
		host, bridge bool
		n            int
	}{
		{"known", eight, settings, true, true, 8},
		{"noisy", noisy, settings, false, false, 8},
		{"noisy, any width", noisy, any, true, true, 8},
		{"five rounds", pairedTrials(1, 5, 0.9, 0.001), settings, false, false, 5},
		{"strict", eight, strict, false, false, 8},
		{"more rounds wanted", eight, long, false, false, 8},
		{"no native", only(eight, bridge), settings, false, true, 8},
		{"native failed throughout", append(only(eight, bridge), lostTrial(host, 1, record.Failed, "x")), settings, false, true, 8},
		{"native missing in three rounds", append(only(eight, bridge), only(eight, host)[:5]...), settings, false, false, 5},
		{"zeros", zeros, settings, false, false, 8},
		{"no trial", nil, settings, false, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Precision(tt.trials, tt.s)
			if got[host.Key()].Known != tt.host || got[bridge.Key()].Known != tt.bridge {
				t.Errorf("native %+v, bridge %+v; want %v and %v", got[host.Key()], got[bridge.Key()], tt.host, tt.bridge)
			}
			if got[bridge.Key()].N != tt.n {
				t.Errorf("%d rounds count, want %d", got[bridge.Key()].N, tt.n)
			}
		})
	}
}

// Drift that cell and baseline share widens the interval of native, not that of the ratio.
func TestPrecisionIsOfTheRatio(t *testing.T) {
	var trials []record.Trial
	for i := 1; i <= 10; i++ {
		speed := 10e9 / float64(i)
		trials = append(trials, throughputTrial(streamCell("host"), i, speed), throughputTrial(streamCell("bridge"), i, speed*0.8))
	}
	got := Precision(trials, settings95())
	if got[streamCell("host").Key()].Known || !got[streamCell("bridge").Key()].Known {
		t.Errorf("got %+v", got)
	}
	if more := got[streamCell("host").Key()].Rounds; more != 0 {
		t.Errorf("the baseline is to have %d rounds for its own sake", more)
	}
	alone := record.Those(trials, func(t record.Trial) bool { return t.Cell.IsNative() })
	if got := Precision(alone, settings95()); got[streamCell("host").Key()].Rounds == 0 {
		t.Errorf("alone it has none: %+v", got)
	}
}

// For a tool without percentiles precision applies to what it measures.
func TestPrecisionOfWhatIsMeasured(t *testing.T) {
	for _, tt := range []struct {
		name    string
		metrics map[string]string
		want    string
	}{
		{"engine", map[string]string{record.LatencyP50: "s", record.TransactionRate: "1/s"}, record.LatencyP50},
		{"qperf", map[string]string{record.LatencyMean: "s", record.TransactionRate: "1/s"}, record.TransactionRate},
		{"mean only", map[string]string{record.LatencyMean: "s", record.Retransmits: "segments"}, record.LatencyMean},
	} {
		var trials []record.Trial
		for i := 1; i <= 8; i++ {
			for _, network := range []string{"host", "bridge"} {
				c := streamCell(network)
				c.Workload = record.TCPRR
				tr := throughputTrial(c, i, 1)
				delete(tr.Metrics, record.Throughput)
				for name, unit := range tt.metrics {
					v := 1 + 0.001*float64(i)
					if name != tt.want {
						v = float64(i * i) // never precise
					}
					tr.Metrics[name] = record.Metric{Value: v, Unit: unit}
				}
				trials = append(trials, tr)
			}
		}
		for cell, got := range Precision(trials, settings95()) {
			if !got.Known || got.N != 8 {
				t.Errorf("%s: %s is known as %+v", tt.name, cell, got)
			}
		}
		if f, ok := rowOf(t, Analyze(fileOf(trials...)), "bridge").Primary(); !ok || f.Kind.Name != tt.want {
			t.Errorf("%s: primary is %+v", tt.name, f.Kind)
		}
	}
}

// Intervals are looked at only a few times: after the least number of rounds, and after each quarter more.
func TestLooks(t *testing.T) {
	for _, tt := range []struct {
		least int
		want  []int
	}{
		{6, []int{6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80, 100}},
		{9, []int{9, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80, 100}},
		{13, []int{13, 16, 20, 25, 32, 40, 50, 63, 80, 100}},
	} {
		var got []int
		for n := 1; n <= 100; n++ {
			if lookedAt(n, tt.least) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("least %d: %v, want %v", tt.least, got, tt.want)
		}
	}
}

// A cell is not known before there are enough rounds for a verdict among all comparisons.
func TestKnownAfterEnoughRounds(t *testing.T) {
	shares := []float64{0.7, 0.8, 0.6, 0.5, 0.9}
	for rounds, want := range map[int]bool{6: false, 8: false, 9: true, 10: true, 11: false, 13: true} {
		trials := several(rounds, shares...)
		got := Precision(trials, settings95())[streamCell("n1").Key()]
		if got.Known != want || !got.Narrow || got.N != rounds {
			t.Errorf("%d rounds: %+v, want known %v", rounds, got, want)
		}
	}
}

// Half the width takes four times as many rounds, but after few rounds, whose intervals are wider than that, only about twice as many.
func TestForecast(t *testing.T) {
	for _, tt := range []struct {
		n       int
		half    float64
		wanted  float64
		atLeast int
		atMost  int
	}{{10, 0.10, 0.05, 40, 40}, {10, 0.051, 0.05, 11, 13}, {40, 0.10, 0.05, 160, 160}, {6, 0.10, 0.05, 13, 13}, {7, 0.35, 0.05, 275, 315}, {10, 1e9, 0.05, mostForecast, mostForecast}} {
		if got := forecast(tt.n, tt.half, tt.wanted, 0.95); got < tt.atLeast || got > tt.atMost {
			t.Errorf("±%v after %d rounds, ±%v wanted: %d rounds, want %d to %d", tt.half, tt.n, tt.wanted, got, tt.atLeast, tt.atMost)
		}
	}
	enough := settings95()
	enough.MinRounds = 20 // where 10 rounds would be narrow enough
	if r := reached(8, 0.949, 1, 1.051, 0.95, enough, 1); r.Rounds != 20 {
		t.Errorf("a run of at least 20 rounds: %+v", r)
	}
	noisy := Analyze(fileOf(pairedTrials(1, 8, 0.9, 0.2)...))
	if a := noisy.Aim; a.Asked != 1 || a.Narrow != 0 || a.Rounds <= 8 {
		t.Errorf("a noisy run: %+v", a)
	}
	lost := pairedTrials(1, 8, 0.9, 0.2)
	for round := 9; round < 9+record.GiveUp; round++ {
		lost = append(lost, throughputTrial(streamCell("host"), round, 10e9), lostTrial(streamCell("bridge"), round, record.Failed, "x"))
	}
	if a := Analyze(fileOf(lost...)).Aim; a.Asked != 1 || a.Narrow != 0 || a.Rounds != 0 {
		t.Errorf("a network that was given up: %+v", a)
	}
	if a := Analyze(fileOf(lost[:len(lost)-2]...)).Aim; a.Rounds != noisy.Aim.Rounds+record.GiveUp-1 {
		t.Errorf("a network that lost rounds: %+v, and without them %+v", a, noisy.Aim)
	}
	quiet := Analyze(fileOf(pairedTrials(1, 8, 0.9, 0.01)...))
	if a := quiet.Aim; a.Asked != 1 || a.Narrow != 1 || a.Rounds != 0 {
		t.Errorf("a quiet run: %+v", a)
	}
}

// A forecast for all figures leaves out those that are not measured any more, and says how many these are. A figure with a 0 has no
// ratio, and its difference is no closer to what was asked for that.
func TestForecastOfWhatIsLeft(t *testing.T) {
	noisy := pairedTrials(1, 8, 0.9, 0.2)
	for _, tr := range pairedTrials(2, 8, 0.8, 0.2) {
		if tr.Cell.Network == "bridge" {
			tr.Cell.Network = "lost"
			noisy = append(noisy, tr)
		}
	}
	for round := 9; round < 9+record.GiveUp; round++ {
		tr := throughputTrial(streamCell("lost"), round, 0)
		tr.Status, tr.Reason, tr.Metrics = record.Failed, "it fell over", nil
		noisy = append(noisy, tr)
	}
	res := Analyze(fileOf(noisy...))
	w := warningOf(t, rowOf(t, res, "bridge").Warnings, WarnNotPrecise)
	if a := res.Aim; a.Asked != 2 || a.Unforeseen != 1 || a.Rounds == 0 || !strings.Contains(w.Advice, "all but 1 of the run's figures") {
		t.Errorf("%+v; %q", a, w.Advice)
	}

	zero := pairedTrials(3, 8, 0.9, 0.01)
	for i := range zero {
		if tr := &zero[i]; tr.Cell.Network == "bridge" && tr.Round == 3 {
			tr.Metrics = map[string]record.Metric{record.Throughput: record.Measured(record.Throughput, 0)}
		}
	}
	res = Analyze(fileOf(zero...))
	warningOf(t, rowOf(t, res, "bridge").Warnings, WarnNotPrecise)
	if _, most, n := res.Widths(); n != 1 || most < 0.02 {
		t.Errorf("%d changes are known to within %v", n, most)
	}
}

// Of an even number of changes, half are known to within the lower of the two in the middle.
func TestWidths(t *testing.T) {
	var rows []Row
	for _, half := range []float64{0.5, 0.0625, 0.25, 0.125} {
		c := &Comparison{Value: 1, Interval: Interval{1 - half, 1 + half, 0.95}, Primary: true}
		rows = append(rows, Row{Figures: []Figure{{Ratio: c}}})
	}
	if half, most, n := (Result{Scenarios: []Scenario{{Rows: rows}}}).Widths(); half != 0.125 || most != 0.5 || n != 4 {
		t.Errorf("%v, %v of %d; want 0.125, 0.5 of 4", half, most, n)
	}
}
