// Package recheck recomputes reports from their run files, with independent code: it imports only the
// standard library (arch_test.go checks that), and computes by definition, over all sign patterns and
// all pairs of values, where package analysis uses efficient algorithms.
package recheck

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// The relevant parts of a run file.
type (
	object = map[string]any
	cell   struct {
		Network, Tool, Workload, Placement, Underlay, Baseline string
		Hosts, Family, Servers, Clients                        int
		Options                                                struct {
			Streams     int
			MessageSize int `json:"message_size"`
			Request     int `json:"request_size"`
			Response    int `json:"response_size"`
			Rate        int
		}
	}
	metric struct {
		Value float64
		Unit  string
	}
	process struct {
		User   float64 `json:"user_s"`
		System float64 `json:"system_s"`
	}
	line struct {
		Type    string
		Cell    cell
		Round   int
		Status  string
		Window  float64 `json:"window_s"`
		Elapsed float64 `json:"elapsed_s"`
		Metrics map[string]metric
		CPU     *struct{ Client, Server process }

		Cells    []cell
		Settings *settings
		Price    float64 `json:"price_usd_h"`
	}
	settings struct {
		Confidence, Precision float64
		Within                float64 `json:"equal_within"`
	}
)

// run is a run file, recomputed.
type run struct {
	settings
	price   float64
	elapsed float64
	cells   []cell
	values  map[cell]map[string]map[int]float64 // by metric and round
}

