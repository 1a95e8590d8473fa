package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

const hostile = "<script>alert(1)</script>\x1b[31m|\"'`&\n=cmd https://evil.example {{.}} \u202e%s"

// specimenWith returns a specimen with f applied to its rows.
func specimenWith(f func(row *analysis.Row)) analysis.Result {
	res, _ := specimenResult()
	for i := range res.Scenarios {
		for j := range res.Scenarios[i].Rows {
			f(&res.Scenarios[i].Rows[j])
		}
	}
	res.Relate()
	return res
}

// awkward are unusual results. They must not be changed.
var awkward = sync.OnceValue(func() map[string]analysis.Result {
	all := map[string]analysis.Result{"nothing": {}, "ordinary": specimenWith(func(*analysis.Row) {})}
	all["only failures"] = specimenWith(func(row *analysis.Row) {
		*row = analysis.Row{Cell: row.Cell, Native: row.Native, Status: record.Failed, Reason: "it broke"}
	})
	all["one round"] = specimenWith(func(row *analysis.Row) {
		for i := range row.Figures {
			s := &row.Figures[i].Summary
			s.N, s.Low, s.High, s.Min, s.Max, s.Level = 1, s.Median, s.Median, s.Median, s.Median, 0
			if c := row.Figures[i].Ratio; c != nil {
				*c = analysis.Comparison{N: 1, Value: c.Value, Interval: analysis.Interval{Low: c.Value, High: c.Value}, P: 1}
			}
		}
	})
	all["no latency"] = specimenWith(func(row *analysis.Row) { row.Latency, row.Path, row.Endpoints = nil, nil, nil })
	all["zeros"] = specimenWith(func(row *analysis.Row) {
		for i := range row.Figures {
			row.Figures[i].Summary = analysis.Summary{N: 3, Interval: analysis.Interval{Level: 0.95}}
			if row.Figures[i].Ratio != nil {
				row.Figures[i].Ratio = &analysis.Comparison{Interval: analysis.Interval{Level: 0.95}, N: 3, P: 1, Outcome: analysis.Different, Effect: analysis.Worse}
			}
		}
	})
	all["tiny and huge"] = specimenWith(func(row *analysis.Row) {
		for i := range row.Figures {
			s := &row.Figures[i].Summary
			s.Estimate, s.High = s.Estimate*math.Pow(10, float64(6*(i%3-1))), s.High*1e6
		}
	})
	all["hostile"] = specimenWith(func(row *analysis.Row) {
		row.Cell.Network, row.Reason, row.Remedy = hostile+row.Cell.Network, hostile, hostile
		row.Lost = []analysis.Lost{{Status: record.Failed, Trials: 1, Reason: hostile, Remedy: hostile}}
		row.Warnings = []analysis.Warning{{Code: hostile, Text: hostile, Advice: hostile}}
		row.Path, row.Endpoints = slices.Clone(row.Path), slices.Clone(row.Endpoints)
		for i := range row.Path {
			row.Path[i].Name, row.Path[i].Kind = hostile, hostile
		}
		for i := range row.Endpoints {
			e := &row.Endpoints[i]
			e.Name, e.Device, e.Qdisc = hostile, hostile, hostile
			e.Offloads, e.Sysctls = map[string]bool{hostile: true}, map[string]string{hostile: hostile}
		}
	})
	hostileRun := all["hostile"]
	hostileRun.Run.Note, hostileRun.Run.Suite, hostileRun.Run.Machine.CPUModel, hostileRun.EndDetail = hostile, hostile, hostile, hostile
	all["hostile"] = hostileRun
	all["no native"] = withoutNative()
	all["workloads"] = workloadsResult()
	all["many"] = manyNetworks()
	all["baseline"], _ = comparedWith("docker:native")
	all["hostile matrix"] = hostileMatrix()
	for name, of := range matrices() {
		all[name] = of.res
	}
	return all
})

func withoutNative() analysis.Result {
	res, _ := specimenResult()
	for i := range res.Scenarios {
		rows := res.Scenarios[i].Rows[1:]
		for j := range rows {
			for k := range rows[j].Figures {
				rows[j].Figures[k].Ratio, rows[j].Figures[k].Difference = nil, nil
			}
		}
		res.Scenarios[i].Rows = rows
	}
	res.Relate()
	return res
}

