package recheck

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// runs are the golden run files.
var runs = []string{"specimen", "noisy", "short", "many"}

func number(t *testing.T, o object, key string) float64 {
	t.Helper()
	v, ok := o[key].(float64)
	if !ok {
		t.Fatalf("%q is %v, want a number: %v", key, o[key], o)
	}
	return v
}

// same fails the test if a report has another number than the recomputed one.
func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !near(got, want) {
		t.Errorf("%s is %v, computed anew it is %v", what, got, want)
	}
}

// checkComparison compares a comparison in the JSON report with the recomputed one.
func checkComparison(t *testing.T, what string, o object, value string, want *comparison) {
	t.Helper()
	if (o == nil) != (want == nil) {
		t.Errorf("%s is %v, computed anew it is %+v", what, o, want)
		return
	}
	if o == nil {
		return
	}
	same(t, what, number(t, o, value), want.value)
	same(t, what+": pairs", number(t, o, "n"), float64(want.n))
	if o["outcome"] != want.outcome {
		t.Errorf("%s is %v, computed anew %s: %+v", what, o["outcome"], want.outcome, want)
	}
	in, has := o["interval"].(object)
	if _, p := o["p"]; has != want.known || p != want.known {
		t.Errorf("%s: interval %v, p %v; computed anew there is one: %v", what, in, o["p"], want.known)
	}
	if has {
		same(t, what+": low", number(t, in, "low"), want.low)
		same(t, what+": high", number(t, in, "high"), want.high)
		same(t, what+": level", number(t, in, "level"), want.level)
		same(t, what+": p", number(t, o, "p"), want.p)
	}
	if primary := o["primary"] == true; primary != want.primary {
		t.Errorf("%s is primary: %v, computed anew %v", what, primary, want.primary)
	}
	verdict, judged := o["verdict"]
	if judged != want.judged || judged && verdict != want.verdict {
		t.Errorf("%s: verdict %v, computed anew %q (there is one: %v)", what, verdict, want.verdict, want.judged)
	}
	if judged && has {
		same(t, what+": adjusted p", number(t, o, "adjusted_p"), want.adjusted)
	}
}

func checkMetric(t *testing.T, what string, m object, want *figure) {
	t.Helper()
	if want == nil {
		t.Errorf("%s was never measured", what)
		return
	}
	for name, v := range map[string]float64{"n": float64(want.n), "estimate": want.estimate, "median": want.median, "min": want.min, "max": want.max} {
		same(t, what+": "+name, number(t, m, name), v)
	}
	in, has := m["interval"].(object)
	if has != want.known {
		t.Errorf("%s: interval %v, computed anew there is one: %v", what, in, want.known)
	}
	if has {
		same(t, what+": low", number(t, in, "low"), want.low)
		same(t, what+": high", number(t, in, "high"), want.high)
	}
	ratio, _ := m["vs_native"].(object)
	checkComparison(t, what+" vs native", ratio, "ratio", want.ratio)
	if difference, has := m["difference"].(object); has {
		checkComparison(t, what+" less native", difference, "difference", want.difference)
	} else if want.ratio == nil && want.difference != nil {
		t.Errorf("%s has neither a ratio nor a difference", what)
	}
}

func parsed(t *testing.T, name string) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(read(t, name+".json")), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func list(v any) (all []object) {
	items, _ := v.([]any)
	for _, i := range items {
		all = append(all, i.(object))
	}
	return all
}

