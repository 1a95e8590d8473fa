package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

// replay returns trials with a source's own figures: a number of rounds with normal noise of the relative deviation
// sd. Networks without a counterpart are left out; a figure relative to a baseline is scaled to a baseline of 1e9.
func replay(t testing.TB, source string, rounds int, sd float64) []record.Trial {
	src, ok := reference.ByName(source)
	if !ok {
		t.Fatalf("no source %s", source)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var out []record.Trial
	seen := map[string]int{}
	for round := 1; round <= rounds; round++ {
		add := func(table reference.Table, p reference.Published, network string, value float64) {
			c := cellOf(table, p, network)
			k := kindNamed(table.Metric)
			value *= 1 + sd*r.NormFloat64()
			key := fmt.Sprint(c.Key(), round)
			i, known := seen[key]
			if !known {
				i = len(out)
				seen[key] = i
				out = append(out, record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Status: record.OK, Window: 1, Started: began,
					Metrics: map[string]record.Metric{}, CPU: &record.CPUUse{}})
			}
			switch table.Metric {
			case reference.CPUClient:
				out[i].CPU.Client.System = value
			case reference.CPUServer:
				out[i].CPU.Server.System = value
			default:
				if _, given := out[i].Metrics[k.Name]; !given { // of a cell in two tables the first figure counts
					out[i].Metrics[k.Name] = record.Metric{Value: value, Unit: k.Unit}
				}
			}
		}
		for _, table := range src.Tables {
			if table.Unit == "percent of the machine" {
				continue
			}
			for _, p := range table.Cells {
				switch base, ok := inBaseUnit(table, p); {
				case ok && p.As != "" && base > 0:
					add(table, p, alternatives(p.As)[0], base)
				case table.Relative && p.As != "":
					add(table, p, alternatives(p.As)[0], (1+p.Value/100)*scaleOf(table))
					add(table, p, baselineAs(src, table, p.Label), scaleOf(table))
				}
			}
		}
	}
	return out
}

// inBaseUnit returns a published value in the base unit in which nettoll records its metric. There is
// none if the value is not given, or is in percent of something that differs from machine to machine.
func inBaseUnit(t reference.Table, p reference.Published) (value float64, ok bool) {
	times, known := map[string]float64{
		"Gbit/s": 1e9, "Mbit/s": 1e6, "GB/s": 8e9, "MB/s": 8e6, "us": 1e-6,
	}[t.Unit]
	return p.Value * times, known && p.Given()
}

func scaleOf(t reference.Table) float64 {
	if t.Metric == record.Throughput {
		return 1e9
	}
	return 0.2
}

func cellOf(t reference.Table, p reference.Published, network string) record.Cell {
	c := record.Cell{Network: network, Hosts: p.Hosts, Family: p.Family, Servers: p.Servers, Clients: p.Clients, Processes: p.Processes,
		Tool: t.Tool, Workload: t.Workload, Placement: record.PlacementDistinct, Underlay: p.Underlay}
	if c.Processes == 1 {
		c.Processes = 0
	}
	if t.Streams > 1 {
		c.Options.Streams = t.Streams
	}
	return c
}

func replicateOf(t testing.TB, source string, trials []record.Trial) Replication {
	t.Helper()
	src, ok := reference.ByName(source)
	if !ok {
		t.Fatalf("no source %s", source)
	}
	return replicate(Analyze(fileOf(trials...)), src)
}

func cellAt(t *testing.T, r Replication, table, network, label string) ReplicatedCell {
	t.Helper()
	for _, rt := range r.Tables {
		for _, c := range rt.Cells {
			if rt.Table.Name == table && c.Published.Network == network && c.Published.Label == label {
				return c
			}
		}
	}
	t.Fatalf("%s has no %s at %s", r.Source.Name, network, label)
	return ReplicatedCell{}
}

func conclusionOf(t *testing.T, r Replication, part string) CheckedConclusion {
	t.Helper()
	c, found := record.First(r.Conclusions, func(c CheckedConclusion) bool { return strings.Contains(c.Conclusion.Text, part) })
	if !found {
		t.Fatalf("%s has no conclusion on %q", r.Source.Name, part)
	}
	return c
}

