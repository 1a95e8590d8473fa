package analysis

import (
	"slices"
	"strings"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

// byTools returns rounds of a bridge measured by the engine and by
// iperf3, whose figure is ratio times the engine's.
func byTools(rounds int, ratio float64, change func(*record.Trial)) []record.Trial {
	var out []record.Trial
	for i := 1; i <= rounds; i++ {
		for _, tool := range []string{"iperf3", "engine"} {
			c := streamCell("bridge")
			c.Tool, c.Options.MessageSize = tool, 1<<17
			t := throughputTrial(c, i, 10e9*(1+0.001*float64(i%3)))
			t.CPU = &record.CPUUse{Client: record.ProcessCPU{System: 0.5, CPUs: []int{0}}, Server: record.ProcessCPU{System: 0.6, CPUs: []int{1}}}
			t.Flows = []record.Flow{{TCP: &record.TCPInfo{SndMSS: 1448, Congestion: "bbr"}, Message: 1 << 17}}
			t.Metrics[record.Retransmits] = record.Metric{Value: 2, Unit: "segments"}
			if tool == "iperf3" {
				scale(&t, record.Throughput, ratio*(1+0.0005*float64(i%2)))
				change(&t)
			}
			out = append(out, t)
		}
	}
	return out
}

func TestAgreements(t *testing.T) {
	same := func(*record.Trial) {}
	for _, tt := range []struct {
		name   string
		rounds int
		ratio  float64
		change func(*record.Trial)
		want   Outcome
		code   string // of a reason
		says   string
	}{
		{"equal", 8, 1, same, Same, "", ""},
		{"a little less, surely", 8, 0.99, same, Same, "", ""},
		{"no difference was found, and that is no agreement", 8, 1, func(t *record.Trial) {
			scale(t, record.Throughput, 1+0.2*float64(t.Round%2*2-1))
		}, NotKnown, "", ""},
		{"too few rounds", 3, 0.5, same, Untested, "", ""},
		{"other CPU", 8, 0.8, func(t *record.Trial) { t.CPU.Client.CPUs = []int{1} }, Different, ReasonPlacement, "clients of iperf3 ran on CPU 1, those of engine on CPU 0"},
		{"unpinned", 8, 0.8, func(t *record.Trial) { t.CPU.Server.CPUs = nil }, Different, ReasonPlacement, "servers of iperf3 ran on any CPU, those of engine on CPU 1"},
		{"congestion", 8, 1.2, func(t *record.Trial) { t.Flows[0].TCP.Congestion = "cubic" }, Different, ReasonCongestion, "cubic against bbr, iperf3 against engine"},
		{"mss", 8, 1.2, func(t *record.Trial) { t.Flows[0].TCP.SndMSS = 536 }, Different, ReasonMSS, "MSS 536 against 1448"},
		{"message size", 8, 1.2, func(t *record.Trial) { t.Flows[0].Message = 16384 }, Different, ReasonMessage, "message size 16384 against 131072, iperf3 against engine"},
		{"retransmits", 8, 1.2, func(t *record.Trial) {
			t.Metrics[record.Retransmits] = record.Metric{Value: float64(1230 + t.Round), Unit: "segments"}
		}, Different, ReasonRetransmit, "iperf3 retransmits 1234.5 segments per trial, engine 2.0 segments per trial"},
		{"retransmits that may be those of the warm-up", 8, 1.2, func(t *record.Trial) {
			t.Metrics[record.Retransmits] = record.Metric{Value: 0, Unit: "segments"}
		}, Different, ReasonUnknown, "nothing in the record"},
		{"flows", 8, 1.2, func(t *record.Trial) { t.Flows = append(t.Flows, t.Flows[0]) }, Different, ReasonFlows, "iperf3 had 2 connections, engine had 1"},
		{"window", 8, 1.2, func(t *record.Trial) { t.Window = 2; t.CPU.Client.System *= 2; t.CPU.Server.System *= 2 }, Different, ReasonWindow, "iperf3 is 2 s, that of engine 1 s"},
		{"retransmits of another window", 8, 1.2, func(t *record.Trial) {
			t.Window = 2
			t.CPU.Client.System *= 2
			t.CPU.Server.System *= 2
			t.Metrics[record.Retransmits] = record.Metric{Value: float64(1230 + t.Round), Unit: "segments"}
		}, Different, ReasonWindow, "iperf3 is 2 s, that of engine 1 s"},
		{"cpu", 8, 1.2, func(t *record.Trial) { t.CPU.Server.System = 0.9 }, Different, ReasonCPU, "servers of iperf3 used 0.90 CPUs, those of engine 0.60 CPUs"},
		{"warned", 8, 1.2, func(t *record.Trial) {
			t.Warnings = []record.Warning{{Code: "sender-side", Text: "counted by the sender"}}
		}, Different, ReasonWarned, "iperf3: counted by the sender"},
		{"what a cell's repeats say", 8, 1.2, func(t *record.Trial) {
			t.Metrics["wobble"] = record.Metric{Value: 1, Unit: "s"}
		}, Different, ReasonUnknown, "nothing in the record"},
		{"defaults", 8, 1.2, func(t *record.Trial) { t.Cell.Options.MessageSize = 0 }, Different, "", ""},
		{"one moves nothing", 8, 0, same, Different, "", ""},
		{"no idea", 8, 1.2, same, Different, ReasonUnknown, "nothing in the record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trials := byTools(tt.rounds, tt.ratio, tt.change)
			if tt.name == "defaults" { // for both tools, or they would be two cells
				for i := range trials {
					trials[i].Cell.Options.MessageSize, trials[i].Flows[0].Message = 0, 0
				}
				tt.code, tt.says = ReasonDefaults, "message size"
			}
			got := agreements(Analyze(fileOf(trials...)))
			if len(got) != 1 {
				t.Fatalf("%d agreements, want 1", len(got))
			}
			a := got[0]
			if a.Reference != "engine" || a.Tool != "iperf3" || a.Kind.Name != record.Throughput || a.Cell.Tool != "" || a.Outcome != tt.want {
				t.Errorf("%s and %s %v, want %v: %+v", a.Reference, a.Tool, a.Outcome, tt.want, a.Ratio)
			}
			if (len(a.Reasons) > 0) != (tt.want == Different) {
				t.Errorf("reasons are %+v", a.Reasons)
			}
			if tt.code != "" {
				if len(a.Reasons) != 1 {
					t.Errorf("reasons are %+v, want one", a.Reasons)
				}
				if w := warningOf(t, a.Reasons, tt.code); !strings.Contains(w.Text, tt.says) || w.Advice == "" && tt.code != ReasonWarned {
					t.Errorf("reason %+v does not say %q", w, tt.says)
				}
			}
		})
	}
}

