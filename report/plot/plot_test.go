package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

func histogram(t *testing.T, n int) *hdrhistogram.PackedHistogram {
	t.Helper()
	h := hdrhistogram.NewPacked(1, 1e9, 3)
	for i := range n {
		iferr.Fatal(t, h.RecordValue(int64(20_000+i)))
	}
	return h
}

// at returns a point of a sweep.
func at(x, y, low, high float64) Point { return Point{X: Extent{Value: x}, Y: Extent{y, low, high}} }

// met is a measured load, and what was measured under it.
func met(x, fromX, toX, y, fromY, toY float64) Point {
	return Point{X: Extent{x, fromX, toX}, Y: Extent{y, fromY, toY}}
}

func TestCharts(t *testing.T) {
	shows := map[string][]string{
		"forest, of changes that are nothing, enormous and not known":     {"veth", "slow", "odd", "5000×", "untested", `aria-label="three networks"`},
		"rounds, of networks in all of them, in some, in one and in none": {"host", "&lt;veth&gt;", "once", "never", "−10…+10%", "round 1", ">3<", `aria-label="four networks"`},
	}
	for name, draw := range map[string]func() Chart{
		"bars": func() Chart {
			return Bars([]Bar{{Name: "host", Text: "20.1", Value: 20.1, Low: 20, High: 20.2, Native: true},
				{Name: "<b>&", Text: "0", Value: 0, Low: 0, High: 0}, {Name: "bridge", Text: "12", Value: 12, Low: 12, High: 12, Tone: Pale}}, `"<label>"`)
		},
		"one bar of nothing": func() Chart { return Bars([]Bar{{Name: "host", Text: "0"}}, "label") },
		"curves": func() Chart {
			return Percentiles([]Curve{{Histogram: histogram(t, 5000)}, {Look: LookOf(0, false), Histogram: histogram(t, 100)}, {Histogram: nil}}, "label")
		},
		"sweep": func() Chart {
			return Sweep([]Series{{Name: "host", Points: []Point{at(1, 20, 19, 21), at(2, 11, 10.5, 11.2), at(20, 1, 1, 1)}},
				{Name: "<b>", Look: LookOf(9, false), Points: []Point{at(1, 0, 0, 0), at(2, 11, 10.5, 11.2)}}, {Name: "none"}},
				Axis{Title: "clients", Ticks: []Tick{{1, "1"}, {2, "2"}, {16, "16"}, {20, "20"}}, Log: true}, "<label>")
		},
		"sweep of one value": func() Chart {
			return Sweep([]Series{{Name: "host", Points: []Point{at(0, 0, 0, 0)}}}, Axis{Ticks: []Tick{{0, "m4"}}}, "label")
		},
		"load": func() Chart {
			return Load([]Series{{Points: []Point{met(1, 1, 1, 20, 19, 21), met(9, 8, 9.5, 70, 60, 900), met(7, 7, 7, 400, 400, 400)}},
				{Look: LookOf(9, false), Points: []Point{{}, met(2, 2, 2, 3, 4, 2)}}, {}}, "<b>", "<label>")
		},
		"load of nothing": func() Chart { return Load([]Series{{Points: make([]Point, 2)}}, "", "label") },
		"heat": func() Chart {
			return Heat(Matrix{RowTitle: "containers", ColumnTitle: "<b>", Rows: []string{"1", "16"}, Columns: []string{"1", "2"}, Most: 12,
				Cells: [][]HeatCell{{{"12", 12, true}, {"0", 0, true}}, {{"–", 0, false}}}}, "<label>")
		},
		"clusters": func() Chart {
			return Clusters([]Cluster{{"<b>", []Bar{{Name: "vxlan", Text: "80%", Value: 80, Low: 70, High: 90, Look: LookOf(1, false)}, {Name: "none"}}}, {"empty", nil}}, 100, 0, "<label>")
		},
		"forest, of changes that are nothing, enormous and not known": func() Chart {
			return Forest([]Bar{{Name: "veth", Text: "=", Value: 1.01, Low: 0.99, High: 1.03, Tone: LikeNative},
				{Name: "slow", Text: "5000×", Value: 5000, Low: 4000, High: 1e9}, {Name: "odd", Text: "untested", Tone: Pale}}, 0.05, "three networks")
		},
		"rounds, of networks in all of them, in some, in one and in none": func() Chart {
			return Rounds([]History{{Name: "host", Native: true, Points: []Visit{{1, 1}, {2, 0.9}, {3, 1.1}}, Text: "−10…+10%"},
				{Name: "<veth>", Points: []Visit{{1, 1}, {3, 1e9}}, Behind: []Visit{{1, 1}, {2, 0}, {3, 1}}},
				{Name: "once", Points: []Visit{{2, 1}}}, {Name: "never"}}, 0.05, "four networks")
		},
	} {
		chart := draw()
		svg, err := chart.Inline()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range shows[name] {
			if !strings.Contains(svg, want) {
				t.Errorf("%s: there is no %q", name, want)
			}
		}
		again, _ := draw().Inline()
		if svg != again {
			t.Errorf("%s: differs from one time to the next", name)
		}
		if !strings.HasPrefix(svg, `<svg viewBox="0 0 `) || !strings.HasSuffix(svg, "</svg>") {
			t.Errorf("%s: is not one element: %.80s", name, svg)
		}
		for _, bad := range []string{"xmlns", "http", "width=", "Liberation", "#01FE", "NaN", "Inf", "<b>", "<label>"} {
			if strings.Contains(svg, bad) {
				t.Errorf("%s: holds %q", name, bad)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	chart := Bars([]Bar{{Name: "host", Text: "20.1", Value: 20.1, Low: 20, High: 20.2, Native: true}}, "<label>")
	chart = chart.WithKeys([]Key{{"host", Look{}}, {"bridge", LookOf(7, false)}, {"<b>", LookOf(1, false)}})
	var svg, picture bytes.Buffer
	iferr.Fatal(t, errors.Join(chart.WriteSVG(&svg, "Throughput & <more>"), chart.WritePNG(&picture, "Throughput")))
	for d := xml.NewDecoder(&svg); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("svg: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Space != "http://www.w3.org/2000/svg" {
			t.Errorf("svg: element %v", e.Name)
		}
	}
	img, err := png.Decode(&picture)
	if err != nil {
		t.Fatalf("png: %v", err)
	}
	colors := map[color.Color]bool{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			colors[img.At(x, y)] = true
		}
	}
	native := parseHex(Light()["--bar-native"])
	if !colors[color.RGBA{native.R, native.G, native.B, 255}] {
		t.Error("png: the bar has not the colour of native")
	}
}

func TestNothingToDraw(t *testing.T) {
	for name, chart := range map[string]Chart{
		"no bars":        Bars(nil, ""),
		"too few values": Percentiles([]Curve{{Histogram: histogram(t, FewestValues-1)}}, ""),
		"no points":      Sweep([]Series{{Name: "host"}}, Axis{Ticks: []Tick{{1, "1"}}}, ""),
		"no ticks":       Sweep([]Series{{Points: []Point{at(0, 1, 0, 0)}}}, Axis{}, ""),
		"no loads":       Load([]Series{{}}, "", ""),
		"no cells":       Heat(Matrix{}, ""),
		"no clusters":    Clusters(nil, 0, 0, ""),
		"no changes":     Forest(nil, 0.05, ""),
		"no rounds":      Rounds(nil, 0.05, ""),
		"never measured": Rounds([]History{{Name: "never"}}, 0.05, ""),
	} {
		if svg, err := chart.Inline(); svg != "" || chart.Drawn() || err != nil {
			t.Errorf("%s: %q, %v", name, svg, err)
		}
	}
}

// Only values that are more than ten times apart, without zero, are on a logarithmic scale.
func TestScaleOfLoads(t *testing.T) {
	for _, tt := range []struct {
		least, most float64
		factors     bool
		ticks       string
	}{
		{2, 20, false, "0 5 10 15 20"}, {2, 21, true, "2 5 10 20"}, {0, 21, false, "0 5 10 15 20"}, {0.08, 17, true, "0.1 1 10"}, {1e-9, 1e9, true, "1e-06 0.01 100 1e+06"},
	} {
		s := scaleOf([]Extent{{tt.least, tt.least, tt.least}, {tt.most, tt.most, tt.most}})
		var ticks []string
		for _, one := range s.ticks() {
			ticks = append(ticks, one.Label)
		}
		if got := strings.Join(ticks, " "); s.factors != tt.factors || got != tt.ticks {
			t.Errorf("%v to %v: factors %v, ticks %s; want %v, %s", tt.least, tt.most, s.factors, got, tt.factors, tt.ticks)
		}
	}
}

// On an axis of values from 10 to 20, 15 is in the middle.
func TestScaleOfSweeps(t *testing.T) {
	if got := (Axis{Ticks: []Tick{{10, "10"}, {20, "20"}}}).scale().place(15); got != 0.5 {
		t.Errorf("15 is at %v", got)
	}
}

func TestLooksDiffer(t *testing.T) {
	seen := map[Look]int{{}: -1}
	for i := range 4 * (Lines - 1) {
		look := LookOf(i, false)
		if other, ok := seen[look]; ok {
			t.Errorf("curves %d and %d look the same", other, i)
		}
		seen[look] = i
	}
}

// TestTicksEnd: wherever an axis ends, it has few ticks.
func TestTicksEnd(t *testing.T) {
	for _, most := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, 1e-320, 1e-300, 1, 99, 1e9, 1e300, math.MaxFloat64} {
		for _, parts := range []float64{4.5, 5.5} {
			ticks := ticksTo(0, most, parts)
			if ordinary := most > 1e-200 && most < 1e200; len(ticks) > 7 || ordinary && len(ticks) < 2 {
				t.Errorf("up to %v: %d ticks", most, len(ticks))
			}
			for _, tick := range ticks {
				if len(tick.Label) > 10 {
					t.Errorf("up to %v: %q", most, tick.Label)
				}
			}
		}
	}
}

