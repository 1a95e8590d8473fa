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
	overRounds = regexp.MustCompile(`data-file="([^"]*)"[^<]*>\s*<figcaption>(\S[^<]*) round by round [^§]*?aria-label="[^"]*: ([^"]*)"`)
	wentOver   = regexp.MustCompile(`^(\S+) ([+−]?[\d.]+)…([+−]?[\d.]+)% in (\S+) rounds?$`)
)

// TestRounds holds the charts over rounds to what the trials of the run files had: how many rounds a network has, and
// the least and the most of it beside its estimate.
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

// asWritten reports whether a number is what a text says, sign included.
func asWritten(text string, v float64) bool {
	fits, written := fitting(text)
	return fits(v) && (written == 0 || strings.HasPrefix(text, "−") == math.Signbit(v))
}