func TestJSON(t *testing.T) {
	for _, name := range runs {
		t.Run(name, func(t *testing.T) {
			r, o := readRun(t, "../testdata/"+name+".ndjson"), parsed(t, name)
			want := r.figures()
			same(t, "elapsed", number(t, o, "elapsed_s"), r.elapsed)
			seen, chance, made, primary := 0, 0.0, 0, 0
			verdicts := map[string]int{}
			for _, s := range list(o["scenarios"]) {
				for _, row := range list(s["networks"]) {
					c := cellOf(t, s, row["network"].(string))
					metrics := append(list(row["metrics"]), list(row["cpu_cost"])...)
					for _, m := range append(metrics, list(row["cpu"])...) {
						metric := m["metric"].(string)
						what := fmt.Sprintf("%s of %s by %s in %s", metric, c.Network, c.Tool, c.Workload)
						if strings.Contains(metric, "cpu_machine") || strings.Contains(metric, "cpu_shared") {
							continue
						}
						if derived(metric) {
							ratio, _ := m["vs_native"].(object)
							if _, tested := ratio["interval"]; tested && metric == "latency_p99_by_time" { // tables show this metric
								made++
								chance += r.attained(int(number(t, ratio, "n")))
							}
							continue
						}
						f := want[c][metric]
						checkMetric(t, what, m, f)
						seen++
						if f != nil && f.ratio != nil && f.ratio.primary {
							primary++
							verdicts[f.ratio.verdict]++
						}
						shown := f.ratio
						if metric == "loss" {
							shown = f.difference
						}
						if answers[c.Workload+"/"+metric] && shown != nil && shown.known {
							made++
							chance += r.attained(shown.n)
						}
					}
				}
			}
			all := o["comparisons"].(object)
			same(t, "comparisons", number(t, all, "made"), float64(made))
			same(t, "expected by chance", number(t, all, "expected_by_chance"), chance)
			same(t, "primary comparisons", number(t, all, "primary"), float64(primary))
			least, tested := 1.0, primary-verdicts["untested"]
			if tested == 0 {
				tested = primary
			}
			for float64(tested)*math.Pow(2, 1-least) >= 1-r.Confidence {
				least++
			}
			same(t, "least rounds", number(t, all, "least_rounds"), least)
			for key, verdict := range map[string]string{"different": "different", "same": "same", "not_known": "not-known", "untested": "untested"} {
				same(t, "verdicts: "+verdict, number(t, all, key), float64(verdicts[verdict]))
			}
			if seen < 18 {
				t.Errorf("only %d figures were checked", seen)
			}
			checkAim(t, r, o, want)
			checkAgreements(t, r, o, want)
			for _, p := range list(o["per_price"]) {
				c := cellOf(t, p["cell"].(object), "")
				same(t, "throughput per dollar of "+c.Network, number(t, p, "bit_s_per_usd_an_hour"), want[c]["throughput"].estimate/r.price)
			}
			checkExtremes(t, r, o, want)
			costs := 0
			for _, figures := range want {
				for name, f := range figures {
					if strings.HasPrefix(name, "cpu_per_") && f.ratio != nil && f.ratio.known {
						costs++
					}
				}
			}
			same(t, "comparisons of CPU cost", number(t, all, "cpu_cost"), float64(costs))
		})
	}
}

// derived reports whether the analysis computes a metric from encoded histograms, which the
// standard library cannot read.
func derived(metric string) bool { return strings.HasSuffix(metric, "_by_time") }

// answers are the metrics of the golden runs that tables show.
var answers = map[string]bool{
	"tcp_stream/throughput": true, "tcp_stream/cpu_per_gb": true, "tcp_rr/latency_p50": true, "tcp_rr/latency_p99": true,
	"tcp_rr/cpu_per_transaction": true, "udp_stream/packet_rate": true, "udp_stream/throughput": true, "udp_stream/loss": true,
	"udp_stream/jitter": true, "udp_stream/cpu_per_gb": true,
}

// ofNormal returns the half width of the interval of n values from a normal distribution: of 40, from which on it narrows with the square
// root of their number, if there are more.
func ofNormal(n int, confidence float64) float64 {
	few := min(n, 40)
	share := []float64{1} // of the 2ⁿ assignments of signs, by the sum of their positive ranks
	var scores []float64
	for i := range few {
		p := (float64(i) + 0.625) / (float64(few) + 0.25)
		scores = append(scores, math.Sqrt2*math.Erfinv(2*p-1))
		more := make([]float64, len(share)+i+1)
		for sum, of := range share {
			more[sum] += of / 2
			more[sum+i+1] += of / 2
		}
		share = more
	}
	k, atMost := 0, 0.0
	for atMost += share[0]; 2*atMost < 1-confidence; atMost += share[k] {
		k++
	}
	all := walsh(scores)
	return (all[len(all)-k] - all[k-1]) / 2 * math.Sqrt(float64(few)/float64(n))
}