// TestTicksOfNegativeValues: an axis that begins below zero has ticks there, at zero and above.
func TestTicksOfNegativeValues(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want        []string
	}{
		{-3, 9, []string{"0", "5"}},
		{-3, 1, []string{"-3", "-2", "-1", "0", "1"}},
		{-3, 0, []string{"-3", "-2", "-1", "0"}},
	} {
		got := record.Each(ticksTo(c.least, c.most, 4.5), func(tick plot.Tick) string { return tick.Label })
		if !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v: %q, want %q", c.least, c.most, got, c.want)
		}
	}
}

// reaches returns from where to where the shapes of a colour reach horizontally, in the order in which they are drawn.
func reaches(t *testing.T, c Chart, r role) (all [][2]float64) {
	t.Helper()
	svg, err := c.Inline()
	iferr.Fatal(t, err)
	name, _ := r.variable()
	for _, path := range regexp.MustCompile(`<path d="([^"]*)" style="[^"]*var\(`+name+`\)`).FindAllStringSubmatch(svg, -1) {
		at := [2]float64{math.Inf(1), math.Inf(-1)}
		for _, x := range regexp.MustCompile(`[ML]([^,]*),`).FindAllStringSubmatch(path[1], -1) {
			v, err := strconv.ParseFloat(x[1], 64)
			iferr.Fatal(t, err)
			at = [2]float64{min(at[0], v), max(at[1], v)}
		}
		all = append(all, at)
	}
	return all
}

