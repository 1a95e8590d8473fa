package recheck

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// token matches a number as displayed, with its sign.
var token = regexp.MustCompile(`[+−±-]?\d[\d,]*(?:\.\d+)?`)

// sayable are the numbers of the JSON report that sentences may contain, by the form they may take there.
type sayable struct {
	ratios map[float64]bool // in percent, as a change or as a share, or as a factor
	values map[float64]bool // in units with any prefix
	halves map[float64]bool // half widths of intervals, relative
}

func newSayable() *sayable {
	return &sayable{map[float64]bool{}, map[float64]bool{}, map[float64]bool{}}
}

// collect takes estimates, ratios and differences, with their intervals, and nothing else.
func (s *sayable) collect(v any) {
	switch v := v.(type) {
	case []any:
		for _, i := range v {
			s.collect(i)
		}
	case object:
		in, has := v["interval"].(object)
		low, high := 0.0, 0.0
		if has {
			low, high = in["low"].(float64), in["high"].(float64)
		}
		scale := 1.0
		if v["unit"] == "ratio" { // shares are written in percent
			scale = 100
		}
		if r, ok := v["ratio"].(float64); ok {
			s.ratios[r] = true
			if has {
				s.ratios[low], s.ratios[high] = true, true
			}
		}
		for _, key := range []string{"estimate", "difference", "bit_s_per_usd_an_hour", "usd_an_hour"} {
			e, ok := v[key].(float64)
			if !ok {
				continue
			}
			s.values[scale*e] = true
			if !has {
				continue
			}
			s.values[scale*low], s.values[scale*high] = true, true
			if key == "difference" { // its unit is the metric's
				s.values[100*low], s.values[100*high], s.values[100*e] = true, true, true
			}
			if low == high {
				s.halves[0] = true
			}
			if e != 0 {
				s.halves[math.Max(high-e, e-low)/e] = true
			}
		}
		for _, i := range v {
			s.collect(i)
		}
	}
}

// fitting returns a test whether a value equals the number in a text, to the precision written there.
func fitting(text string) (fits func(x float64) bool, v float64) {
	digits := strings.ReplaceAll(strings.TrimLeft(text, "+−±-"), ",", "")
	v, _ = strconv.ParseFloat(digits, 64)
	step := 1.0
	if _, decimals, ok := strings.Cut(digits, "."); ok {
		step = math.Pow10(-len(decimals))
	}
	return func(x float64) bool { return math.Abs(math.Abs(x)-v) <= step*(0.5+1e-6) }, v
}

// written reports whether a number of a sentence or a table is one of the JSON report.
func (s *sayable) written(text string) bool {
	fits, v := fitting(text)
	if strings.HasPrefix(text, "±") {
		for h := range s.halves {
			if fits(100*h) || h > 0 && h < 0.01 && v == 1 { // a value other than 0 is not written as 0
				return true
			}
		}
		return false
	}
	if v == 0 {
		return true
	}
	for x := range s.ratios {
		if fits(100*(x-1)) || fits(100*x) || fits(x) {
			return true
		}
	}
	for x := range s.values {
		for unit := 1e-12; unit < 1e13; unit *= 1000 {
			if fits(x / unit) {
				return true
			}
		}
	}
	return false
}

// about reports whether a number about the run as a whole is one of the known ones.
func about(text string, known []float64) bool {
	fits, _ := fitting(text)
	return slices.ContainsFunc(known, func(x float64) bool { return fits(x) || fits(100*x) })
}

// said returns the sentences and table lines about networks, in text or Markdown, each with its network.
func said(text string, networks []string) (out [][2]string) {
	hosts := ""
	for _, l := range strings.Split(text, "\n") {
		plain := strings.NewReplacer("**", "", `\_`, "_", `\*`, "*", "|", " ").Replace(l)
		plain = regexp.MustCompile(`\[\^\d+\]|[¹²³⁴⁵⁶⁷⁸⁹⁰]`).ReplaceAllString(plain, "")
		switch {
		case strings.Contains(plain, "One host"):
			hosts = "1"
		case strings.Contains(plain, "Two hosts"):
			hosts = "2"
		}
		trimmed := strings.TrimLeft(plain, " -")
		for _, n := range networks {
			name := n
			if strings.HasPrefix(trimmed, "Native (host) ") && n == "host" || strings.HasPrefix(trimmed, "Native moves") && n == "native" {
				name = strings.Fields(trimmed)[0]
			}
			if rest, ok := strings.CutPrefix(trimmed, name); ok && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ":")) {
				out = append(out, [2]string{hosts + "/" + n, rest})
				break
			}
		}
	}
	return out
}

// absent matches lines that explain a missing figure, with numbers of other programs.
var absent = regexp.MustCompile(`trials failed|^:? ?(failed|invalid|skipped):`)

