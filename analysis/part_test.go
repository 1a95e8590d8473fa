package analysis

import (
	"math"
	"slices"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

// partTrial is a trial in a part of its round.
func partTrial(network string, round, part int, value float64) record.Trial {
	t := throughputTrial(streamCell(network), round, value)
	t.Part = part
	return t
}

// cutRounds returns rounds in two parts. The machine is twice as fast in the second part of each, and faster from
// round to round; "a" is measured in the first part of one round and the second part of the next, and "b" always in
// the other part. Both have 0.8 of the baseline.
func cutRounds(rounds int) (trials []record.Trial) {
	for i := 1; i <= rounds; i++ {
		speed := 10e9 * (1 + 0.01*float64(i))
		first, second := "a", "b"
		if i%2 == 0 {
			first, second = second, first
		}
		trials = append(trials,
			partTrial("host", i, 1, speed), partTrial(first, i, 1, 0.8*speed),
			partTrial(second, i, 2, 1.6*speed), partTrial("host", i, 2, 2*speed))
	}
	return trials
}

// exactly reports whether a comparison of so many rounds has the same ratio in each of them.
func exactly(c *Comparison, ratio float64, rounds int) bool {
	near := func(v float64) bool { return math.Abs(v/ratio-1) < 1e-6 }
	return c != nil && c.N == rounds && near(c.Low) && near(c.High)
}

// TestPairsAreOfOnePart checks that cells are compared with the baseline of their own part. By round alone the ratio
// would be 0.4, or 1.6, or 0.57 and 1.13 with the mean of the round.
func TestPairsAreOfOnePart(t *testing.T) {
	f := fileOf(cutRounds(8)...)
	res := Analyze(f)
	for _, name := range []string{"a", "b"} {
		row := rowOf(t, res, name)
		fig, _ := row.Figure(record.Throughput)
		if !exactly(fig.Ratio, 0.8, 8) {
			t.Errorf("%s: the ratio is %+v, want 0.8 in 8 rounds", name, fig.Ratio)
		}
		if row.Reached.N != 8 || row.Reached.HalfWidth > 1e-9 {
			t.Errorf("%s: reached is %+v", name, row.Reached)
		}
	}
	if res.Rounds != 8 {
		t.Errorf("%d complete rounds, want 8", res.Rounds)
	}
	reached := Precision(f.Trials, f.Run.Settings)
	if r := reached[streamCell("a").Key()]; r.N != 8 || !r.Known {
		t.Errorf("the runner is told %+v", r)
	}
}

// TestNetworksOfDifferentParts checks that two networks that were measured in different parts are compared with each
// other by their ratios to the baselines of these: by round alone, each of them would be twice as fast as the other
// in every second round.
func TestNetworksOfDifferentParts(t *testing.T) {
	trials := cutRounds(9)
	for _, t := range each(trials) {
		if t.Cell.Network == "b" {
			scale(t, record.Throughput, 1.25)
		}
	}
	// In the last round the part of "a" has no baseline.
	trials = slices.DeleteFunc(trials, func(t record.Trial) bool { return t.Round == 9 && t.Part == 1 && t.Cell.IsNative() })
	ends := Analyze(fileOf(trials...)).Scenarios[0].Extremes
	if len(ends) != 1 || ends[0].Network.Network != "b" || ends[0].Next.Network != "a" {
		t.Fatalf("the first is %+v", ends)
	}
	if !exactly(ends[0].Ratio, 1.25, 8) || !ends[0].Shown() {
		t.Errorf("they are compared as %+v, want 1.25 in 8 rounds", ends[0].Ratio)
	}
}

// TestPairsWithTheBaselineAreOfOnePart checks the same of figures that are compared outside of their row, whichever comes first.
func TestPairsWithTheBaselineAreOfOnePart(t *testing.T) {
	res := Analyze(fileOf(cutRounds(8)...))
	host, _ := rowOf(t, res, "host").Figure(record.Throughput)
	a, _ := rowOf(t, res, "a").Figure(record.Throughput)
	for _, c := range []struct {
		of, with Figure
		want     float64
	}{{a, host, 0.8}, {host, a, 1.25}} {
		r := compare(pairFigures(&c.of, &c.with), record.HigherIsBetter, judgingOf(settings95()))
		if !exactly(r, c.want, 8) {
			t.Errorf("%s to %s: %+v, want %v in 8 rounds", c.of.cell.Network, c.with.cell.Network, r, c.want)
		}
	}
	// In the table of a source, and for each of several clients.
	trials, src := cutRounds(8), cloud("a")
	for i := range trials {
		trials[i].Cell.Clients = 4
	}
	src.Tables[0].Metric, src.Tables[0].Columns[0].Clients = record.ThroughputPerClient, 4
	got := cellAt(t, replicate(Analyze(fileOf(trials...)), src), "load", "weave-pcap", "1")
	if !exactly(got.Ratio, 0.8, 8) {
		t.Errorf("beside a source: %+v, want 0.8 in 8 rounds", got.Ratio)
	}
}

// TestBaselineOfPartsHasOneValuePerRound checks that more trials of the baseline do not make it better known.
func TestBaselineOfPartsHasOneValuePerRound(t *testing.T) {
	trials := cutRounds(8)
	for i := range trials {
		lost := 0.0
		if trials[i].Part == 2 {
			lost = 0.5
		}
		trials[i].Metrics[record.Loss] = record.Metric{Value: lost, Unit: "ratio"}
	}
	row := rowOf(t, Analyze(fileOf(trials...)), "host")
	fig, _ := row.Figure(record.Throughput)
	if fig.N != 8 || len(fig.Points) != 8 || row.Reached.N != 8 || row.Counts[record.OK] != 16 {
		t.Errorf("n is %d with %d points, %+v, and %v trials", fig.N, len(fig.Points), row.Reached, row.Counts)
	}
	for i, p := range fig.Points {
		if want := 10e9 * (1 + 0.01*float64(i+1)) * math.Sqrt2; p.Round != i+1 || math.Abs(p.Value/want-1) > 1e-12 {
			t.Errorf("round %d has %g, want the geometric mean %g", p.Round, p.Value, want)
		}
	}
	if loss, _ := row.Figure(record.Loss); loss.N != 8 || loss.Estimate != 0.25 {
		t.Errorf("loss is %+v, want the mean 0.25 of 8 rounds", loss.Summary)
	}
}

// TestPartWithoutBaseline checks that no cell is compared with the baseline of another part, that its round is
// incomplete, and that the row says why.
func TestPartWithoutBaseline(t *testing.T) {
	trials := slices.DeleteFunc(cutRounds(9), func(t record.Trial) bool {
		return t.Round == 9 && t.Part == 2 && t.Cell.IsNative()
	})
	res := Analyze(fileOf(trials...))
	b := rowOf(t, res, "b") // in the first part of even rounds
	a := rowOf(t, res, "a")
	if fa, fb := a.Figures[0].Ratio.N, b.Figures[0].Ratio.N; fa != 9 || fb != 8 || res.Rounds != 8 {
		t.Errorf("%d and %d pairs in %d complete rounds, want 9 and 8 in 8", fa, fb, res.Rounds)
	}
	if p := rowOf(t, res, "host").Figures[0].Points[8]; math.Abs(p.Value/10.9e9-1) > 1e-12 {
		t.Errorf("the baseline, which was in one part of round 9, has %g there, want that of this part", p.Value)
	}
	warningOf(t, b.Warnings, WarnUnpaired)
}

// TestRepeatsInAPart checks that the last good trial of a part counts, as in a round without parts.
func TestRepeatsInAPart(t *testing.T) {
	trials := append(cutRounds(6), partTrial("host", 6, 2, 4*1.06*10e9), partTrial("a", 6, 2, 4*0.8*1.06*10e9))
	trials[1].Status, trials[1].Reason = record.Failed, "broke"
	trials = append(trials, partTrial("a", 1, 1, 0.8*1.01*10e9))
	res := Analyze(fileOf(trials...))
	for _, name := range []string{"a", "host"} {
		row := rowOf(t, res, name)
		if n := row.Counts[record.OK]; n != map[string]int{"a": 6, "host": 12}[name] {
			t.Errorf("%s has %v trials", name, row.Counts)
		}
	}
	if c := rowOf(t, res, "a").Figures[0].Ratio; !exactly(c, 0.8, 6) {
		t.Errorf("the ratio is %+v, want 0.8 in 6 rounds", c)
	}
}

// TestCellsWithoutPart checks that cells that stood apart from every baseline are compared with the nearest one that was measured.
func TestCellsWithoutPart(t *testing.T) {
	var trials []record.Trial
	for i := 1; i <= 6; i++ {
		places := [][3]int{{1, 2, 3}, {2, 3, 1}, {1, 4, 2}}[i%3]
		some := []record.Trial{partTrial("host", i, 1, 10e9), partTrial("host", i, 2, 40e9), partTrial("docker:bridge", i, 0, 5e9)}
		for k := range some {
			some[k].Order = places[k]
		}
		if i%3 == 2 { // the nearest failed
			some[0].Status = record.Failed
		}
		trials = append(trials, some...)
	}
	row := rowOf(t, Analyze(fileOf(trials...)), "docker:bridge")
	base := record.Each(row.Figures[0].base, func(p Point) float64 { return p.Value / 1e9 })
	if want := []float64{10, 40, 40, 10, 40, 40}; row.Figures[0].Ratio == nil || !slices.EqualFunc(base, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
		t.Errorf("it is compared with %v, want %v", base, want)
	}
}

// TestCellsWithoutPartBesideSuch checks that a baseline that was in no part either goes before the nearest.
func TestCellsWithoutPartBesideSuch(t *testing.T) {
	var trials []record.Trial
	for i := 1; i <= 6; i++ {
		some := []record.Trial{partTrial("host", i, 0, 10e9), partTrial("docker:bridge", i, 0, 5e9), partTrial("host", i, 1, 40e9)}
		for k, order := range []int{1, 9, 10} {
			some[k].Order = order
		}
		trials = append(trials, some...)
	}
	row := rowOf(t, Analyze(fileOf(trials...)), "docker:bridge")
	if c := row.Figures[0].Ratio; !exactly(c, 0.5, 6) {
		t.Errorf("the ratio is %+v, want 0.5", c)
	}
}

// TestGivenUpByRounds checks that failures of a baseline count by rounds.
func TestGivenUpByRounds(t *testing.T) {
	of := func(outcomes ...string) (trials []record.Trial) {
		for i, round := range outcomes {
			for part, o := range round {
				status := map[rune]record.Status{'o': record.OK, 'f': record.Failed, 's': record.Skipped}[o]
				trials = append(trials, record.Trial{Cell: streamCell("host"), Round: i + 1, Part: part + 1, Status: status, Reason: "x"})
			}
		}
		return trials
	}
	for _, c := range []struct {
		rounds []string
		want   bool
	}{
		{[]string{"fff"}, false}, {[]string{"ff", "ff", "ff"}, true}, {[]string{"of", "ff", "ff"}, false},
		{[]string{"ff", "fo", "ff", "ff"}, false}, {[]string{"oo", "os"}, true}, {nil, false},
	} {
		if got := givenUp(each(of(c.rounds...))); got != c.want {
			t.Errorf("%q: given up is %v", c.rounds, got)
		}
	}
}

// TestNetworksOfOnePart checks that two networks that stood in one part are compared as they are, although slices of the baseline beside
// the one were faster than those beside the other, as is what the baseline used in all of its slices.
func TestNetworksOfOnePart(t *testing.T) {
	slice := func(at, rate float64) record.Slice {
		return record.Slice{At: at, Window: 0.1, Bytes: uint64(rate / 8 * 0.1)}
	}
	var trials []record.Trial
	for i := 1; i <= 9; i++ {
		early, late := 8e9+float64(i%3)*5e8, 12e9-float64(i%4)*5e8
		for network, slices := range map[string][]record.Slice{
			"host": {slice(0, early), slice(0.2, late)}, "a": {slice(0.01, 5e9)}, "b": {slice(0.21, 6e9)},
		} {
			total := record.Sum(slices, func(s record.Slice) float64 { return float64(s.Bytes) })
			trial := partTrial(network, i, 0, 8*total/float64(len(slices))/0.1)
			trial.Slices = slices
			trial.Metrics[record.CPUPerGB] = record.Measured(record.CPUPerGB, 0.5)
			trial.CPU = &record.CPUUse{Client: record.ProcessCPU{System: 0.5}}
			trials = append(trials, trial)
		}
	}
	res := Analyze(fileOf(trials...))
	first, _ := rowOf(t, res, "b").Figure(record.Throughput)
	next, _ := rowOf(t, res, "a").Figure(record.Throughput)
	c := compare(pairFigures(&first, &next), record.HigherIsBetter, judgingOf(settings95()))
	if !exactly(c, 1.2, 9) {
		t.Errorf("they are compared as %+v, want 1.2 in 9 rounds", c)
	}
	for _, name := range []string{"a", "b"} {
		row := rowOf(t, res, name)
		of, _ := row.Figure(record.Throughput)
		host, _ := rowOf(t, res, "host").Figure(record.Throughput)
		use := row.InUse
		cost, _ := row.Cost(reference.CPUClient)
		if use == nil || len(use.base) != 9 || len(of.base) != 9 || len(cost.base) != 9 {
			t.Fatalf("%s: CPU in use %+v, cost %+v", name, use, cost)
		}
		for i, p := range use.base {
			if want := 0.5 * host.Points[i].Value / 8e9; math.Abs(p.Value/want-1) > 1e-9 {
				t.Errorf("%s, round %d: the baseline used %v CPUs, want %v", name, p.Round, p.Value, want)
			}
			if got, want := cost.base[i].Value, 0.5*8e9/host.Points[i].Value; math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%s, round %d: clients of the baseline used %v CPU seconds per GB, want %v", name, p.Round, got, want)
			}
			if at := of.base[i].Value; math.Abs(at/host.Points[i].Value-1) < 1e-3 {
				t.Errorf("%s, round %d: the baseline is the same in as many slices, so that the test proves nothing", name, p.Round)
			}
		}
	}
}
