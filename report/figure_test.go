package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/report/plot"
)

func TestCharts(t *testing.T) {
	res, _ := matrixResult("icc-2014", matrixCells())
	all := Charts(res)
	seen := map[string]bool{}
	for _, c := range all {
		if seen[c.Name] {
			t.Errorf("two charts are called %s", c.Name)
		}
		seen[c.Name] = true
		var b bytes.Buffer
		err := c.SVG(&b)
		d := xml.NewDecoder(&b)
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	var b bytes.Buffer
	iferr.Fatal(t, all[0].PNG(&b))
	if img, err := png.Decode(&b); err != nil || img.Bounds().Dx() < 1000 {
		t.Errorf("png: %v, %v", img.Bounds(), err)
	}
	specimen, _ := specimenResult()
	all = Charts(specimen)
	if len(all) != 22 {
		t.Errorf("%d charts of the specimen", len(all))
	}
	for _, c := range all {
		seen[c.Name] = true
	}
	// Charts of comparisons name the baseline, and CPU time is given per amount moved.
	for _, want := range []string{
		"tcp-stream-by-clients-engine-throughput-per-client-gbit-s",
		"tcp-stream-by-clients-and-clients-in-each-container-link-throughput-per-client-gbit-s",
		"one-host-ipv4-client-and-server-on-different-cpus-latency-p50-against-host",
		"one-host-ipv4-client-and-server-on-different-cpus-where-the-cpu-time-of-tcp-stream-goes-s-per-gb",
		"one-host-ipv4-client-and-server-on-different-cp-where-the-cpu-time-of-tcp-rr-goes-us-per-transaction",
	} {
		if !seen[want] {
			t.Errorf("no chart %s among %v", want, seen)
		}
	}
}

// TestColorsAgree checks that separate charts have the colours of the page.
func TestColorsAgree(t *testing.T) {
	page := palettes(t)[0]
	for name, color := range plot.Light() {
		if page[name] != color {
			t.Errorf("%s is %s alone and %s on the page", name, color, page[name])
		}
	}
}

// TestRoundsHaveEveryNetwork: each measured network of a scenario is in its chart over
// rounds, with the number of its rounds.
func TestRoundsHaveEveryNetwork(t *testing.T) {
	drawn := 0
	for name, res := range awkward() {
		for _, g := range apart(res) {
			for i := range g.scenarios {
				f := g.roundFigure(i)
				if !f.chart.Drawn() {
					continue
				}
				kind, _ := g.ranking(i)
				for _, l := range g.lines {
					points := shares(l.rows[i], kind)
					if len(points) == 0 {
						continue
					}
					drawn++
					want := l.name + " " + endsOf(points) + " in " + countOf(len(points), "round")
					if !strings.Contains(f.chart.Label(), want) {
						t.Errorf("%s: %q is not in %q", name, want, f.chart.Label())
					}
				}
			}
		}
	}
	if drawn < 40 {
		t.Errorf("only %d networks were drawn", drawn)
	}
}

// loaded returns a row of a network with figures of CPU use.
func loaded(network string, loads map[string]float64) analysis.Row {
	row := analysis.Row{Cell: record.Cell{Network: network, Hosts: 2, Workload: record.TCPStream}, Status: record.OK}
	for _, k := range analysis.CPUKinds() {
		if v, ok := loads[k.Name]; ok {
			row.Costs = append(row.Costs, analysis.Figure{Kind: analysis.CostKind(k.Name, row.Cell), Summary: analysis.Summary{N: 1, Estimate: v, Interval: analysis.Interval{Low: v, High: v}}})
		}
	}
	return row
}

func TestLoadFigureShowsWhereTheCPUTimeGoes(t *testing.T) {
	rows := []analysis.Row{
		loaded("native", map[string]float64{reference.CPUClient: 0.5, reference.CPUServer: 0.75, analysis.CPUShared: 0.25}),
		loaded("flannel-udp", map[string]float64{reference.CPUClient: 0.1, reference.CPUServer: 0.2, analysis.CPUDaemons: 1.25, analysis.CPUShared: 0}),
		loaded("half", map[string]float64{reference.CPUClient: 0.1, reference.CPUServer: 0.2}), // only partly known
	}
	f := loadFigure(rows[0].Cell, []string{"t2.micro"}, func(int) []analysis.Row { return rows })
	for _, want := range []string{
		"t2.micro, native: 1.50, of which clients 0.500, servers 0.750, shared 0.250.",
		"t2.micro, flannel-udp: 1.55, of which clients 0.100, servers 0.200, daemons 1.25, shared 0.",
	} {
		if !strings.Contains(f.chart.Label(), want) {
			t.Errorf("%q does not say %q", f.chart.Label(), want)
		}
	}
	if strings.Contains(f.chart.Label(), "half") {
		t.Error("a part of the CPU time is shown as all of it")
	}
	keys := record.Each(f.Keys, func(k plot.Key) string { return k.Name })
	if !slices.Equal(keys, []string{"clients", "servers", "daemons", "shared"}) {
		t.Errorf("the legend is %q", keys)
	}
	var svg bytes.Buffer
	iferr.Fatal(t, f.chart.WithKeys(f.Keys).WriteSVG(&svg, f.Title))
	for _, color := range []string{"#0072b2", "#2f8fc7", "#d55e00", "#4a525b"} {
		if strings.Count(svg.String(), color) < 2 { // in a bar and in the legend
			t.Errorf("%s is not drawn", color)
		}
	}
	f = loadFigure(rows[0].Cell, []string{""}, func(int) []analysis.Row { return rows[:1] })
	if len(f.Keys) != 3 || strings.Contains(f.chart.Label(), "daemons") {
		t.Errorf("a network without daemons: %q, legend %+v", f.chart.Label(), f.Keys)
	}
	if loadFigure(rows[0].Cell, []string{""}, func(int) []analysis.Row { return rows[2:] }).chart.Drawn() {
		t.Error("nothing is known, and something is drawn")
	}
}

func TestStandInIsNamed(t *testing.T) {
	places := []reference.Place{{Label: "t2.micro"}}
	table := func(network, as, over string) analysis.ReplicatedTable {
		p := reference.Published{Network: network, As: as, Place: places[0], Value: 59.7}
		return analysis.ReplicatedTable{
			Table: reference.Table{Name: "CPU", Unit: "percent of the machine", Columns: places, Cells: []reference.Published{p}},
			Kind:  record.Kind{Name: reference.CPUClient, Unit: "cpu-s/s"}, CPUs: 4,
			Cells: []analysis.ReplicatedCell{{Published: p, Cell: record.Cell{Network: over}, Measured: &analysis.Figure{Summary: analysis.Summary{Estimate: 1, Interval: analysis.Interval{Low: 1, High: 1, Level: 0.95}}}}},
		}
	}
	for _, c := range []struct{ as, over, want string }{
		{"weave-sleeve|udp-overlay-packet", "udp-overlay-packet", "  udp-overlay-packet"},
		{"weave-sleeve|udp-overlay-packet", "weave-sleeve", ""},
		{"weave-sleeve", "docker:weave-sleeve", ""},
	} {
		sh := publishedTable(table("weave-pcap", c.as, c.over))
		if got := sh.Lines[1].Names[0]; got != c.want {
			t.Errorf("%s over %s is called %q, want %q", c.as, c.over, got, c.want)
		}
		if got := sh.Lines[1].Cells[0].Value; got != "25" {
			t.Errorf("one of four CPUs is %q %%", got)
		}
		if !strings.Contains(sh.Note, "measured as a share of the four CPUs of a host") {
			t.Errorf("the note is %q", sh.Note)
		}
	}
}

// loadTitles returns the titles of a report's charts of latency against load.
func loadTitles(t *testing.T, f *record.File) (titles []string) {
	t.Helper()
	charts := Charts(analysis.Analyze(f))
	for _, c := range charts {
		if strings.Contains(c.Title, "against load") {
			titles = append(titles, c.Title)
		}
	}
	return titles
}

func TestLatencyAgainstLoad(t *testing.T) {
	if got := loadTitles(t, loadsFile()); len(got) != 2 || !strings.Contains(got[0], "Latency p50") || !strings.Contains(got[1], "Latency p99") {
		t.Errorf("charts %q", got)
	}
	page := write(t, "html", analysis.Analyze(loadsFile()), Options{})
	// The offered 20,000 are more than it can do.
	for _, want := range []string{"at 8.55 (", "Transactions achieved, k/s", "host (baseline)", "in charts against load, each point is above the achieved load"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// No such chart is drawn if there is only one load, or if networks differ in something else.
func TestNoLatencyAgainstLoad(t *testing.T) {
	for name, change := range map[string]func(*record.Cell) (keep bool){
		"one load": func(c *record.Cell) bool { return c.Options.Rate == 1000 },
		"no loads": func(c *record.Cell) bool { c.Options.RequestSize, c.Options.Rate = c.Options.Rate, 1000; return true },
		"one for each": func(c *record.Cell) bool {
			return (c.Network == "host") == (c.Options.Rate == 1000) && c.Options.Rate <= 5000
		},
		"other measures": func(c *record.Cell) bool { c.Workload = record.UDPStream; return false },
	} {
		f := loadsFile()
		keep(f, change)
		if got := loadTitles(t, f); len(got) > 0 {
			t.Errorf("%s: charts %q", name, got)
		}
	}
}

// A page with only sweeps begins with the grade, like any other; and after a factor there is no "of".
func TestSweepsAlone(t *testing.T) {
	res := analysis.Analyze(loadsFile())
	if page := write(t, "html", res, Options{}); !strings.Contains(page, `<p class="grade">All 8 primary comparisons are decided`) || strings.Contains(page, "Nothing was measured") {
		t.Error("the page does not begin with its grade")
	}
	if text := write(t, "text", res, Options{}); !strings.Contains(text, "at 1 k/s, and has 19.8–20.2× native's latency p50 at 20 k/s") {
		t.Errorf("text says:\n%s", text)
	}
}

func TestAxisPlaces(t *testing.T) {
	for _, tt := range []struct {
		values, want []float64
		log          bool
	}{
		{[]float64{1, 2, 4, 8, 16, 20}, []float64{1, 2, 4, 8, 16, 20}, true},
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, false},
		{[]float64{1, 20}, []float64{1, 20}, false},
		{[]float64{0, 10, 100, 1000}, []float64{0, 1, 2, 3}, false},
		{[]float64{0, 1, 2, 3}, []float64{0, 1, 2, 3}, false},
		{nil, nil, false},
	} {
		ticks := record.Each(tt.values, func(v float64) analysis.Tick { return analysis.Tick{Value: v} })
		got, log := axisPlaces(ticks)
		if !slices.Equal(got, tt.want) || log != tt.log {
			t.Errorf("%v: %v, %v; want %v, %v", tt.values, got, log, tt.want, tt.log)
		}
	}
}

// TestPlacesInMatrices checks the values of both axes of every point in JSON, and that the greatest value has the strongest colour.
func TestPlacesInMatrices(t *testing.T) {
	found := 0
	for _, s := range jsonSweeps(matrices()["matrix"].res) {
		if !s.Matrix() {
			continue
		}
		points := s.Points
		for _, l := range s.Lines {
			for _, at := range l.Points {
				if p := points[0]; p.Network != l.Network || p.X+"×"+p.Y != labelOf(s.Sweep, at) {
					t.Errorf("%s at %s×%s, want %s at %s", p.Network, p.X, p.Y, l.Network, labelOf(s.Sweep, at))
				}
				points = points[1:]
				found++
			}
		}
		svg, err := sweepFigures(s.Sweep, colours{})[0].SVG()
		if err != nil || !strings.Contains(string(svg), "fill-opacity:0.62") {
			t.Errorf("no cell of %s has the strongest colour, %v", s.Title, err)
		}
	}
	if found == 0 {
		t.Error("there is no matrix")
	}
}

// TestLinesBreakWhereNothingWasMeasured has three points, and between the first two of them none, or one without a figure: then
// fewer lines join them, and those of their intervals.
func TestLinesBreakWhereNothingWasMeasured(t *testing.T) {
	kind, _ := record.KindOf(record.Throughput)
	measured := analysis.Row{Figures: []analysis.Figure{{Kind: kind, Summary: analysis.Summary{Estimate: 1e9}}}}
	lines := func(second ...analysis.SweepPoint) int {
		points := slices.Concat([]analysis.SweepPoint{{X: 0, Row: measured}}, second, []analysis.SweepPoint{{X: 2, Row: measured}, {X: 3, Row: measured}})
		s := analysis.Sweep{Lines: []analysis.Line{{Network: "bridge", Points: points}}}
		for i := range 4 {
			s.X.Ticks = append(s.X.Ticks, analysis.Tick{Value: float64(i)})
		}
		svg, err := lineFigure(s, kind, colours{}).SVG()
		iferr.Fatal(t, err)
		return strings.Count(string(svg), "L") // as in M0,0L1,1
	}
	if joined, broken := lines(), lines(analysis.SweepPoint{X: 1}); broken >= joined {
		t.Errorf("%d lines, and %d where a point is missing", joined, broken)
	}
}

// Bars in groups have the colours of their networks; a sign marks those that are not different.
func TestRatioBarsSayWhatIsNotKnown(t *testing.T) {
	for outcome, want := range map[analysis.Outcome]string{
		analysis.Different: "55%", analysis.NotKnown: "55% ?", analysis.Same: "55% =", analysis.Untested: "55% untested",
	} {
		if b := ratioBar(analysis.Comparison{Value: 0.55, Outcome: outcome}); b.Text != want {
			t.Errorf("%v: %q, want %q", outcome, b.Text, want)
		}
	}
}

// TestBarsOfRatios checks what bars of a network that needs 1.5 times as much as the baseline, or perhaps less, show in percent.
func TestBarsOfRatios(t *testing.T) {
	c := analysis.Comparison{Value: 1.5, Interval: analysis.Interval{Low: 0.75, High: 2, Level: 0.95}}
	for name, b := range map[string][2]plot.Bar{
		"share": {ratioBar(c), {Value: 150, Low: 75, High: 200}}, "above": {aboveBar(c), {Value: 50, Low: 0, High: 100}},
	} {
		if got, want := b[0], b[1]; got.Value != want.Value || got.Low != want.Low || got.High != want.High {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// Text output draws no charts.
func TestTextDrawsNothing(t *testing.T) {
	res, _ := matrixResult("icc-2014", matrixCells())
	d := newDocument(res)
	charts := 0
	for _, s := range append(d.Groups, d.Sections...) {
		if s.figures != nil {
			charts++
			s.figures = func() []figure {
				t.Errorf("the charts of %q are drawn", s.Title)
				return nil
			}
		}
	}
	if charts == 0 {
		t.Fatal("nothing has charts")
	}
	for _, write := range []func(io.Writer, document, Options) error{writeText, writeMarkdown} {
		iferr.Error(t, write(io.Discard, d, Options{}))
	}
}

// TestChartOfChangesNamesWhatItLeavesOut: a network that moved nothing has no ratio, and would otherwise be missing without a word.
func TestChartOfChangesNamesWhatItLeavesOut(t *testing.T) {
	kind, _ := record.KindOf(record.Throughput)
	row := func(native bool, c *analysis.Comparison) []*analysis.Row {
		f := analysis.Figure{Kind: kind}
		if c != nil && c.Minus {
			f.Difference = c
		} else {
			f.Ratio = c
		}
		return []*analysis.Row{{Native: native, Figures: []analysis.Figure{f}}}
	}
	half := &analysis.Comparison{Value: 0.5, Interval: analysis.Interval{Low: 0.4, High: 0.6, Level: 0.95}, Outcome: analysis.Different}
	less := &analysis.Comparison{Minus: true, Value: -1e9, Interval: analysis.Interval{Low: -1.1e9, High: -0.9e9, Level: 0.95}, Outcome: analysis.Different}
	g := group{res: &analysis.Result{}, scenarios: make([]analysis.Scenario, 1), lines: []line{
		{name: "host", native: true, rows: row(true, nil)}, {name: "bridge", rows: row(false, half)}, {name: "veth", rows: row(false, less)},
	}}
	f, ok := g.changes(column{kind: kind})
	if !ok || f.Hint != "higher is better; without veth, which has no ratio" {
		t.Errorf("%v, %q", ok, f.Hint)
	}
}