const crowds = "one server, many clients"

// A source measured again on the same machine reproduces its figures.
func TestReplicateItself(t *testing.T) {
	for _, name := range reference.Names() {
		r := replicateOf(t, name, replay(t, name, 8, 0.0005))
		if r.Measured == 0 || r.Measured >= r.Cells && name == reference.ICC2014 {
			t.Errorf("%s: %d of %d cells are measured", name, r.Measured, r.Cells)
		}
		for _, rt := range r.Tables {
			if rt.Kind.Name != rt.Table.Metric {
				t.Errorf("%s: metric of %q is %+v", name, rt.Table.Name, rt.Kind)
			}
			for _, c := range rt.Cells {
				if rt.Table.Unit == "percent of the machine" || c.Ratio == nil {
					continue
				}
				if name == reference.ICC2014 && rt.Table.Baseline == "pipework" && c.Published.Processes == 1 {
					continue // other tables have these places too, with other figures
				}
				if d := c.Ratio.Value/c.PublishedRatio - 1; math.Abs(d) > 0.005 && (name != reference.HostBridge || c.Published.Hosts == 1) { // unless two share a network
					t.Errorf("%s, %s at %s: %v of the baseline, published %v", name, c.Published.Network, c.Published.Label, c.Ratio.Value, c.PublishedRatio)
				}
			}
			if rt.Order.Known && rt.Order.Tau < 0.75 && rt.Table.Unit != "percent of the machine" {
				t.Errorf("%s: order of %q is %+v", name, rt.Table.Name, rt.Order)
			}
		}
		for _, c := range r.Conclusions {
			if c.Measured == DoesNotHold && c.Published == Holds {
				t.Errorf("%s: %q does not hold on its own figures: %s", name, c.Conclusion.Text, c.Text())
			}
		}
	}
}

// What the published figures themselves show about the sources' conclusions.
func TestConclusionsOfTheSources(t *testing.T) {
	for _, tt := range []struct {
		source, part string
		want         Judgement
	}{
		{reference.ICC2014, "separate containers", Holds},
		{reference.ICC2014, "ovs is fastest", Holds},
		{reference.ICC2014, "link is ahead of pipework", Holds},
		{reference.Overlay2015, "about 5 %", Holds},
		{reference.Overlay2015, "mislead", NotMeasurable},
		{reference.Cloud2015, "VXLAN is the choice", Holds},
		{reference.Cloud2015, "synthetic", NotMeasurable},
		{reference.Cloud2015, "hardly matters", Holds},
		{reference.HostBridge, "15 %", Holds},
		{reference.HostBridge, "near the physical limit", Holds},
		{reference.HostBridge, "latency", Holds},
		{reference.SingleNode2017, "IPv6", Holds},
		{reference.SingleNode2017, "sharing a namespace", DoesNotHold},
	} {
		r := replicateOf(t, tt.source, nil)
		c := conclusionOf(t, r, tt.part)
		if c.Published != tt.want {
			t.Errorf("%s: %q is %v by its own figures, want %v", tt.source, tt.part, c.Published, tt.want)
		}
		if tt.want != NotMeasurable && c.Measured != CannotTell {
			t.Errorf("%s: %q is %v although nothing was measured", tt.source, tt.part, c.Measured)
		}
	}
}