// checkAim checks the reported precision of the run.
func checkAim(t *testing.T, r run, o object, want map[cell]map[string]*figure) {
	t.Helper()
	asked, reached, rounds := 0, 0, 0.0
	for _, c := range r.cells {
		metric := ranked[c.Workload][0]
		f := want[c][metric]
		if f == nil || f.ratio == nil {
			continue
		}
		asked++
		if !f.ratio.known {
			continue
		}
		half := math.Max(f.ratio.high/f.ratio.value-1, 1-f.ratio.low/f.ratio.value)
		if half <= r.Precision {
			reached++
			continue
		}
		series := []float64{10, 12.5, 16, 20, 25, 31.5, 40, 50, 63, 80, 100, 125, 160, 200, 250, 315, 400, 500, 630, 800, 1000}
		at := slices.IndexFunc(series, func(v float64) bool {
			n := int(math.Round(v))
			return n > f.ratio.n && half*ofNormal(n, r.Confidence)/ofNormal(f.ratio.n, r.Confidence) <= r.Precision
		})
		rounds = math.Max(rounds, math.Round(series[at]))
	}
	aim := o["precision"].(object)
	same(t, "figures that precision is asked of", number(t, aim, "asked"), float64(asked))
	same(t, "figures that reached it", number(t, aim, "reached"), float64(reached))
	if got, _ := aim["rounds"].(float64); got != rounds {
		t.Errorf("about %v rounds, computed anew %v", got, rounds)
	}
}

func checkAgreements(t *testing.T, r run, o object, want map[cell]map[string]*figure) {
	t.Helper()
	for _, a := range list(o["agreements"]) {
		c := cellOf(t, a["cell"].(object), "")
		base, tool := c, c
		base.Tool, tool.Tool = a["reference"].(string), a["tool"].(string)
		metric := a["found"].(object)["metric"].(string)
		ratio, _ := a["ratio"].(object)
		checkComparison(t, "agreement over "+c.Network, ratio, "ratio", r.compare(r.values[tool][metric], r.values[base][metric], false))
		if ratio != nil && a["outcome"] != ratio["outcome"] {
			t.Errorf("tools over %s: %v of a ratio that is %v", c.Network, a["outcome"], ratio["outcome"])
		}
		checkMetric(t, "expected over "+c.Network, a["expected"].(object), want[base][metric])
		checkMetric(t, "found over "+c.Network, a["found"].(object), want[tool][metric])
	}
}

// checkExtremes checks the first and the last networks of all scenarios, which are one family of comparisons.
func checkExtremes(t *testing.T, r run, o object, want map[cell]map[string]*figure) {
	t.Helper()
	var family []*comparison
	known := 0
	type extreme struct {
		of          object
		first, next cell
		c           *comparison
	}
	var all []extreme
	for _, s := range list(o["scenarios"]) {
		for _, e := range list(s["extremes"]) {
			first, next := cellOf(t, s, e["network"].(string)), cellOf(t, s, e["next"].(string))
			c := r.compare(r.values[first][e["metric"].(string)], r.values[next][e["metric"].(string)], false)
			all = append(all, extreme{e, first, next, c})
			if c != nil {
				family = append(family, c)
			}
			if c != nil && c.known {
				known++
			}
		}
	}
	r.holm(family)
	same(t, "comparisons of the first and the last", number(t, o["comparisons"].(object), "first_or_last"), float64(known))
	for _, e := range all {
		metric, c, first := e.of["metric"].(string), e.c, e.first
		ratio, _ := e.of["ratio"].(object)
		checkComparison(t, fmt.Sprintf("%s, %s beside %s", metric, first.Network, e.next.Network), ratio, "ratio", c)
		beyond := c != nil && c.verdict == "different" && (c.low > 1 && e.of["highest"] == true || c.high < 1 && e.of["highest"] == false)
		if e.of["shown"] != beyond {
			t.Errorf("%s is called an extreme: %v, beside the next it is %+v", first.Network, e.of["shown"], c)
		}
		for other, figures := range want {
			f := figures[metric]
			same := other
			same.Network = first.Network
			if same != first || other == first.native() || f == nil {
				continue
			}
			if f.ratio == nil {
				t.Errorf("%s: %s is called an extreme, and %s has no ratio", metric, first.Network, other.Network)
				continue
			}
			if (e.of["highest"] == true) == (f.ratio.value > want[first][metric].ratio.value) && f.ratio.value != want[first][metric].ratio.value {
				t.Errorf("%s: %s is beyond %s", metric, other.Network, first.Network)
			}
		}
	}
}

