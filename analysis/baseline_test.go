package analysis

import (
	"strings"
	"testing"

	"nettoll/record"
)

// comparedWith is the cell of a network in a run with a chosen baseline.
func comparedWith(network, baseline string) record.Cell {
	c := streamCell(network)
	c.Baseline = baseline
	return c
}

// TestChosenBaseline compares the networks of two platforms with one baseline, and
// not with the native of the lab, which was measured too.
func TestChosenBaseline(t *testing.T) {
	var trials []record.Trial
	for round := 1; round <= 8; round++ {
		for network, gbits := range map[string]float64{"docker:native": 20, "docker:bridge": 10, "bridge": 12, "host": 40} {
			v := gbits * 1e9 * (1 + 0.001*float64(round))
			trials = append(trials, throughputTrial(comparedWith(network, "docker:native"), round, v))
		}
	}
	res := Analyze(fileOf(trials...))
	if len(res.Scenarios) != 1 || res.Scenarios[0].Rows[0].Cell.Network != "docker:native" {
		t.Fatalf("scenarios are %+v", res.Scenarios)
	}
	for network, want := range map[string]float64{"docker:bridge": 0.5, "bridge": 0.6, "host": 2} {
		row := rowOf(t, res, network)
		if r := row.Figures[0].Ratio; row.Native || r == nil || r.Value < want-1e-9 || r.Value > want+1e-9 {
			t.Errorf("%s: native %t, ratio %+v, want %v", network, row.Native, r, want)
		}
	}
	if base := rowOf(t, res, "docker:native"); !base.Native || base.Figures[0].Ratio != nil {
		t.Errorf("the baseline is %+v", base)
	}
	for key, reached := range Precision(trials, settings95()) {
		if reached.N != 8 || !reached.Known {
			t.Errorf("%s is known to %+v", key, reached)
		}
	}
}

// TestDoubtsNameTheBaseline holds that no doubt speaks of native where that is not
// what was compared with.
func TestDoubtsNameTheBaseline(t *testing.T) {
	var trials []record.Trial
	for round := 1; round <= 12; round++ {
		base := throughputTrial(comparedWith("veth", "veth"), round, 10e9*(1+0.3*float64(round)))
		base.Endpoints = []record.Endpoint{{Role: "client", MTU: 1500}}
		bridge := throughputTrial(comparedWith("bridge", "veth"), round, 9e9)
		bridge.Endpoints = []record.Endpoint{{Role: "client", MTU: 1450}}
		trials = append(trials, bridge)
		if round > 1 {
			trials = append(trials, base)
		}
	}
	res := Analyze(fileOf(trials...))
	want := map[string][]string{
		"bridge": {WarnUnpaired, WarnDiffers},
		"veth":   {WarnDrift, WarnNoisy},
	}
	for network, expected := range want {
		row := rowOf(t, res, network)
		for _, code := range expected {
			w := warningOf(t, row.Warnings, code)
			if text := w.Text + w.Advice; !strings.Contains(text, "veth") || strings.Contains(text, "native") {
				t.Errorf("%s says %q, %q", code, w.Text, w.Advice)
			}
		}
	}
	alone := rowOf(t, Analyze(fileOf(trials[0])), "bridge")
	if w := warningOf(t, alone.Warnings, WarnNoNative); !strings.Contains(w.Text, "trial of veth") || !strings.Contains(w.Advice, "why veth was not") {
		t.Errorf("without a baseline: %q, %q", w.Text, w.Advice)
	}
}