func TestReplicateOutcomes(t *testing.T) {
	const separate = "separate containers"
	itself := replay(t, reference.ICC2014, 8, 0.001)
	swapped := slices.Clone(itself)
	for i := range swapped { // processes in place of containers
		if c := &swapped[i].Cell; c.Servers == 1 && (c.Clients == 1) != (c.Processes <= 1) {
			c.Clients, c.Processes = max(c.Processes, 1), c.Clients
			if c.Processes == 1 {
				c.Processes = 0
			}
		}
	}
	for _, tt := range []struct {
		name   string
		trials []record.Trial
		want   Judgement
		text   string
	}{
		{"itself", itself, Holds, "holds here: true in 6 of 6 comparisons"},
		{"the other way round", swapped, DoesNotHold, "does not hold here: true in 0 of 6 comparisons"},
		{"two rounds", replay(t, reference.ICC2014, 2, 0.001), CannotTell, "not known in 6"},
		{"noise", replay(t, reference.ICC2014, 8, 1e-9)[:0], CannotTell, "no place has measurements of both sides"},
	} {
		c := conclusionOf(t, replicateOf(t, reference.ICC2014, tt.trials), separate)
		if c.Measured != tt.want || !strings.Contains(c.Text(), tt.text) {
			t.Errorf("%s: %v, %q; want %v, %q", tt.name, c.Measured, c.Text(), tt.want, tt.text)
		}
		if (len(c.Evidence) > 0) != (len(tt.trials) > 0) {
			t.Errorf("%s: evidence is %q", tt.name, c.Evidence)
		}
	}
	r := replicateOf(t, reference.ICC2014, itself)
	if c := conclusionOf(t, r, "ovs is fastest"); c.Measured != Holds {
		t.Errorf("%v: %q", c.Measured, c.Text())
	}
	r = replicateOf(t, reference.ICC2014, slices.DeleteFunc(slices.Clone(itself), func(t record.Trial) bool { return t.Cell.Network == "ovs" }))
	if c := conclusionOf(t, r, "ovs is fastest"); c.Measured != CannotTell || !strings.Contains(c.Text(), "ovs or ovs-userspace-tso is not part of this run") {
		t.Errorf("a conclusion on what was not measured is %v: %q", c.Measured, c.Text())
	}
	mode := replicateOf(t, reference.HostBridge, replay(t, reference.HostBridge, 8, 0.001))
	if c := conclusionOf(t, mode, "15 %"); c.Measured != Holds {
		t.Errorf("%v: %q", c.Measured, c.Text())
	}
	if c := cellAt(t, mode, "bandwidth", "host", "two hosts"); c.Ratio != nil || !slices.Equal(c.Notes, []string{"here the same network as physical"}) {
		t.Errorf("one network taken for two has a ratio %+v, notes %q", c.Ratio, c.Notes)
	}
}

