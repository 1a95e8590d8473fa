package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"nettoll/analysis"
	"nettoll/record"
)

const matrixRounds = 6

// matrixCells are those of a published matrix of servers, clients and processes,
// of which two tools measured some, and some rows of instances.
func matrixCells() []record.Cell {
	var all []record.Cell
	add := func(c record.Cell) {
		c.Hosts, c.Family, c.Workload, c.Placement = 1, 4, record.TCPStream, record.PlacementFree
		c.Options.Streams = 1
		for _, tool := range []string{"engine", "iperf"} {
			if tool == "iperf" && (c.Clients > 2 || c.Processes > 1 || c.Servers > 1) {
				continue
			}
			c.Tool = tool
			for _, name := range []string{"host", "iptables", "pipework-veth", "link", "ovs"} {
				c.Network = name
				all = append(all, c)
			}
		}
	}
	for _, n := range []int{1, 2, 4, 8, 16, 20} {
		add(record.Cell{Servers: 1, Clients: n})
	}
	for _, n := range []int{2, 4, 20} {
		add(record.Cell{Servers: n, Clients: n})
	}
	for _, p := range [][2]int{{1, 2}, {1, 4}, {1, 16}, {2, 2}, {4, 4}, {16, 16}} {
		add(record.Cell{Servers: 1, Clients: p[0], Processes: p[1]})
	}
	return all
}

// instanceCells compare networks on instances.
func instanceCells() []record.Cell {
	var all []record.Cell
	for _, underlay := range []string{"t2.micro:rate=500mbit", "m4.large:rate=1gbit", "m4.10xlarge"} {
		for _, name := range []string{"native", "vxlan", "flannel-udp"} {
			all = append(all, record.Cell{Network: name, Hosts: 2, Family: 4, Servers: 1, Clients: 1, Tool: "iperf3", Workload: record.TCPStream,
				Placement: record.PlacementDistinct, Underlay: underlay, Options: record.Options{Streams: 128}})
		}
	}
	return all
}

// matrixResult is a run of the cells, with figures that are invented but
// analysed as any others are.
func matrixResult(t testing.TB, suite string, cells []record.Cell) (analysis.Result, Options) {
	t.Helper()
	start := time.Date(2026, 3, 15, 9, 0, 0, 0, time.UTC)
	file := &record.File{Run: record.Run{
		ID: "c0ffee42", Started: start, Version: "0.2.0", Suite: suite, Cells: cells,
		Machine: record.Machine{OS: "Debian GNU/Linux 12", Kernel: "6.1.0-18", Arch: "amd64", CPUModel: "AMD EPYC 7713",
			CPUs: []record.CPU{{ID: 0}, {ID: 1, Core: 1}}, MemoryB: 24 << 30, Root: true},
		Settings: record.Settings{Duration: 1, Warmup: 0.2, Precision: 0.05, Confidence: 0.95, MinRounds: 6, MaxRounds: 6, Seed: 1},
	}}
	for round := 1; round <= matrixRounds; round++ {
		for i, c := range cells {
			tr := matrixTrial(c, round, i)
			tr.Order, tr.Started = i+1, start.Add(time.Duration(round*len(cells)+i)*2*time.Second)
			file.Trials = append(file.Trials, tr)
		}
	}
	file.Ends = []record.End{{Reason: record.EndMaxRounds, Rounds: matrixRounds, Elapsed: 902}}
	file.Spent = 902
	return analysis.Analyze(file), Options{Trials: file.Trials}
}