// TestWords checks that each number in a sentence or a table about a network is a field of
// that network in the JSON report.
func TestWords(t *testing.T) {
	for _, name := range runs {
		o := parsed(t, name)
		all := map[string]*sayable{}
		var networks []string
		for _, s := range list(o["scenarios"]) {
			for _, row := range list(s["networks"]) {
				n := row["network"].(string)
				key := fmt.Sprintf("%v/%s", s["hosts"], n)
				if all[key] == nil {
					all[key] = newSayable()
					networks = append(networks, n)
				}
				all[key].collect(row["metrics"])
			}
		}
		for _, p := range append(list(o["per_price"]), list(o["agreements"])...) {
			c := p["cell"].(object)
			all[fmt.Sprintf("%v/%s", c["hosts"], c["network"])].collect(p)
		}
		digest := newSayable() // sentences about many networks, with their numbers
		for _, s := range all {
			for r := range s.ratios {
				digest.ratios[r] = true
			}
		}
		for i := range networks {
			digest.values[float64(i+1)] = true
		}
		for _, subject := range []string{"Throughput:", "Latency:", "CPU per GB:"} {
			all["1/"+subject] = digest
		}
		made := o["comparisons"].(object)
		comparisons := made["primary"].(float64) - made["untested"].(float64)
		margin := o["margin"].(float64)
		for format, text := range map[string]string{"text": read(t, name+".text"), "md": read(t, name+".md"), "html": plainHTML(read(t, name+".html"))} {
			checked := 0
			for _, line := range said(text, append(networks, "Throughput:", "Latency:", "CPU per GB:")) {
				if absent.MatchString(line[1]) || strings.Contains(line[1], "agrees with") || all[line[0]] == nil {
					continue
				}
				for _, at := range token.FindAllStringIndex(line[1], -1) {
					number := line[1][at[0]:at[1]]
					if at[0] > 0 && strings.ContainsAny(line[1][at[0]-1:at[0]], "abcdefghijklmnopqrstuvwxyz-") {
						continue // part of a name
					}
					checked++
					within := strings.HasSuffix(line[1][:at[0]], "within ") && about(number, []float64{margin})
					given := strings.HasSuffix(line[1][:at[0]], "given ") && about(number, []float64{comparisons})
					if !within && !given && !all[line[0]].written(number) {
						t.Errorf("%s.%s says %q of %s: %s", name, format, number, line[0], strings.TrimSpace(line[1]))
					}
				}
			}
			if checked < 20 {
				t.Errorf("%s.%s: only %d numbers were checked", name, format, checked)
			}
		}
		for _, format := range []string{"text", "md"} {
			checkRunSentences(t, name+"."+format, read(t, name+"."+format), o)
		}
	}
}

// checkRunSentences checks the sentences about the run as a whole.
func checkRunSentences(t *testing.T, name, text string, o object) {
	t.Helper()
	var known []float64
	for _, key := range []string{"level", "margin", "elapsed_s", "rounds"} {
		known = append(known, o[key].(float64))
	}
	for _, part := range []string{"comparisons", "precision", "limits"} {
		for _, v := range o[part].(object) {
			if v, ok := v.(float64); ok {
				known = append(known, v)
			}
		}
	}
	found := 0
	for _, begins := range []string{"comparisons at ", "verdicts rest on", "Stopped at", "Figures and changes"} {
		at := strings.Index(text, begins)
		if at < 0 {
			continue
		}
		start := strings.LastIndex(text[:at], "\n") + 1
		var sentence string
		if begins != "Stopped at" {
			sentence = text[max(start, at-8):at] + strings.SplitN(text[at:], "\n", 2)[0]
		} else {
			sentence, _, _ = strings.Cut(text[at:], "\n")
		}
		found++
		clock := regexp.MustCompile(`(\d+h)(\d+m)|(\d+h)?(\d+m)?\d+s`)
		for _, c := range clock.FindAllString(sentence, -1) {
			s := 0.0
			for _, p := range regexp.MustCompile(`(\d+)([hms])`).FindAllStringSubmatch(c, -1) {
				v, _ := strconv.ParseFloat(p[1], 64)
				s += v * map[string]float64{"h": 3600, "m": 60, "s": 1}[p[2]]
			}
			ok := false
			for _, v := range known {
				ok = ok || math.Abs(v-s) <= 30.5 && s >= 3600 || math.Abs(v-s) <= 1
			}
			if !ok {
				t.Errorf("%s says %s: %s", name, c, sentence)
			}
		}
		sentence = strings.ReplaceAll(clock.ReplaceAllString(sentence, ""), "p50", "")
		for _, n := range token.FindAllString(sentence, -1) {
			n = strings.TrimLeft(n, "±")
			if !about(n, known) {
				t.Errorf("%s says %s: %s", name, n, sentence)
			}
		}
	}
	if found < 2 {
		t.Errorf("%s: only %d sentences about the run", name, found)
	}
}

// plainHTML returns the text of a page, one line per table row and list item.
func plainHTML(page string) string {
	page = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<svg.*?</svg>|<details.*?</details>|<section aria-labelledby="trials".*?</section>|<sup>.*?</sup>`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`(?s)<table class="facts".*?</table>|<div class="path">.*?</div>`).ReplaceAllString(page, "")
	page = strings.ReplaceAll(page, "\n", " ")
	page = regexp.MustCompile(`<(tr|li|h2|h3|p)[ >]`).ReplaceAllString(page, "\n<$1 ")
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	lines := strings.Split(html.UnescapeString(page), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, "\n")
}

// TestChartsDrawNoIntervalThatIsNone compares charts with the JSON report: where nothing was
// tested there is no line through a mark, no whisker, no band and no caption about one.
func TestChartsDrawNoIntervalThatIsNone(t *testing.T) {
	for _, tt := range []struct {
		name      string
		intervals bool
	}{{"short", false}, {"specimen", true}, {"noisy", true}} {
		page := read(t, tt.name+".html")
		if got := strings.Contains(page, "hiskers are") || strings.Contains(page, "the line through it is its"); got != tt.intervals {
			t.Errorf("%s: a caption speaks of intervals: %v, want %v", tt.name, got, tt.intervals)
		}
		if got := strings.Contains(page, "var(--interval)") || strings.Contains(page, "stroke-width:2.4"); got != tt.intervals {
			t.Errorf("%s: intervals are drawn: %v, want %v", tt.name, got, tt.intervals)
		}
	}
}