// manyNetworks has more networks than sentences and line colours, twins, and a workload with
// two numbers of streams.
func manyNetworks() analysis.Result {
	res, _ := specimenResult()
	for i := range res.Scenarios {
		s := &res.Scenarios[i]
		for n := range 20 {
			row := s.Rows[1+n%5]
			row.Cell.Network = fmt.Sprintf("network-with-a-long-name-%d", n)
			row.Cell.Twin = n % 3
			s.Rows = append(s.Rows, row)
		}
	}
	eight := res.Scenarios[0]
	eight.Cell.Options.Streams = 8
	eight.Rows = slices.Clone(eight.Rows)
	for i := range eight.Rows {
		eight.Rows[i].Cell.Options.Streams = 8
	}
	res.Scenarios = append(res.Scenarios, eight)
	res.Relate()
	return res
}

var notNumber = regexp.MustCompile(`(?i)\b(nan|[+-]?inf)\b|%!`)

func TestAwkward(t *testing.T) {
	_, specimen := specimenResult()
	for name, res := range awkward() {
		o := specimen
		if of, own := matrices()[name]; own {
			o = of.o
		}
		for _, f := range Formats() {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				got := write(t, f.Name, res, o)
				if at := notNumber.FindStringIndex(strings.ReplaceAll(got, "%s", "")); at != nil {
					t.Errorf("holds %q", got[max(0, at[0]-60):min(len(got), at[1]+20)])
				}
				if got != write(t, f.Name, res, o) {
					t.Error("differs from one time to the next")
				}
				if !strings.HasSuffix(got, "\n") {
					t.Error("does not end its last line")
				}
				wellFormed(t, f.Name, got)
			})
		}
	}
}

func wellFormed(t *testing.T, format, got string) {
	t.Helper()
	switch format {
	case "openmetrics":
		checkOpenMetrics(t, got)
	case "md":
		if strings.Contains(got, "<script") {
			t.Error("lets HTML through")
		}
	case "json":
		if !json.Valid([]byte(got)) || strings.Contains(got, ": null") {
			t.Error("is not valid JSON, or has a null")
		}
	case "csv":
		lines, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || len(lines) == 0 {
			t.Fatalf("cannot be read: %v", err)
		}
		for _, line := range lines {
			for _, cell := range line {
				_, err := strconv.ParseFloat(cell, 64)
				if text := strings.TrimSpace(cell); err != nil && text != "" && strings.ContainsAny(text[:1], "=+-@") {
					t.Errorf("a spreadsheet would run %q", cell)
				}
			}
		}
	case "html":
		checkHTML(t, got)
	}
	lets := func(r rune) bool {
		return unseen(r) && !(r == '\t' && format == "html") && !(r == '\u200b' && format == "md")
	}
	if at := strings.IndexFunc(got, lets); at >= 0 {
		t.Errorf("lets control characters through: %q", got[max(0, at-40):at+1])
	}
}

// unseen reports whether a character is invisible, except for newlines and no-break spaces.
func unseen(r rune) bool { return r != '\n' && r != '\u00a0' && !unicode.IsPrint(r) }