// Warnings about the repeats of one cell taken together explain nothing
// between tools; warnings about a tool's windows may.
func TestReasonsOfWarnings(t *testing.T) {
	other := Row{Cell: streamCell("bridge")}
	for code, want := range map[string]int{WarnAlike: 0, WarnNoisy: 0, WarnUncovered: 1, WarnUnstationary: 1} {
		if got := warned(Row{Cell: other.Cell, Warnings: []Warning{{Code: code, Text: "so"}}}, other); len(got) != want {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

// TestFlowsOfOneClient has a tool that does not distinguish the connections of a client.
func TestFlowsOfOneClient(t *testing.T) {
	of := func(tool string, flows int) Row {
		c := streamCell("bridge")
		c.Tool, c.Options.Streams, c.Options.MessageSize = tool, 4, 1<<17
		return Row{Cell: c, Flows: make([]record.Flow, flows)}
	}
	for flows, want := range map[int]bool{1: false, 8: true} {
		base, row := of("engine", 4), of("wrk", flows)
		got := slices.ContainsFunc(reasons(base.Cell, base, row, judgingOf(settings95())), func(w Warning) bool { return w.Code == ReasonFlows })
		if got != want {
			t.Errorf("%d flows against 4: a reason %v, want %v", flows, got, want)
		}
	}
}

// Reasons give the same estimates of CPU use as tables and charts.
func TestReasonsTellEstimates(t *testing.T) {
	of := func(tool string, estimate float64) Row {
		c := streamCell("bridge")
		c.Tool, c.Options.MessageSize = tool, 1<<17
		return Row{Cell: c, CPU: []Figure{{Kind: record.Kind{Name: reference.CPUClient}, Summary: Summary{Median: 1, Estimate: estimate}}}}
	}
	base, row := of("engine", 0.5), of("iperf3", 0.8)
	w := warningOf(t, reasons(base.Cell, base, row, judgingOf(settings95())), ReasonCPU)
	if want := "clients of iperf3 used 0.80 CPUs, those of engine 0.50 CPUs"; w.Text != want {
		t.Errorf("%q, want %q", w.Text, want)
	}
}

// Only metrics that both tools have are compared, and only cells of two tools.
func TestAgreementsOfWhatIsCommon(t *testing.T) {
	trials := byTools(6, 1, func(t *record.Trial) {
		t.Metrics[record.LatencyMean] = record.Metric{Value: 1e-5, Unit: "s"}
	})
	trials = append(trials, pairedTrials(1, 6, 0.9, 0.01)...)
	for _, n := range []string{"netperf", "qperf"} {
		c := streamCell("bridge")
		c.Tool, c.Options.MessageSize = n, 1<<17
		trials = append(trials, throughputTrial(c, 1, 9e9))
	}
	got := agreements(Analyze(fileOf(trials...)))
	tools := record.Each(got, func(a Agreement) string { return a.Tool + " " + a.Kind.Name })
	if !slices.Equal(tools, []string{"iperf3 throughput", "netperf throughput", "qperf throughput"}) {
		t.Errorf("compared are %q", tools)
	}
	for _, a := range got[1:] {
		if a.Outcome != Untested || a.Ratio == nil {
			t.Errorf("one round of %s tells %v of %+v", a.Tool, a.Outcome, a.Ratio)
		}
	}
}