// TestReplicateNotesConditions checks that every condition that the source does not have is told.
func TestReplicateNotesConditions(t *testing.T) {
	trials := replay(t, reference.ICC2014, 3, 0.001)
	for i := range trials {
		c := &trials[i].Cell
		c.MTU, c.Rules, c.Offload, c.Normalize, c.Underlay = 9000, 30, record.OffloadOff, true, "rate=1gbit"
	}
	got := cellAt(t, replicateOf(t, reference.ICC2014, trials), crowds, "pipework", "1").Notes
	for _, want := range []string{"MTU 9000", "30 further firewall rules", "offload off", "endpoints made alike", "measured over the underlay rate=1gbit"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	src := cloud("bridge")
	src.Tables[0].Metric, src.Tables[0].Streams = record.Throughput, 4
	got = cellAt(t, replicate(Analyze(fileOf(pairedTrials(1, 3, 0.9, 0.01)...)), src), "load", "weave-pcap", "1").Notes
	if want := "streams of each client: 1, in the source 4"; !slices.Contains(got, want) {
		t.Errorf("%q is not in %q", want, got)
	}
}

// TestReplicateOtherTraffic: what is offered at a rate does not stand for the most that a network carries, and other sizes are told.
func TestReplicateOtherTraffic(t *testing.T) {
	trials := replay(t, reference.ICC2014, 3, 0.001)
	for i := range trials {
		trials[i].Cell.Options.MessageSize = 64 << 10
	}
	if got := cellAt(t, replicateOf(t, reference.ICC2014, trials), crowds, "pipework", "1"); got.Measured == nil || !slices.Contains(got.Notes, "message size 65536") {
		t.Errorf("%+v", got.Notes)
	}
	for i := range trials {
		trials[i].Cell.Options.Bandwidth = 1e9
	}
	if got := cellAt(t, replicateOf(t, reference.ICC2014, trials), crowds, "pipework", "1"); got.Measured != nil {
		t.Errorf("1 Gbit/s stand for a maximum: %+v", got)
	}
}

func TestReplicateSkips(t *testing.T) {
	trials := replay(t, reference.ICC2014, 3, 0.001)
	var kept []record.Trial
	for _, tr := range trials {
		c := tr.Cell
		switch {
		case c.Network == "pipework-veth" && c.Clients == 20 && c.Servers == 1:
			kept = append(kept, lostTrial(c, tr.Round, record.Skipped, "no room"))
		case c.Network == "pipework-veth" && c.Clients == 16 && c.Servers == 1, c.Clients == 8, c.Network == "ovs":
		default:
			kept = append(kept, tr)
		}
	}
	r := replicateOf(t, reference.ICC2014, kept)
	for _, tt := range []struct{ network, label, want string }{
		{"ovs", "1", "ovs or ovs-userspace-tso is not part of this run"},
		{"pipework", "20", "skipped: no room"},
		{"iptables", "8", "not part of this run"},
		{"pipework", "1", ""},
	} {
		c := cellAt(t, r, crowds, tt.network, tt.label)
		if c.Skipped != tt.want || (c.Measured == nil) != (tt.want != "") {
			t.Errorf("%s at %s is skipped for %q, want %q", tt.network, tt.label, c.Skipped, tt.want)
		}
	}
	if c := cellAt(t, r, crowds, "pipework", "20"); c.Cell.Network != "pipework-veth" {
		t.Errorf("the skipped cell is %+v", c.Cell)
	}
	f := fileOf(kept...)
	f.Run.Skips = []record.Skip{{Network: "ovs", Reason: "not built in"}}
	src, _ := reference.ByName(reference.ICC2014)
	told := cellAt(t, replicate(Analyze(f), src), crowds, "ovs", "1")
	if told.Skipped != "ovs or ovs-userspace-tso is not part of this run: not built in" {
		t.Errorf("what the suite leaves out is skipped for %q", told.Skipped)
	}
	none := cellAt(t, replicate(Analyze(f), cloud("")), "load", "weave-pcap", "1")
	if none.Skipped != "nettoll has no counterpart of weave-pcap" {
		t.Errorf("what nettoll does not have is skipped for %q", none.Skipped)
	}
	twins := cellAt(t, replicate(Analyze(twinFile(1, 2, 1)), cloud("bridge")), "load", "weave-pcap", "1")
	if twins.Skipped != "bridge is not part of this run" {
		t.Errorf("a self-check, which measures no network, is skipped for %q", twins.Skipped)
	}
	missing := replicateOf(t, reference.SingleNode2017, replay(t, reference.SingleNode2017, 2, 0.01))
	c := cellAt(t, missing, "throughput", "bridge", "ipv4 without iptables")
	if c.Skipped != "bridge-nonf is not part of this run" || c.Published.Given() {
		t.Errorf("a text instead of a figure is %+v", c)
	}
}

// If there are several scenarios, the one most like the source stands for it.
func TestReplicateChooses(t *testing.T) {
	var trials []record.Trial
	add := func(value float64, change func(*record.Cell)) {
		for _, network := range []string{"iptables", "pipework-veth"} {
			c := streamCell(network)
			c.Tool = "iperf"
			change(&c)
			trials = append(trials, throughputTrial(c, 1, value))
		}
	}
	add(1e9, func(c *record.Cell) { c.Tool = "engine" })
	add(2e9, func(c *record.Cell) { c.Rules = 100 })
	add(4e9, func(c *record.Cell) { c.Options.Streams = 4 })
	add(3e9, func(c *record.Cell) {})
	add(5e9, func(c *record.Cell) { c.Tool = "netperf" })
	c := cellAt(t, replicateOf(t, reference.ICC2014, trials), crowds, "pipework", "1")
	if c.Measured == nil || c.Measured.Summary.Median != 3e9 || len(c.Notes) > 0 {
		t.Errorf("chosen is %+v, notes %q", c.Cell, c.Notes)
	}
	lone := []record.Trial{trials[6], trials[0], trials[1]} // iperf has only one of the two networks
	for range 2 {
		if c = cellAt(t, replicateOf(t, reference.ICC2014, lone), crowds, "iptables", "1"); c.Cell.Tool != "engine" {
			t.Errorf("chosen is %+v, where less can be compared", c.Cell)
		}
		slices.Reverse(lone) // whichever was planned first
	}
	for i := range lone {
		lone[i].Cell.Options.Reverse = true
	}
	if c = cellAt(t, replicateOf(t, reference.ICC2014, lone), crowds, "iptables", "1"); c.Measured != nil {
		t.Errorf("traffic the other way stands for %+v", c.Published)
	}
	c = cellAt(t, replicateOf(t, reference.ICC2014, trials[:2]), crowds, "pipework", "1")
	if c.Measured == nil || !slices.Equal(c.Notes, []string{"measured by engine, the source by iperf"}) {
		t.Errorf("notes are %q", c.Notes)
	}
}

// A throughput per client that no trial has is the total over the number
// of clients, and a network of a real platform stands in for the lab's.
func TestReplicateDerives(t *testing.T) {
	c := streamCell("docker:iptables")
	c.Clients, c.Tool = 4, "iperf"
	got := cellAt(t, replicateOf(t, reference.ICC2014, []record.Trial{throughputTrial(c, 1, 8e9)}), crowds, "iptables", "4")
	if got.Measured == nil || got.Measured.Summary.Median != 2e9 || got.Measured.Kind.Name != record.ThroughputPerClient {
		t.Fatalf("measured is %+v", got.Measured)
	}
	if !slices.Equal(got.Notes, []string{"measured over docker:iptables"}) {
		t.Errorf("notes are %q", got.Notes)
	}
}

// An instance must be that instance; a place need not be named.
func TestReplicateUnderlays(t *testing.T) {
	measure := func(source, underlay string) Replication {
		trials := replay(t, source, 2, 0.001)
		for i := range trials {
			trials[i].Cell.Underlay = underlay
		}
		return replicateOf(t, source, trials)
	}
	cloud := measure(reference.Cloud2015, "")
	if cloud.Measured != 0 {
		t.Errorf("%d cells of instances were measured on none", cloud.Measured)
	}
	cloud = measure(reference.Cloud2015, "m4.10xlarge:rate=10gbit")
	if c := cellAt(t, cloud, "iperf3 throughput relative to native", "calico", "m4.10xlarge"); c.Measured == nil || len(c.Notes) > 0 {
		t.Errorf("the instance is %+v", c)
	}
	if c := cellAt(t, cloud, "iperf3 throughput relative to native", "calico", "m4.large"); c.Skipped != "not part of this run" {
		t.Errorf("another instance is %+v", c)
	}
	both := append(replay(t, reference.Overlay2015, 2, 0.001), replay(t, reference.Overlay2015, 2, 0.001)...)
	for i := range both {
		both[i].Cell.Underlay = map[bool]string{true: "rate=1gbit", false: ""}[i < len(both)/2]
	}
	overlay := replicateOf(t, reference.Overlay2015, both)
	for label, underlay := range map[string]string{"virtualbox": "", "digitalocean": "rate=1gbit"} {
		if c := cellAt(t, overlay, "throughput", "overlay", label); c.Cell.Underlay != underlay {
			t.Errorf("%s is measured over %q, want %q", label, c.Cell.Underlay, underlay)
		}
	}
	// The source's link is known: one without a limit shows nothing about it.
	if c := cellAt(t, measure(reference.Overlay2015, ""), "throughput", "overlay", "digitalocean"); c.Skipped != "not part of this run" {
		t.Errorf("over a link without a limit: %+v", c)
	}
	for underlay, note := range map[string]int{"rate=1gbit": 1, "digitalocean:rate=1gbit": 0} {
		c := cellAt(t, measure(reference.Overlay2015, underlay), "throughput", "overlay", "digitalocean")
		if c.Measured == nil || len(c.Notes) != note {
			t.Errorf("underlay %q: %+v, notes %q", underlay, c.Measured, c.Notes)
		}
	}
}

func TestReplicateIsFinite(t *testing.T) {
	for _, name := range reference.Names() {
		for _, rounds := range []int{1, 2, 7} {
			trials := replay(t, name, rounds, 0.5)
			for i := range trials { // including zeros
				for k, m := range trials[i].Metrics {
					if i%3 == 0 || m.Value < 0 {
						m.Value = 0
						trials[i].Metrics[k] = m
					}
				}
			}
			finite(t, name, reflect.ValueOf(replicateOf(t, name, trials)))
		}
	}
}

// cellsOf returns one group of published and measured values.
func cellsOf(group string, published, measured []float64) []ReplicatedCell {
	var out []ReplicatedCell
	for i, p := range published {
		c := ReplicatedCell{Published: reference.Published{Network: string(rune('a' + i)), Place: reference.Place{Label: group}, Value: p},
			Measured: &Figure{Summary: Summary{Estimate: measured[i]}}}
		c.Cell.Network, c.Cell.Underlay = c.Published.Network, group
		out = append(out, c)
	}
	return out
}

// The values of tau-b are worked out by hand: (C − D) / √((n − ties)(n − ties)).
func TestCorrelate(t *testing.T) {
	label := func(c ReplicatedCell) string { return c.Published.Label }
	for _, tt := range []struct {
		name                string
		published, measured []float64
		want                float64
		n                   int
		known               bool
	}{
		{"alike", []float64{1, 2, 3, 4}, []float64{10, 20, 30, 35}, 1, 6, true},
		{"reversed", []float64{1, 2, 3}, []float64{3, 2, 1}, -1, 3, true},
		{"one pair swapped", []float64{1, 2, 3, 4}, []float64{1, 2, 4, 3}, 4.0 / 6, 6, true},
		{"a tie in one", []float64{1, 2, 2}, []float64{1, 2, 3}, 2 / math.Sqrt(2*3), 3, true},
		{"a tie in both", []float64{1, 2, 2}, []float64{1, 3, 3}, 1, 3, true},
		{"nothing but ties", []float64{2, 2, 2}, []float64{1, 2, 3}, 0, 3, false},
		{"one value", []float64{2}, []float64{1}, 0, 0, false},
	} {
		c := correlate(cellsOf("x", tt.published, tt.measured), false, label)
		if math.Abs(c.Tau-tt.want) > 1e-12 || c.N != tt.n || c.Known != tt.known {
			t.Errorf("%s: %+v, want tau %v of %d", tt.name, c, tt.want, tt.n)
		}
	}
}

// Pairs across groups would show an order where there is none.
func TestCorrelateWithinGroups(t *testing.T) {
	label := func(c ReplicatedCell) string { return c.Published.Label }
	cells := append(cellsOf("few", []float64{10, 11}, []float64{101, 100}), cellsOf("many", []float64{1, 2}, []float64{12, 11})...)
	if c := correlate(cells, false, label); c.Tau != -1 || c.N != 2 || c.Groups != 2 {
		t.Errorf("order is %+v, want −1 of 2 pairs in 2 groups", c)
	}
	if c := correlate(cells, false, func(c ReplicatedCell) string { return c.Published.Network }); c.Tau != 1 || c.N != 2 {
		t.Errorf("shape is %+v, want 1 of 2 pairs", c)
	}
	cells[0].Measured = nil
	cells[2].Published.Missing = "printed as text"
	if c := correlate(cells, false, label); c.N != 0 || c.Known {
		t.Errorf("pairs without figures give %+v", c)
	}
	same := cellsOf("x", []float64{1, 2}, []float64{5, 5})
	same[1].Cell = same[0].Cell
	if c := correlate(same, false, label); c.N != 0 {
		t.Errorf("one network taken for two gives %+v", c)
	}
	if c := correlate(cellsOf("x", []float64{1, 2}, []float64{5, 6}), true, label); c.N != 0 {
		t.Errorf("relative figures without a baseline give %+v", c)
	}
}