// TestSpreadsheets: numbers stay numbers, and nothing is evaluated.
func TestSpreadsheets(t *testing.T) {
	for cell, want := range map[string]string{
		"-1.5": "-1.5", "+3": "+3", "1e-9": "1e-9", "": "", "bridge": "bridge", "no (-1)": "no (-1)",
		"=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "＝1": "'＝1",
		"\t=1": "' =1", "\r=1": "·=1", " =1": "' =1", "\x1b[2J": "·[2J", "a\u202eb": "a·b", "a\nb": "a b",
	} {
		if got := inert(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

// checkHTML requires balanced elements, no scripts but the page's own and nothing loaded from elsewhere.
func checkHTML(t *testing.T, page string) {
	t.Helper()
	void := []string{"meta", "br", "input", "line", "path"}
	var open []string
	scripts := 0
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		for _, a := range token.Attr {
			outside := strings.Contains(a.Val, "//") && a.Key != "aria-label"
			if strings.HasPrefix(a.Key, "on") || outside || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("%s has %s=%q", token.Data, a.Key, a.Val)
			}
		}
		switch kind {
		case html.StartTagToken:
			if token.Data == "script" {
				scripts++
			}
			if !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			if slices.Contains(void, token.Data) {
				continue
			}
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("</%s> closes %v", token.Data, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
	if scripts != 1 {
		t.Errorf("%d scripts, want the page's own", scripts)
	}
}

func TestNoAddress(t *testing.T) {
	res, o := specimenResult()
	if page := write(t, "html", res, o); regexp.MustCompile(`https?://|url\(|@import`).MatchString(page) {
		t.Error("the page refers to something outside itself")
	}
}

func TestWidth(t *testing.T) {
	for name, res := range awkward() {
		for _, color := range []bool{false, true} {
			for _, width := range []int{40, 60, 80, 100, 120} {
				got := write(t, "text", res, Options{Width: width, Color: color})
				for _, l := range strings.Split(got, "\n") {
					if w := displayWidth(l); w > width && name != "hostile matrix" { // headings of columns are never cut
						t.Errorf("%s at %d: %d columns: %q", name, width, w, l)
					}
				}
			}
		}
	}
}

func TestColorOnlyWhenAsked(t *testing.T) {
	res, o := specimenResult()
	plainText := write(t, "text", res, o)
	o.Color = true
	colored := write(t, "text", res, o)
	if !escapes.MatchString(colored) || escapes.MatchString(plainText) {
		t.Error("colour is not what was asked for")
	}
	if !strings.Contains(colored, string(bold)) || !strings.Contains(colored, boldRemark) || strings.Contains(plainText, boldRemark) {
		t.Error("what bold means is not told where there is any, or where there is none")
	}
	if strings.ReplaceAll(escapes.ReplaceAllString(colored, ""), boldRemark+"\n", "") != plainText {
		t.Error("colour changes the text")
	}
}

var sample = regexp.MustCompile(`^([a-z_][a-z0-9_]*)\{((?:[a-z_]+="(?:[^"\\]|\\["\\n])*",?)*)\} (\S+)$`)

// checkOpenMetrics checks a report against the text format: families together, each declared
// once and before its samples, units at the end of names, no series twice, and an end.
func checkOpenMetrics(t *testing.T, got string) {
	t.Helper()
	if !strings.HasSuffix(got, "\n# EOF\n") {
		t.Error("does not end with # EOF")
	}
	declared, series := map[string]bool{}, map[string]bool{}
	family := ""
	for _, l := range strings.Split(strings.TrimSuffix(got, "# EOF\n"), "\n") {
		switch fields := strings.SplitN(l, " ", 4); {
		case l == "":
		case fields[0] == "#" && len(fields) < 4:
			t.Errorf("not a line of the format: %q", l)
		case fields[0] == "#" && fields[1] == "TYPE":
			family = fields[2]
			if declared[family] {
				t.Errorf("%s is declared twice", family)
			}
			declared[family] = true
		case fields[0] == "#":
			if fields[2] != family || fields[1] == "UNIT" && !strings.HasSuffix(family, "_"+fields[3]) {
				t.Errorf("%q stands with %s", l, family)
			}
		default:
			m := sample.FindStringSubmatch(l)
			if m == nil {
				t.Errorf("not a sample: %q", l)
				continue
			}
			if m[1] != family && m[1] != family+"_info" {
				t.Errorf("%s stands with %s", m[1], family)
			}
			if _, err := strconv.ParseFloat(m[3], 64); err != nil {
				t.Errorf("%q: %v", l, err)
			}
			if series[m[1]+m[2]] {
				t.Errorf("%s{%s} stands there twice", m[1], m[2])
			}
			series[m[1]+m[2]] = true
		}
	}
}

func TestOpenMetricsUnits(t *testing.T) {
	for _, k := range record.Kinds() {
		if metricUnits[k.Unit] == "" {
			t.Errorf("%s has no unit", k.Name)
		}
	}
	res, o := specimenResult()
	got := write(t, "openmetrics", res, o)
	for _, want := range []string{
		`nettoll_throughput_bits_per_second{network="vxlan",workload="tcp_stream",tool="engine",hosts="2",family="4",servers="1",clients="1",placement="distinct",options="1 stream, messages of 128 KiB",hosts_are="namespaces of one machine"} 8.`,
		`nettoll_trials{network="ovs",workload="tcp_rr",tool="engine",hosts="1",family="4",servers="1",clients="1",placement="distinct",options="1 stream, 1 B there, 1 B back",status="skipped"} 1`,
		"# UNIT nettoll_latency_p50_vs_native_ratio ratio\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s", want)
		}
	}
}

// palettes reads the variables of the page: light, dark, and on paper.
func palettes(t *testing.T) []map[string]string {
	t.Helper()
	var all []map[string]string
	for _, block := range regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(pageStyle, -1) {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`(--[a-z0-9-]+): (#[0-9a-f]+)`).FindAllStringSubmatch(block[1], -1) {
			colors[m[1]] = m[2]
		}
		all = append(all, colors)
	}
	if len(all) != 3 {
		t.Fatalf("%d palettes, want light, dark and paper", len(all))
	}
	return all
}

func TestEveryColorIsDefined(t *testing.T) {
	page := write(t, "html", awkward()["many"], Options{})
	light := palettes(t)[0]
	for _, m := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, ok := light[m[1]]; !ok {
			t.Errorf("%s is not defined", m[1])
		}
	}
	if strings.Contains(page, "#01FE") {
		t.Error("a colour of the charts was not replaced")
	}
}