func matrixTrial(c record.Cell, round, index int) record.Trial {
	tr := record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Status: record.OK, Elapsed: 1.6, Window: 1}
	if c.Network == "ovs" {
		tr.Status, tr.Reason, tr.Remedy = record.Skipped, "ovs-vswitchd is not on PATH", "install openvswitch-switch"
		return tr
	}
	if c.Network == "link" && c.Clients == 16 && c.Processes == 16 {
		tr.Status, tr.Reason = record.Failed, "engine: too many open files"
		return tr
	}
	gbits := map[string]float64{"host": 20, "native": 4, "iptables": 11, "pipework-veth": 12.4, "link": 12.1, "vxlan": 3.1, "flannel-udp": 0.9}[c.Network]
	switch c.Underlay {
	case "t2.micro:rate=500mbit":
		gbits = math.Min(gbits, 0.48)
	case "m4.large:rate=1gbit":
		gbits = math.Min(gbits, 0.95)
	}
	if c.Tool == "iperf" && c.Network == "link" {
		gbits *= 0.8
	}
	gbits /= math.Pow(float64(c.Pairs()), 0.08)
	// A fixed ripple stands for noise.
	gbits *= 1 + 0.012*math.Sin(float64(5*round+3*index))
	total := rounded(gbits * 1e9)
	tr.Metrics = map[string]record.Metric{
		record.Throughput: {Value: total, Unit: "bit/s"}, record.ThroughputPerClient: {Value: rounded(total / float64(c.Pairs())), Unit: "bit/s"},
		record.CPUPerGB: {Value: rounded(8 / gbits), Unit: "cpu-s/GB"},
	}
	tr.CPU = &record.CPUUse{Client: record.ProcessCPU{System: rounded(0.2 + gbits/30)}, Server: record.ProcessCPU{System: rounded(0.3 + gbits/25)},
		Machine: record.MachineCPU{Busy: rounded(0.7 + gbits/10)}}
	if round%4 == 0 {
		tr.Warnings = []record.Warning{{Code: "generator-limited", Text: "client used 99% of its CPU"}}
	}
	tr.Path = []record.Hop{{Name: "h1/br0", Kind: "device", Packets: 83_221, Bytes: 1_402_118_442, Need: 1_375_000_000, Unit: "bytes", OK: true}}
	return tr
}

// matrices are runs with everything that is more than a scenario.
func matrices(t testing.TB) map[string]func() (analysis.Result, Options) {
	return map[string]func() (analysis.Result, Options){
		"matrix":    func() (analysis.Result, Options) { return matrixResult(t, "icc-2014", matrixCells()) },
		"instances": func() (analysis.Result, Options) { return matrixResult(t, "suites/cloud-2015.yaml", instanceCells()) },
	}
}

func TestGoldenMatrices(t *testing.T) {
	for name, result := range matrices(t) {
		res, o := result()
		o.Width = 80
		golden(t, name+"-80.text", write(t, "text", res, o))
		golden(t, name+".md", write(t, "md", res, o))
	}
}

func TestMatricesInEveryFormat(t *testing.T) {
	for name, result := range matrices(t) {
		res, o := result()
		for _, f := range Formats() {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				got := write(t, f.Name, res, o)
				if at := notNumber.FindString(got); at != "" {
					t.Errorf("holds %q", at)
				}
				wellFormed(t, f.Name, got)
			})
		}
		for _, width := range []int{40, 60, 80, 120} {
			o.Width = width
			for _, l := range strings.Split(write(t, "text", res, o), "\n") {
				if w := displayWidth(l); w > width {
					t.Errorf("%s at %d: %d columns: %q", name, width, w, l)
				}
			}
		}
	}
}

// TestSweepsReplaceTables holds a terminal to one table for each sweep and
// published table, however many scenarios there are.
func TestSweepsReplaceTables(t *testing.T) {
	res, o := matrixResult(t, "icc-2014", matrixCells())
	rules := strings.Count(write(t, "text", res, o), "─\n")
	// 3 published, 5 sweeps and a matrix, 2 of tools.
	if len(res.Scenarios) < 15 || rules > 11 {
		t.Errorf("%d tables for %d scenarios", rules, len(res.Scenarios))
	}
	for _, g := range apart(res) {
		t.Errorf("%s has a table of its own and stands in a sweep", g.title())
	}
}

