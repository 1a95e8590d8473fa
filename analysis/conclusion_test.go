package analysis

import (
	"strings"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

// race returns a table of networks a and b over places 1, 2 …, with
// measurements: eight rounds of either at each place, b always at 100.
func race(published, measured []float64) []ReplicatedTable {
	k, _ := record.KindOf(record.Throughput)
	t := ReplicatedTable{Kind: k, Table: reference.Table{Name: "t", Baseline: "b"}}
	add := func(network, label string, p, m float64) {
		c := ReplicatedCell{Published: reference.Published{Network: network, As: network, Place: reference.Place{Label: label}, Value: p}}
		c.Cell = record.Cell{Network: network, Underlay: label}
		f := Figure{Kind: k}
		for i := range 8 {
			if network == "b" {
				f.Points = append(f.Points, Point{i + 1, m})
				continue
			}
			f.Points = append(f.Points, Point{i + 1, m * (1 + 0.0002*float64(i%4-1))})
		}
		f.Summary = summarize(values(f.Points), 0.95)
		c.Measured = &f
		t.Cells = append(t.Cells, c)
		t.Table.Cells = append(t.Table.Cells, c.Published)
	}
	for i := range published {
		label := string(rune('1' + i))
		t.Table.Columns = append(t.Table.Columns, reference.Place{Label: label})
		add("a", label, published[i], measured[i])
		add("b", label, 100, 100)
	}
	return []ReplicatedTable{t}
}

func TestChecks(t *testing.T) {
	faster := reference.Check{Kind: reference.Faster, Network: "a", Against: "b"}
	most := faster
	most.AtLeast = 0.6
	first := faster
	first.Where = []reference.Place{{Label: "1"}}
	fastest := reference.Check{Kind: reference.Fastest, Network: "a"}
	fifth := reference.Check{Kind: reference.Relative, Network: "a", Against: "b", Ratio: 0.8, Tolerance: 0.05}
	cross := reference.Check{Kind: reference.Crossover, Network: "a", Against: "b"}
	order := reference.Check{Kind: reference.Order, AtLeast: 0.5}
	grows := reference.Check{Kind: reference.Faster, Pairs: []reference.Pair{{Ahead: reference.Place{Label: "2"}, Behind: reference.Place{Label: "1"}}}, Among: []string{"a"}}
	for _, tt := range []struct {
		name     string
		check    reference.Check
		measured []float64
		want     Judgement
		says     string
	}{
		{"ahead", faster, []float64{110, 120, 130}, Holds, "a is ahead of b in 3 of 3 places"},
		{"behind once", faster, []float64{110, 90, 130}, DoesNotHold, "in 2 of 3 places"},
		{"behind once, most", most, []float64{110, 90, 130}, Holds, "in 2 of 3 places"},
		{"level once", faster, []float64{110, 100, 130}, CannotTell, "the same within 5% in 1"},
		{"only the first counts", first, []float64{110, 90, 90}, Holds, "in 1 of 1 place"},
		{"fastest", fastest, []float64{110, 110, 110}, Holds, "a is ahead of b in 3 of 3"},
		{"level is no loss", fastest, []float64{110, 100, 110}, Holds, "a is ahead of, or level with, b in 3 of 3 places"},
		{"level everywhere", fastest, []float64{100, 100, 100}, CannotTell, "a is ahead of b in 0 of 3 places, the same within 5% in 3"},
		{"not fastest", fastest, []float64{110, 90, 110}, DoesNotHold, "in 2 of 3"},
		{"a fifth less", fifth, []float64{80, 81, 79}, Holds, "a has 0.8 times"},
		{"a third less", fifth, []float64{80, 66, 80}, DoesNotHold, "the source means 0.75 to 0.85"},
		{"at the edge", fifth, []float64{80, 80, 84.995}, CannotTell, "0.75 to 0.85"},
		{"at the edge, with an estimate within", fifth, []float64{80, 80, 84.98}, CannotTell, "0.75 to 0.85"},
		{"crosses", cross, []float64{120, 100, 80}, Holds, "ahead at 1, behind at 3, level at 2"},
		{"crosses back", cross, []float64{120, 80, 120}, DoesNotHold, "ahead at 1, 3, behind at 2"},
		{"crosses the other way", cross, []float64{80, 90, 120}, DoesNotHold, "ahead at 3, behind at 1, 2"},
		{"never crosses", cross, []float64{120, 130, 120}, DoesNotHold, "ahead at 1, 2, 3"},
		{"perhaps crosses", cross, []float64{120, 130, 100}, CannotTell, "level at 3"},
		{"order", order, []float64{120, 110, 80}, Holds, "in 3 of 3 pairs (Kendall's tau-b of the estimates is 1.00)"},
		{"other order", order, []float64{80, 90, 120}, DoesNotHold, "in 0 of 3 pairs (Kendall's tau-b of the estimates is −1.00)"},
		{"order unsure", order, []float64{120, 100, 80}, CannotTell, "in 2 of 3 pairs, the same within 5% in 1"},
		{"grows", grows, []float64{100, 120, 100}, Holds, "in 1 of 1 comparison"},
		{"shrinks", grows, []float64{120, 100, 100}, DoesNotHold, "in 0 of 1 comparison"},
		{"no such check", reference.Check{Kind: "best"}, []float64{1, 1, 1}, CannotTell, `no check called "best"`},
		{"no such network", reference.Check{Kind: reference.Faster, Network: "z", Against: "b"}, []float64{1, 1, 1}, CannotTell, "z was not measured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newJudge(tt.check, race([]float64{120, 110, 80}, tt.measured), false, at95).run()
			if got.outcome != tt.want || !strings.Contains(got.text, tt.says) {
				t.Errorf("%v, %q; want %v, %q", got.outcome, got.text, tt.want, tt.says)
			}
		})
	}
}