// TestBarsAreToScale has a bar of 10 with an interval from 8 to 14, one of 5 and in clusters one of -5, and there a reference at 5.
func TestBarsAreToScale(t *testing.T) {
	const names = 117 // end there
	bars := []Bar{{Value: 10, Low: 8, High: 14}, {Value: 5, Low: 5, High: 5}}
	clusters := Clusters([]Cluster{{Bars: append(bars, Bar{Value: -5, Low: -5, High: -5})}}, 5, 0, "")
	for name, c := range map[string]struct {
		chart Chart
		bars  [][2]float64
	}{
		"bars": {Bars(bars, ""), reaches(t, Bars(bars, ""), roleBar)}, "clusters": {clusters, reaches(t, clusters, roleLine)},
	} {
		zero, unit := c.bars[1][0], (c.bars[1][1]-c.bars[1][0])/5
		for i, want := range [][2]float64{{0, 10}, {0, 5}, {-5, 0}}[:len(c.bars)] {
			if got := c.bars[i]; math.Abs(got[0]-zero-want[0]*unit) > 0.1 || math.Abs(got[1]-zero-want[1]*unit) > 0.1 || unit < 5 {
				t.Errorf("%s: bar %d reaches from %v to %v, zero is at %v and 5 at %v", name, i, got[0], got[1], zero, zero+5*unit)
			}
		}
		if got := reaches(t, c.chart, roleInterval)[0]; math.Abs(got[0]-zero-8*unit) > 0.1 || math.Abs(got[1]-zero-14*unit) > 0.1 {
			t.Errorf("%s: the interval reaches from %v to %v, zero is at %v and 5 at %v", name, got[0], got[1], zero, zero+5*unit)
		}
	}
	at, five := reaches(t, clusters, roleBarNative)[0][0], reaches(t, clusters, roleLine)
	if at != five[1][1] || five[2][0] < names {
		t.Errorf("5 is at %v, its mark at %v, and -5 at %v", five[1][1], at, five[2][0])
	}
}