// TestFewScenariosKeepTheirTables holds that one step of an axis does not take
// all other metrics away.
func TestFewScenariosKeepTheirTables(t *testing.T) {
	var cells []record.Cell
	for _, clients := range []int{1, 4, 8} {
		for _, name := range []string{"host", "link"} {
			cells = append(cells, record.Cell{Network: name, Hosts: 1, Family: 4, Servers: 1, Clients: clients, Tool: "engine",
				Workload: record.TCPStream, Placement: record.PlacementDistinct})
		}
	}
	for _, tt := range []struct{ cells, own int }{{4, 2}, {6, 0}} {
		res, o := matrixResult(t, "", cells[:tt.cells])
		own := len(apart(res))
		if own != tt.own {
			t.Errorf("%d cells: %d tables of their own, want %d", tt.cells, own, tt.own)
		}
		if got := write(t, "text", res, o); !strings.Contains(got, "tcp_stream by clients") {
			t.Errorf("%d cells: no table of the sweep", tt.cells)
		}
	}
}

func TestWhatIsPublishedIsShown(t *testing.T) {
	res, o := matrixResult(t, "my-own", matrixCells())
	if got := write(t, "text", res, o); strings.Contains(got, "published") {
		t.Error("a run of another suite is put beside a source")
	}
	res.Run.Source = "icc-2014"
	res.Relate()
	got := write(t, "text", res, o)
	for _, want := range []string{"Beside the published: Docker network performance", "(116%)", "Holds here:", "Cannot be told here:"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

// TestWhatWasNotMeasuredIsSaidOnce holds that a source of which a run has little takes little room.
func TestWhatWasNotMeasuredIsSaidOnce(t *testing.T) {
	beside := func(cells []record.Cell, format string) string {
		res, o := matrixResult(t, "icc-2014", cells)
		_, text, found := strings.Cut(write(t, format, res, o), "Beside the published")
		if !found {
			t.Fatal("nothing is beside the published")
		}
		return text
	}
	const nothing = " (inter-container communication) (2014)\nNone of the 70 published cells was measured.\n\n" +
		"  iptables, pipework, link and ovs were not measured in 70 cells: not part of this run; fix: measure them with nettoll run --suite icc-2014.\n\n"
	none := []record.Cell{{Network: "veth", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementDistinct}}
	if got := beside(none, "text"); !strings.Contains(got, nothing) || strings.Contains(got, "Cannot be told") {
		t.Errorf("a run with nothing of a source says:\n%.1500s", got)
	}
	var some []record.Cell
	for _, c := range matrixCells() {
		if c.Servers == 1 && c.Clients == 20 && c.Tool == "engine" {
			some = append(some, c)
		}
	}
	got := beside(some, "text")
	if strings.Contains(got, "Many servers, many clients") || !strings.Contains(got, "One server, many clients") || strings.Count(got, "not part of this run;") != 1 {
		t.Errorf("a run of one column says:\n%.4000s", got)
	}
	if page := beside(some, "html"); !strings.Contains(page, "<summary>Many servers, many clients</summary>") {
		t.Error("a table of which nothing was measured is not folded on the page")
	}
}

func TestMatrixHostile(t *testing.T) {
	res, o := matrixResult(t, "icc-2014", matrixCells())
	f := &res
	for i := range f.Sweeps {
		s := &f.Sweeps[i]
		s.X.Title, s.Cell.Tool = hostile, hostile
		for j := range s.XTicks {
			s.XTicks[j].Label = hostile
		}
		for j := range s.Lines {
			s.Lines[j].Network = hostile + s.Lines[j].Network
		}
	}
	for i := range f.Agreements {
		f.Agreements[i].Tool, f.Agreements[i].Reasons = hostile, []analysis.Warning{{Code: hostile, Text: hostile}}
	}
	for i := range f.Replications {
		r := &f.Replications[i]
		r.Source.Title, r.Source.Notes = hostile, []string{hostile}
		for j := range r.Tables {
			r.Tables[j].Table.Name = hostile
			for k := range r.Tables[j].Cells {
				r.Tables[j].Cells[k].Notes = []string{hostile}
			}
		}
		for j := range r.Conclusions {
			r.Conclusions[j].Text = hostile
		}
	}
	for _, format := range Formats() {
		got := write(t, format.Name, res, o)
		if at := notNumber.FindStringIndex(strings.ReplaceAll(got, "%s", "")); at != nil {
			t.Errorf("%s: holds %q", format.Name, got[max(0, at[0]-60):min(len(got), at[1]+20)])
		}
		wellFormed(t, format.Name, got)
	}
	all := Charts(res)
	if len(all) == 0 {
		t.Fatal("no charts")
	}
	for _, c := range all {
		if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || c.Name == "" {
			t.Errorf("file name %q", c.Name)
		}
	}
}

// TestAgreementOfOddTools: a tool is told from a column that is called like it.
func TestAgreementOfOddTools(t *testing.T) {
	var all []analysis.Agreement
	for i, tool := range []string{"a", "", "÷ engine", "engine"} {
		f := analysis.Figure{Kind: record.Kinds()[0], Summary: analysis.Summary{N: 1, Estimate: 1e9 * float64(1+i)}}
		all = append(all, analysis.Agreement{Kind: f.Kind, Reference: "engine", Tool: tool, Expected: f, Found: f})
	}
	sh := agreementTable(all, &notes{})
	if len(sh.Lines) != 1 || len(sh.Columns) != len(sh.Lines[0].Cells) {
		t.Fatalf("columns %q, lines %+v", sh.Columns, sh.Lines)
	}
	for i := range all {
		if got, want := sh.Lines[0].Cells[1+3*i].Value, fmt.Sprintf("%d.00", 1+i); got != want {
			t.Errorf("tool %q: %s, want %s", all[i].Tool, got, want)
		}
	}
}

// TestWideTable is of a sweep with more steps than anyone measures: it is cut in pieces as any
// other, and takes no longer for each.
func TestWideTable(t *testing.T) {
	const columns = 4000
	sh := table{Stub: []string{"network"}}
	line := tableLine{Names: []string{"host"}}
	for i := range columns {
		sh.Columns = append(sh.Columns, tableColumn{Title: strconv.Itoa(i)})
		line.Cells = append(line.Cells, cell{Value: strconv.Itoa(i) + ".5", Spread: "±1%"})
	}
	sh.Lines = []tableLine{line, line}
	p := &page{width: 80}
	p.table(sh)
	for l := range strings.Lines(p.b.String()) {
		if w := displayWidth(strings.TrimSuffix(l, "\n")); w > 80 {
			t.Fatalf("%d columns: %q", w, l)
		}
	}
	for _, i := range []int{0, 1, columns / 2, columns - 1} {
		if got := strings.Count(p.b.String(), " "+strconv.Itoa(i)+".5 "); got != 2 {
			t.Errorf("%d.5 stands there %d times", i, got)
		}
	}
}

// Six rounds are too few for any verdict among so many comparisons, though each of them differs by itself: no
// sentence of a sweep claims one, those about several clients included.
func TestSweepsClaimWhatVerdictsDo(t *testing.T) {
	res, o := matrixResult(t, "matrix", matrixCells())
	if res.Multiplicity.Different > 0 {
		t.Fatalf("%+v", res.Multiplicity)
	}
	text := strings.Join(strings.Fields(write(t, "text", res, o)), " ")
	for _, claim := range []string{" has 5", " has 6"} {
		if at := strings.Index(text, claim); at >= 0 {
			t.Errorf("claimed: %q", text[max(0, at-20):at+80])
		}
	}
	if want := "iptables may have 54–56% of native's throughput at 1, and may have 54–56% of native's throughput at 20 (not certain among 50 comparisons)."; !strings.Contains(text, want) {
		t.Errorf("text does not say %q", want)
	}
}