// readRun reads a run file. The golden run files have no repeated trials of a cell in a round.
func readRun(t *testing.T, path string) run {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := run{values: map[cell]map[string]map[int]float64{}}
	open := 0.0 // seconds of trials of the process that has not ended
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		switch l.Type {
		case "run":
			r.settings, r.cells, r.price = *l.Settings, l.Cells, l.Price
		case "resume":
			if l.Settings != nil {
				r.settings = *l.Settings
			}
			r.elapsed, open = r.elapsed+open, 0
		case "end":
			r.elapsed, open = r.elapsed+l.Elapsed, 0
		case "trial":
			open += l.Elapsed
			if l.Status != "ok" {
				continue
			}
			add := func(name string, v float64) {
				if r.values[l.Cell] == nil {
					r.values[l.Cell] = map[string]map[int]float64{}
				}
				if r.values[l.Cell][name] == nil {
					r.values[l.Cell][name] = map[int]float64{}
				}
				r.values[l.Cell][name][l.Round] = v
			}
			for name, m := range l.Metrics {
				add(name, m.Value)
			}
			if l.CPU == nil {
				continue
			}
			moved, has := l.Metrics["transaction_rate"].Value, l.Metrics["transaction_rate"].Value > 0
			unit := "_per_transaction"
			if !has {
				moved, unit = l.Metrics["throughput"].Value/8e9, "_per_gb"
			}
			for role, p := range map[string]process{"client": l.CPU.Client, "server": l.CPU.Server} {
				if used := (p.User + p.System) / l.Window; used > 0 {
					add("cpu_"+role, used)
					add("cpu_"+role+unit, used/moved)
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	r.elapsed += open
	return r
}

// native returns the cell that another is compared with.
func (c cell) native() cell {
	c.Network = map[bool]string{true: "host", false: "native"}[c.Hosts == 1]
	if c.Baseline != "" {
		c.Network = c.Baseline
	}
	return c
}

// walsh returns all means of two values, including each with itself, in order.
func walsh(x []float64) []float64 {
	var all []float64
	for i := range x {
		for j := i; j < len(x); j++ {
			all = append(all, (x[i]+x[j])/2)
		}
	}
	slices.Sort(all)
	return all
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// signPatterns returns the sums of the positive ranks over all 2ⁿ assignments of signs.
func signPatterns(ranks []float64) []float64 {
	sums := []float64{0}
	for _, r := range ranks {
		for _, s := range slices.Clone(sums) {
			sums = append(sums, s+r)
		}
	}
	return sums
}

// extreme is twice the share of patterns whose sum is at most at.
func extreme(sums []float64, at float64) float64 {
	n := 0
	for _, s := range sums {
		if s <= at+1e-9 {
			n++
		}
	}
	return math.Min(1, 2*float64(n)/float64(len(sums)))
}

func upTo(n int) []float64 {
	var r []float64
	for i := 1; i <= n; i++ {
		r = append(r, float64(i))
	}
	return r
}

// interval of the centre of x: the centres that the signed-rank test does not reject.
func interval(x []float64, confidence float64) (low, high, level float64, ok bool) {
	all, sums := walsh(x), signPatterns(upTo(len(x)))
	k := 0
	for extreme(sums, float64(k)) < 1-confidence {
		k++
	}
	if k == 0 {
		return 0, 0, 0, false
	}
	return all[k-1], all[len(all)-k], 1 - extreme(sums, float64(k-1)), true
}

// signedRank is the p-value of the test that the centre of d is 0.
func signedRank(d []float64) float64 {
	var sizes []float64
	for _, v := range d {
		if v != 0 {
			sizes = append(sizes, math.Abs(v))
		}
	}
	slices.Sort(sizes)
	rank := func(v float64) float64 { // ties share the mean of their ranks
		sum, n := 0.0, 0
		for i, s := range sizes {
			if s == math.Abs(v) {
				sum, n = sum+float64(i+1), n+1
			}
		}
		return sum / float64(n)
	}
	var ranks []float64
	up, down := 0.0, 0.0
	for _, v := range d {
		if v != 0 {
			ranks = append(ranks, rank(v))
		}
		if v > 0 {
			up += rank(v)
		} else if v < 0 {
			down += rank(v)
		}
	}
	p := extreme(signPatterns(ranks), math.Min(up, down))
	// With zeros and ties the test must not claim more than the interval.
	notAbove, notBelow := 0.0, 0.0
	for _, w := range walsh(d) {
		if w <= 0 {
			notAbove++
		}
		if w >= 0 {
			notBelow++
		}
	}
	return math.Max(p, extreme(signPatterns(upTo(len(d))), math.Min(notAbove, notBelow)))
}

// summary of the values of trials.
type summary struct {
	n                       int
	estimate, low, high     float64
	known                   bool
	median, min, max, level float64
}

func summarize(values []float64, confidence float64) summary {
	x := slices.Sorted(slices.Values(values))
	s := summary{n: len(x), median: middle(x), min: x[0], max: x[len(x)-1]}
	if x[0] > 0 {
		var logs []float64
		for _, v := range x {
			logs = append(logs, math.Log(v))
		}
		s.estimate = math.Exp(middle(walsh(logs)))
		s.low, s.high, s.level, s.known = interval(logs, confidence)
		s.low, s.high = math.Exp(s.low), math.Exp(s.high)
		return s
	}
	s.estimate = s.median
	// The number of values below the median is distributed like heads among the same number of coins.
	heads := signPatterns(slices.Repeat([]float64{1}, len(x)))
	k := 0
	for extreme(heads, float64(k)) < 1-confidence {
		k++
	}
	if k > 0 {
		s.low, s.high, s.level, s.known = x[k-1], x[len(x)-k], 1-extreme(heads, float64(k-1)), true
	}
	return s
}

// comparison of a cell with another.
type comparison struct {
	n                int
	value, low, high float64
	level, p         float64
	known            bool
	outcome          string
	primary          bool
	judged           bool // belongs to a family of comparisons that are corrected for their number
	adjusted         float64
	verdict          string
}

// compare returns the ratio of paired values, or their difference; nil if there is none.
func (r run) compare(a, b map[int]float64, difference bool) *comparison {
	var d, base []float64
	for round := range a {
		x, y := a[round], b[round]
		if _, both := b[round]; !both {
			continue
		}
		switch {
		case difference:
			d = append(d, x-y)
		case x <= 0 || y <= 0:
			return nil
		default:
			d = append(d, math.Log(x)-math.Log(y))
		}
		base = append(base, y)
	}
	if len(d) == 0 {
		return nil
	}
	c := &comparison{n: len(d), value: middle(walsh(d)), p: signedRank(d), outcome: "untested", verdict: "untested"}
	c.low, c.high, c.level, c.known = interval(d, r.Confidence)
	none, from, to := 1.0, 1-r.Within, 1+r.Within
	if difference {
		margin := r.Within * math.Abs(summarize(base, r.Confidence).estimate)
		none, from, to = 0, -margin, margin
	} else {
		c.value, c.low, c.high = math.Exp(c.value), math.Exp(c.low), math.Exp(c.high)
	}
	if !c.known {
		return c
	}
	if c.p >= 1-r.Confidence { // the interval never claims more than the test
		c.low, c.high = math.Min(c.low, none), math.Max(c.high, none)
	}
	switch {
	case c.low >= from && c.high <= to:
		c.outcome = "same"
	case c.low <= none && none <= c.high:
		c.outcome = "not-known"
	default:
		c.outcome = "different"
	}
	c.verdict = c.outcome
	return c
}

// figure is a metric of a cell, with its comparisons.
type figure struct {
	summary
	ratio, difference *comparison
}

// ranked are the metrics that cells are ranked by, the first available one.
var ranked = map[string][]string{
	"tcp_stream": {"throughput"}, "tcp_rr": {"latency_p50", "transaction_rate"}, "udp_stream": {"packet_rate", "throughput"},
}

// figures recomputes all figures of a run, with the verdicts of its primary comparisons.
func (r run) figures() map[cell]map[string]*figure {
	all := map[cell]map[string]*figure{}
	var primary, costs []*comparison
	for _, c := range r.cells {
		all[c] = map[string]*figure{}
		for name, values := range r.values[c] {
			var x []float64
			for _, v := range values {
				x = append(x, v)
			}
			f := &figure{summary: summarize(x, r.Confidence)}
			if base := r.values[c.native()][name]; c != c.native() && base != nil {
				f.ratio, f.difference = r.compare(values, base, false), r.compare(values, base, true)
			}
			all[c][name] = f
			if (name == "cpu_per_gb" || name == "cpu_per_transaction") && f.ratio != nil {
				costs = append(costs, f.ratio)
			}
		}
		for _, name := range ranked[c.Workload] {
			if f := all[c][name]; f != nil {
				if f.ratio != nil {
					f.ratio.primary = true
					primary = append(primary, f.ratio)
				}
				break
			}
		}
	}
	r.holm(primary)
	r.holm(costs)
	return all
}

// holm gives a family of comparisons its verdicts, step by step: the smallest p times their
// number, the next times one less, and so on.
func (r run) holm(family []*comparison) {
	tested := slices.DeleteFunc(slices.Clone(family), func(c *comparison) bool { return !c.known })
	slices.SortFunc(tested, func(a, b *comparison) int {
		switch {
		case a.p < b.p:
			return -1
		case a.p > b.p:
			return 1
		}
		return 0
	})
	for _, c := range family {
		c.judged = true
	}
	before := 0.0
	for i, c := range tested {
		before = math.Max(before, math.Min(1, float64(len(tested)-i)*c.p))
		c.adjusted = before
		if c.outcome == "different" && c.adjusted >= 1-r.Confidence {
			c.verdict = "not-known"
		}
	}
}

// attained is the probability that the test of n pairs without a difference rejects.
func (r run) attained(n int) float64 {
	sums, p := signPatterns(upTo(n)), 0.0
	for k := 0; extreme(sums, float64(k)) < 1-r.Confidence; k++ {
		p = extreme(sums, float64(k))
	}
	return p
}

// cellOf returns the cell of a row of a report.
func cellOf(t *testing.T, from object, network string) cell {
	t.Helper()
	var c cell
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if network != "" {
		c.Network = network
	}
	return c
}

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\u00a0", " ")
}
