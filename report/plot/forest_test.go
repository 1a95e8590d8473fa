package plot

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestChangeTicks(t *testing.T) {
	for _, c := range []struct {
		least, most, units float64 // how wide the axis is
		want               string
	}{
		{0.5, 2, 140, "0 +50% +100% −50%"},
		{0.9, 1.1, 140, "0 +10% −10%"},
		{0.95, 40, 140, "0 20×"},
		{0.999, 1.001, 140, "0"},
	} {
		toX := func(v float64) vg.Length { return vg.Length((v - c.least) / (c.most - c.least) * c.units) }
		var got []string
		for _, v := range changeTicks(c.least, c.most, toX) {
			got = append(got, changeText(v))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%v to %v: %q, want %q", c.least, c.most, text, c.want)
		}
	}
}

// TestForestShowsEveryNetwork draws networks whose changes are nothing, enormous and not known.
func TestForestShowsEveryNetwork(t *testing.T) {
	c := Forest([]Change{
		{Name: "veth", Text: "=", Value: 1.01, Low: 0.99, High: 1.03, Tone: LikeNative},
		{Name: "slow", Text: "5000×", Value: 5000, Low: 4000, High: 1e9},
		{Name: "odd", Text: "untested", Value: 0, Low: 0, High: 0, Tone: Pale},
	}, 0.05, "three networks")
	svg, err := c.Inline()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"veth", "slow", "odd", "5000×", "untested", `aria-label="three networks"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("something has no place")
	}
	if Forest(nil, 0.05, "").Drawn() {
		t.Error("nothing is drawn")
	}
}

// TestForestHasPlacesWithinAnyMargin: a difference of most of the baseline may count as none.
func TestForestHasPlacesWithinAnyMargin(t *testing.T) {
	for _, margin := range []float64{0, 0.05, 0.5, 0.6, 1} {
		svg, err := Forest([]Change{{Name: "veth", Value: 0.9, Low: 0.8, High: 1}}, margin, "").Inline()
		if err != nil || strings.Contains(svg, "NaN") {
			t.Errorf("within %v something has no place, %v", margin, err)
		}
	}
}