// numbers returns the numbers of a figure by the names of CSV columns; an untested figure has no interval.
func (f *figure) numbers() map[string]float64 {
	all := map[string]float64{"estimate": f.estimate, "median": f.median}
	if f.known {
		all["low"], all["high"] = f.low, f.high
	}
	for name, c := range map[string]*comparison{"ratio": f.ratio, "difference": f.difference} {
		if c == nil {
			continue
		}
		all[name] = c.value
		if c.known {
			all[name+"_low"], all[name+"_high"] = c.low, c.high
		}
	}
	return all
}

// cellLike returns the cell that a line describes.
func (r run) cellLike(described func(what string) string) (found cell) {
	for _, c := range r.cells {
		if c.Network == described("network") && c.Workload == described("workload") && c.Tool == described("tool") && strconv.Itoa(c.Hosts) == described("hosts") {
			found = c
		}
	}
	return found
}

func TestCSV(t *testing.T) {
	for _, name := range runs {
		r := readRun(t, "../testdata/"+name+".ndjson")
		want := r.figures()
		lines, err := csv.NewReader(strings.NewReader(read(t, name+".csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[*figure]bool{}
		for _, l := range lines[1:] {
			at := func(column string) string { return l[slices.Index(lines[0], column)] }
			if at("metric") == "" || derived(at("metric")) {
				continue
			}
			c := r.cellLike(at)
			seen[want[c][at("metric")]] = true
			what := fmt.Sprintf("%s: %s of %s", name, at("metric"), c.Network)
			f := want[c][at("metric")]
			if f == nil {
				t.Fatalf("%s was never measured", what)
			}
			check := func(column string, exists bool, v float64) {
				got, err := strconv.ParseFloat(at(column), 64)
				if (err == nil) != exists || exists && !near(got, v) {
					t.Errorf("%s: %s is %q, computed anew %v (%v)", what, column, at(column), v, exists)
				}
			}
			numbers, c0 := f.numbers(), f.ratio
			for _, column := range []string{"estimate", "median", "low", "high", "ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"} {
				if v, exists := numbers[column]; at("difference") != "" || !strings.HasPrefix(column, "difference") {
					check(column, exists, v)
				}
			}
			if at("difference") != "" && (at("unit") == "ratio" || c0 == nil) {
				c0 = f.difference
			} else if c0 == nil && f.difference != nil {
				t.Errorf("%s is compared by nothing", what)
			}
			if c0 == nil {
				continue
			}
			check("p", c0.known, c0.p)
			if at("outcome") != c0.outcome || c0.primary && at("verdict") != c0.verdict {
				t.Errorf("%s: %s, verdict %q; computed anew %s, %s", what, at("outcome"), at("verdict"), c0.outcome, c0.verdict)
			}
			if c0.primary {
				check("adjusted_p", c0.known, c0.adjusted)
			}
		}
		for c, metrics := range want {
			for metric, f := range metrics {
				if answers[c.Workload+"/"+metric] && !seen[f] {
					t.Errorf("%s: %s of %s in %s is missing", name, metric, c.Network, c.Workload)
				}
			}
		}
	}
}

var (
	sample = regexp.MustCompile(`^nettoll_([a-z0-9_]+)\{(.*)\} (\S+)$`)
	label  = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

func TestOpenMetrics(t *testing.T) {
	for _, name := range runs {
		r := readRun(t, "../testdata/"+name+".ndjson")
		want := r.figures()
		checked := 0
		for _, l := range strings.Split(read(t, name+".openmetrics"), "\n") {
			m := sample.FindStringSubmatch(l)
			if m == nil || strings.HasPrefix(m[1], "trials") || strings.HasPrefix(m[1], "run") || strings.Contains(m[1], "_by_time") {
				continue
			}
			labels := map[string]string{}
			for _, pair := range label.FindAllStringSubmatch(m[2], -1) {
				labels[pair[1]] = pair[2]
			}
			c := r.cellLike(func(what string) string { return labels[what] })
			metric := ""
			for key := range want[c] {
				if strings.HasPrefix(m[1], key) && len(key) > len(metric) {
					metric = key
				}
			}
			f := want[c][metric]
			if f == nil {
				t.Errorf("%s: %s was never measured", name, l)
				continue
			}
			got, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			checked++
			part := strings.TrimPrefix(m[1], metric)
			part = strings.TrimPrefix(part, "_per_client") // for a single client it equals the throughput
			if strings.HasPrefix(part, "_outcome") {
				c0 := f.ratio
				if c0 == nil || metric == "loss" {
					c0 = f.difference
				}
				if labels["outcome"] != c0.outcome || c0.primary && labels["verdict"] != c0.verdict || got != 1 {
					t.Errorf("%s: %s; computed anew %s, %s", name, l, c0.outcome, c0.verdict)
				}
				continue
			}
			number := "estimate"
			for _, of := range [][2]string{{"_low", "low"}, {"_high", "high"}, {"_vs_native", "ratio"}, {"_minus_native", "difference"}, {"_vs_native_low", "ratio_low"},
				{"_vs_native_high", "ratio_high"}, {"_minus_native_low", "difference_low"}, {"_minus_native_high", "difference_high"}} {
				if strings.HasPrefix(part, of[0]) {
					number = of[1]
				}
			}
			if v, known := f.numbers()[number]; !known || !near(got, v) {
				t.Errorf("%s: %s, computed anew %v (%v)", name, l, v, known)
			}
		}
		if checked < 20 {
			t.Errorf("%s: only %d samples were checked", name, checked)
		}
	}
}

// benchMetrics are the metrics of units of the benchmark format.
var benchMetrics = map[string]string{
	"bit/s": "throughput", "transactions/s": "transaction_rate", "p50-sec": "latency_p50", "p90-sec": "latency_p90", "p99-sec": "latency_p99",
	"cpu-sec/GB": "cpu_per_gb", "retransmits": "retransmits",
}

// A line of the benchmark format is a trial, with its own values. Each value of a trial is there once.
func TestBench(t *testing.T) {
	for _, name := range runs {
		r := readRun(t, "../testdata/"+name+".ndjson")
		values, left := map[string]bool{}, map[string]int{} // how often each value of a metric is expected
		for _, metrics := range r.values {
			for metric, rounds := range metrics {
				for _, v := range rounds {
					text := strconv.FormatFloat(v, 'g', -1, 64)
					values[text] = true
					left[metric+" "+text]++
				}
			}
		}
		for _, l := range strings.Split(read(t, name+".bench"), "\n") {
			fields := strings.Fields(l)
			if len(fields) == 0 || !strings.HasPrefix(fields[0], "Benchmark") {
				continue
			}
			for i := 2; i < len(fields); i += 2 {
				metric, known := benchMetrics[fields[i+1]]
				left[metric+" "+fields[i]]--
				if !values[fields[i]] || known && left[metric+" "+fields[i]] < 0 {
					t.Errorf("%s: no trial has %s %s, or not so often", name, fields[i], fields[i+1])
				}
			}
		}
		for value, n := range left {
			if metric, _, _ := strings.Cut(value, " "); n > 0 && slices.Contains(slices.Collect(maps.Values(benchMetrics)), metric) {
				t.Errorf("%s: %s is missing %d times", name, value, n)
			}
		}
	}
}