// Figures of a source are taken as printed, and one network is not compared with itself.
func TestChecksOfTwoNetworks(t *testing.T) {
	faster := reference.Check{Kind: reference.Faster, Network: "a", Against: "b"}
	about := reference.Check{Kind: reference.Relative, Network: "a", Against: "b", Ratio: 1, Tolerance: 0.5}
	crossover := reference.Check{Kind: reference.Crossover, Network: "a", Against: "b"}
	oneNetwork := func(t *ReplicatedTable) { t.Cells[0].Cell = t.Cells[1].Cell }
	alike := func(t *ReplicatedTable) { t.Cells[0].Measured = t.Cells[1].Measured }
	few := func(t *ReplicatedTable) { t.Cells[0].Measured.Points = t.Cells[0].Measured.Points[:4] } // for the level
	lessIsBetter := func(t *ReplicatedTable) { t.Kind, _ = record.KindOf(record.LatencyMean) }
	for _, tt := range []struct {
		name                string
		check               reference.Check
		published, measured []float64
		bySource            bool
		change              func(*ReplicatedTable)
		want                Judgement
		says                string
	}{
		{"one network for two", about, []float64{80}, []float64{100}, false, oneNetwork, CannotTell, "not measured as two networks"},
		{"one network for two", crossover, []float64{80}, []float64{100}, false, oneNetwork, CannotTell, "not measured as two networks"},
		{"what is printed alike has no order", reference.Check{Kind: reference.Order, AtLeast: 1}, []float64{100, 110}, []float64{90, 120}, false, nil, Holds, "in 1 of 1 pair"},
		{"what is measured alike is level", faster, []float64{80}, []float64{100}, false, alike, CannotTell, "the same within 5% in 1"},
		{"too few rounds to be sure", reference.Check{Kind: reference.Fastest, Network: "a"}, []float64{120, 120}, []float64{120, 120}, false, few, CannotTell, "in 1 of 2 places, not known in 1"},
		{"too few rounds to be sure", about, []float64{80}, []float64{100}, false, few, CannotTell, "too few common rounds"},
		{"too few rounds to be sure", about, []float64{80}, []float64{200}, false, few, CannotTell, "too few common rounds"},
		{"where less is better, less is ahead", faster, []float64{80, 70}, []float64{80, 70}, true, lessIsBetter, Holds, ""},
		{"where less is better, less is ahead", faster, []float64{80, 70}, []float64{80, 70}, false, lessIsBetter, Holds, ""},
		{"equal figures are level, and neither is ahead", faster, []float64{100, 120}, []float64{100, 100}, true, nil, DoesNotHold, ""},
		{"equal figures are level, and neither is behind", reference.Check{Kind: reference.Fastest, Network: "a"}, []float64{100, 120}, []float64{100, 100}, true, nil, Holds, ""},
	} {
		tables := race(tt.published, tt.measured)
		if tt.change != nil {
			tt.change(&tables[0])
		}
		if got := newJudge(tt.check, tables, tt.bySource, at95).run(); got.outcome != tt.want || !strings.Contains(got.text, tt.says) {
			t.Errorf("%s, %s of the source %v: %v, %q; want %v, %q", tt.name, tt.check.Kind, tt.bySource, got.outcome, got.text, tt.want, tt.says)
		}
	}
}

func TestEvidence(t *testing.T) {
	c := reference.Conclusion{Text: "a is fast", Checks: []reference.Check{{Kind: reference.Faster, Network: "a", Against: "b"}}}
	got := checkConclusion(c, race([]float64{90, 120}, []float64{110, 120}), at95)
	if got.Published != DoesNotHold || got.Measured != Holds || len(got.Evidence) != 2 {
		t.Fatalf("got %+v", got)
	}
	if !strings.HasPrefix(got.Evidence[0], "1: a against b 1.1 times (1.1 to 1.1), published 0.9 times") {
		t.Errorf("evidence is %q", got.Evidence)
	}
	if !strings.HasPrefix(got.Text(), "holds here: ") || !strings.HasSuffix(got.Text(), "(the source's own figures do not show it)") {
		t.Errorf("text is %q", got.Text())
	}
}