// TestContrast requires 4.5:1 for text and 3:1 for drawings, as WCAG AA.
func TestContrast(t *testing.T) {
	for i, p := range palettes(t) {
		least := map[string]float64{"--text": 4.5, "--faint": 4.5, "--link": 4.5, "--worse": 4.5, "--better": 4.5, "--bar": 3, "--bar-native": 3, "--interval": 3}
		for n := range 8 {
			least["--line-"+strconv.Itoa(n)] = 3
		}
		for name, want := range least {
			for _, ground := range []string{"--page", "--panel"} {
				if got := contrast(t, p[name], p[ground]); got < want {
					t.Errorf("palette %d: %s on %s has contrast %.2f, want %.1f", i, name, ground, got, want)
				}
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 4 {
		hex = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		iferr.Fatal(t, err)
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestFiguresInOtherUnitsAreLeftOut: another version may have written them, and nothing would show that the number means something
// else.
func TestFiguresInOtherUnitsAreLeftOut(t *testing.T) {
	trial := record.Trial{Cell: record.Cell{Network: "host", Workload: "tcp_stream"}, Status: record.OK, Metrics: map[string]record.Metric{
		record.Throughput: {Value: 57349, Unit: "Mbit/s"}, record.Retransmits: {Value: 4, Unit: "segments"},
	}}
	if k, _ := record.KindOf(record.Retransmits); k.Unit != "segments" {
		t.Fatal(k.Unit)
	}
	o := Options{Trials: []record.Trial{trial}}
	var b strings.Builder
	iferr.Fatal(t, writeBench(&b, analysis.Result{}, o))
	if got := b.String(); strings.Contains(got, "bit/s") || !strings.Contains(got, " 4 retransmits") {
		t.Errorf("benchmarks:\n%s", got)
	}
	if v := newTrialsView(o.Trials); len(v.Columns) != 1 || v.Columns[0].Unit != "segments" {
		t.Errorf("the page has the columns %+v", v.Columns)
	}
}

// TestDescribedJSON: docs/format.md names every key that the JSON report can have, and every code of a caveat that reports sort.
func TestDescribedJSON(t *testing.T) {
	text, err := os.ReadFile("../docs/format.md")
	iferr.Fatal(t, err)
	_, section, _ := strings.Cut(string(text), "## Reports for programs")
	keys := map[string]bool{}
	var read func(any)
	read = func(of any) {
		switch v := of.(type) {
		case map[string]any:
			for key, value := range v {
				keys[key] = true
				if key != "offloads" && key != "sysctls" { // these have the kernel's names
					read(value)
				}
			}
		case []any:
			for _, value := range v {
				read(value)
			}
		}
	}
	for _, name := range []string{"specimen", "loads", "many", "noisy", "short"} {
		written, err := os.ReadFile("testdata/" + name + ".json")
		iferr.Fatal(t, err)
		var of any
		iferr.Fatal(t, json.Unmarshal(written, &of))
		read(of)
	}
	var walk func(reflect.Type)
	seen := map[reflect.Type]bool{}
	walk = func(of reflect.Type) {
		switch {
		case of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice:
			walk(of.Elem())
		case of.Kind() == reflect.Struct && !seen[of]:
			seen[of] = true
			for f := range of.Fields() {
				key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if key == "-" {
					continue
				}
				if key != "" {
					keys[key] = true
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[jsonReport]())
	for key := range keys {
		if !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("docs/format.md does not describe %s", key)
		}
	}
	if len(keys) < 100 {
		t.Errorf("%d keys were found", len(keys))
	}
	for code := range noteKinds {
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("docs/format.md does not name the code %s", code)
		}
	}
	if v := fmt.Sprintf("`schema_version` is %d;", jsonSchema); !strings.Contains(section, v) {
		t.Errorf("docs/format.md does not say that the %s", v)
	}
}