// TestHeatIsToScale has cells of 0, 40, 60 and 100 % of the greatest value, row by row: so much of the way from an opacity of 0.04
// to one of 0.62.
func TestHeatIsToScale(t *testing.T) {
	svg, err := Heat(Matrix{Rows: []string{"a", "b"}, Columns: []string{"c", "d"}, Most: 5, Cells: [][]HeatCell{
		{{"0", 0, true}, {"2", 2, true}}, {{"3", 3, true}, {"5", 5, true}},
	}}, "").Inline()
	iferr.Fatal(t, err)
	got := regexp.MustCompile("fill-opacity:[0-9.]+").FindAllString(svg, -1)
	if want := []string{"fill-opacity:0.04", "fill-opacity:0.272", "fill-opacity:0.388", "fill-opacity:0.62"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNegativeBarsBeginAtZero: the bar and the interval of a value below zero lie to the left of zero.
func TestNegativeBarsBeginAtZero(t *testing.T) {
	if got := (Bar{Value: -1.2, Low: -3, High: 0.9}).drawn(); got.Value != -1.2 || got.Low != -3 || got.High != 0.9 {
		t.Errorf("drawn as %+v", got)
	}
	of := func(b Bar) string {
		svg, err := Bars([]Bar{{Name: "host", Value: 1, Low: 1, High: 1}, b}, "label").Inline()
		iferr.Fatal(t, err)
		return svg
	}
	if of(Bar{Name: "veth", Value: -1.2, Low: -3, High: 0.9}) == of(Bar{Name: "veth", Value: 0, Low: 0, High: 0.9}) {
		t.Error("a negative value is drawn as zero")
	}
}

// TestLinesBreak: points between which one is missing are not joined.
func TestLinesBreak(t *testing.T) {
	points := []Point{at(1, 1, 1, 1), at(2, 1, 1, 1), at(3, 1, 1, 1)}
	if got := pieces(points); len(got) != 1 || len(got[0]) != 3 {
		t.Errorf("%d pieces of what was measured everywhere", len(got))
	}
	points[2].Apart = true
	if got := pieces(points); len(got) != 2 || len(got[0]) != 2 || len(got[1]) != 1 {
		t.Errorf("pieces are %v", got)
	}
}

// TestPictureIsBounded: a chart of thousands of networks is a coarser picture, not a larger one.
func TestPictureIsBounded(t *testing.T) {
	for n, full := range map[int]bool{1: true, 100: true, 5000: false} {
		chart := Bars(make([]Bar, n), "label")
		scale := chart.alone("title").density()
		if dots := scale * scale * (width + 2*margin).Points() * chart.height.Points(); dots > mostDots || (scale == pngScale) != full {
			t.Errorf("%d bars: %v dots for a unit, %v in all", n, scale, dots)
		}
	}
}

func TestChangeTicks(t *testing.T) {
	for _, c := range []struct {
		least, most, units float64 // ends and width of the axis
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

// TestForestHasPlacesWithinAnyMargin: a difference of most of the baseline may count as none.
func TestForestHasPlacesWithinAnyMargin(t *testing.T) {
	for _, margin := range []float64{0, 0.05, 0.5, 0.6, 1} {
		svg, err := Forest([]Bar{{Name: "veth", Value: 0.9, Low: 0.8, High: 1}}, margin, "").Inline()
		if err != nil || strings.Contains(svg, "NaN") {
			t.Errorf("within %v something has no place, %v", margin, err)
		}
	}
}

// TestThinned: if there are more rounds than there is room for, outliers stay, in their
// order, and the chart does not grow.
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

// TestRoundsBreak: a line does not cross rounds without a trial.
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
