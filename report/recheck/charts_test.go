package recheck

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	againstLoad = regexp.MustCompile(`<figcaption>(Latency p\d+) against load, (\S+) [^§]*?aria-label="([^"]*)"`)
	overLoad    = regexp.MustCompile(`(\S+?):? ([\d.]+)(?: \([^)]*\))? at ([\d.]+)(?: \([^)]*\))?`)
)

// TestLoads compares charts of latency against load with the run file: every point is at the
// achieved load, not at the offered one.
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

var (
	overRounds = regexp.MustCompile(`data-file="([^"]*)"[^<]*>\s*<figcaption>(\S[^<]*) round by round [^§]*?aria-label="[^"]*: ([^"]*)"`)
	wentOver   = regexp.MustCompile(`^(\S+) ([+−]?[\d.]+)…([+−]?[\d.]+)% in (\S+) rounds?$`)
)

// TestRounds compares the charts over rounds with the trials of the run files: the number of
// rounds of each network, and its least and greatest value relative to its estimate.
func TestRounds(t *testing.T) {
	words := map[string]float64{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
	metrics := map[string]string{"Throughput": "throughput", "Latency p50": "latency_p50", "Packets": "packet_rate"}
	for name, charts := range map[string]int{"specimen": 4, "noisy": 4, "short": 0, "many": 2} {
		r := readRun(t, "../testdata/"+name+".ndjson")
		want := r.figures()
		found := overRounds.FindAllStringSubmatch(read(t, name+".html"), -1)
		if len(found) != charts {
			t.Errorf("%s: %d charts over rounds, want %d", name, len(found), charts)
		}
		for _, chart := range found {
			hosts := 1
			if strings.HasPrefix(chart[1], "two-hosts") {
				hosts = 2
			}
			for _, part := range strings.Split(html.UnescapeString(chart[3]), ", ") {
				m := wentOver.FindStringSubmatch(part)
				if m == nil {
					t.Errorf("%s: %q says nothing of a network", name, part)
					continue
				}
				rounds, counted := words[m[4]]
				if !counted {
					rounds, _ = strconv.ParseFloat(m[4], 64)
				}
				holds, near := false, ""
				for c, figures := range want {
					f := figures[metrics[chart[2]]]
					if c.Network != m[1] || c.Hosts != hosts || f == nil {
						continue
					}
					low, high := 100*(f.min/f.estimate-1), 100*(f.max/f.estimate-1)
					near += fmt.Sprintf(" %.3f to %.3f in %d;", low, high, f.n)
					holds = holds || asWritten(m[2], low) && asWritten(m[3], high) && float64(f.n) == rounds
				}
				if !holds {
					t.Errorf("%s: %q in %s of %s, computed anew:%s", name, part, chart[2], chart[1], near)
				}
			}
		}
	}
}

// asWritten reports whether a text gives a number, including its sign.
func asWritten(text string, v float64) bool {
	fits, written := fitting(text)
	return fits(v) && (written == 0 || strings.HasPrefix(text, "−") == math.Signbit(v))
}
