package plot

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TestRoundsShowsEveryNetwork draws networks that were measured in every round, in some, in one and in none.
func TestRoundsShowsEveryNetwork(t *testing.T) {
	c := Rounds([]History{
		{Name: "host", Native: true, Points: []Visit{{1, 1}, {2, 0.9}, {3, 1.1}}, Text: "−10…+10%"},
		{Name: "<veth>", Points: []Visit{{1, 1}, {3, 1e9}}, Behind: []Visit{{1, 1}, {2, 0}, {3, 1}}},
		{Name: "once", Points: []Visit{{2, 1}}},
		{Name: "never"},
	}, 0.05, "four networks")
	svg, err := c.Inline()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"host", "&lt;veth&gt;", "once", "never", "−10…+10%", "round 1", ">3<", `aria-label="four networks"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("something has no place")
	}
	for _, nothing := range [][]History{nil, {{Name: "never"}}} {
		if Rounds(nothing, 0.05, "").Drawn() {
			t.Errorf("%v is drawn", nothing)
		}
	}
}

// TestThinned: of more rounds than there is room for, those that stand out stay, in their order, and the chart
// does not grow.
func TestThinned(t *testing.T) {
	var all []Visit
	for i := range 5000 {
		all = append(all, Visit{i + 1, 1})
	}
	all[1234].Share, all[4321].Share = 0.2, 3
	got := thinned(all)
	if len(got) > mostVisits {
		t.Errorf("%d rounds are drawn", len(got))
	}
	least, most := false, false
	for i, v := range got {
		least, most = least || v == all[1234], most || v == all[4321]
		if i > 0 && got[i-1].Round >= v.Round {
			t.Fatalf("round %d stands before %d", got[i-1].Round, v.Round)
		}
	}
	if !least || !most {
		t.Errorf("what stands out is gone: the least is there: %v, the greatest: %v", least, most)
	}
	svg, err := Rounds([]History{{Name: "host", Points: all}}, 0.05, "").Inline()
	if err != nil || len(svg) > 8000 {
		t.Errorf("5000 rounds take %d bytes, %v", len(svg), err)
	}
}

// TestRoundsBreak: a line does not go over rounds in which there was no trial.
func TestRoundsBreak(t *testing.T) {
	for _, tt := range []struct {
		rounds []int
		lines  int
	}{{[]int{1, 2, 3}, 1}, {[]int{1, 2, 5, 6}, 2}, {[]int{1, 3, 5}, 3}} {
		var h History
		for _, r := range tt.rounds {
			h.Points = append(h.Points, Visit{r, 1})
		}
		lines, err := elements(Rounds([]History{h}, 0.05, "").height, func(c draw.Canvas) {
			history(c, h.Points, func(r int) vg.Length { return vg.Length(r) }, func(float64) vg.Length { return 0 }, draw.LineStyle{Color: roleBar.color(), Width: 1})
		}, func(string) string { return "" })
		if got := strings.Count(lines, "<path"); err != nil || got != tt.lines {
			t.Errorf("rounds %v: %d lines, want %d, %v", tt.rounds, got, tt.lines, err)
		}
	}
}
