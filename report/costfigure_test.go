package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/reference"
)

// loaded is a row of a network with figures of CPU use.
func loaded(network string, loads map[string]float64) analysis.Row {
	row := analysis.Row{Cell: record.Cell{Network: network, Hosts: 2, Workload: record.TCPStream}, Status: record.OK}
	for _, k := range analysis.CPUKinds() {
		if v, ok := loads[k.Name]; ok {
			cost, _ := analysis.CostKind(k.Name, row.Cell)
			row.Costs = append(row.Costs, analysis.Figure{Kind: cost, Summary: analysis.Summary{N: 1, Estimate: v, Interval: analysis.Interval{Low: v, High: v}}})
		}
	}
	return row
}

func TestLoadFigureShowsWhereTheCPUTimeGoes(t *testing.T) {
	rows := []analysis.Row{
		loaded("native", map[string]float64{reference.CPUClient: 0.5, reference.CPUServer: 0.75, analysis.CPUShared: 0.25}),
		loaded("flannel-udp", map[string]float64{reference.CPUClient: 0.1, reference.CPUServer: 0.2, analysis.CPUDaemons: 1.25, analysis.CPUShared: 0}),
		loaded("half", map[string]float64{reference.CPUClient: 0.1, reference.CPUServer: 0.2}), // not all of it is known
	}
	f := loadFigure(rows[0].Cell, []string{"t2.micro"}, func(int) []analysis.Row { return rows })
	for _, want := range []string{
		"t2.micro, native: 1.50, of that clients 0.500, servers 0.750, shared 0.250.",
		"t2.micro, flannel-udp: 1.55, of that clients 0.100, servers 0.200, daemons 1.25, shared 0.",
	} {
		if !strings.Contains(f.chart.Label(), want) {
			t.Errorf("%q does not say %q", f.chart.Label(), want)
		}
	}
	if strings.Contains(f.chart.Label(), "half") {
		t.Error("a part of the CPU time is shown as all of it")
	}
	var keys []string
	for _, k := range f.Keys {
		keys = append(keys, k.Name)
	}
	if !slices.Equal(keys, []string{"clients", "servers", "daemons", "shared"}) {
		t.Errorf("the legend is %q", keys)
	}
	var svg bytes.Buffer
	if err := f.chart.WithKeys(f.Keys).WriteSVG(&svg, f.Title); err != nil {
		t.Fatal(err)
	}
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
	places := []reference.Column{{Place: reference.Place{Label: "t2.micro"}}}
	table := func(network, as, over string) analysis.ReplicatedTable {
		p := reference.Published{Network: network, As: as, Place: places[0].Place, Value: 59.7}
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
