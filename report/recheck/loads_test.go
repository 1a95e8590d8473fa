package recheck

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

var (
	againstLoad = regexp.MustCompile(`<figcaption>(Latency p\d+) against load, (\S+) [^§]*?aria-label="([^"]*)"`)
	overLoad    = regexp.MustCompile(`(\S+?):? ([\d.]+)(?: \([^)]*\))? at ([\d.]+)(?: \([^)]*\))?`)
)

// TestLoads holds charts of latency against load to the run file: every point stands over what was achieved, not over
// what was asked for.
func TestLoads(t *testing.T) {
	want := readRun(t, "../testdata/loads.ndjson").figures()
	found := againstLoad.FindAllStringSubmatch(read(t, "loads.html"), -1)
	if len(found) != 2 {
		t.Fatalf("%d charts against load", len(found))
	}
	metrics := map[string]string{"Latency p50": "latency_p50", "Latency p99": "latency_p99"}
	units := map[string]float64{"µs": 1e-6, "ms": 1e-3}
	for _, chart := range found {
		points := 0
		for _, sentence := range strings.Split(html.UnescapeString(chart[3]), ". ")[1:] {
			network, _, _ := strings.Cut(sentence, ":")
			for _, m := range overLoad.FindAllStringSubmatch(sentence, -1) {
				latency, _ := fitting(m[2])
				load, _ := fitting(m[3])
				holds := false
				for c, figures := range want {
					f, did := figures[metrics[chart[1]]], figures["transaction_rate"]
					holds = holds || c.Network == network && latency(f.estimate/units[chart[2]]) && load(did.estimate/1e3)
				}
				if !holds {
					t.Errorf("%s: %s has no %q", chart[1], network, m[0])
				}
				points++
			}
		}
		if points != len(want) {
			t.Errorf("%s: %d points, want %d", chart[1], points, len(want))
		}
	}
}
