package report

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
	"unicode"

	"golang.org/x/net/html"

	"nettoll/analysis"
	"nettoll/record"
)

const hostile = "<script>alert(1)</script>\x1b[31m|\"'`&\n=cmd https://evil.example {{.}} \u202e%s"

// specimenWith returns a specimen whose rows went through f.
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

// awkward are results that an ordinary run does not give.
func awkward() map[string]analysis.Result {
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
		row.Warnings = []analysis.Warning{{Code: hostile, Text: hostile, Advice: hostile}}
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
	return all
}

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

// manyNetworks has more networks than sentences and line colours, twins, and
// a workload with two numbers of streams.
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
	_, o := specimenResult()
	for name, res := range awkward() {
		for _, f := range Formats() {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				got := write(t, f.Name, res, o)
				if at := notNumber.FindStringIndex(got); at != nil {
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
	case "text", "md", "bench":
		if strings.ContainsRune(got, '\x1b') || strings.ContainsRune(got, '\u202e') {
			t.Error("lets control characters through")
		}
		if format == "md" && strings.Contains(got, "<script") {
			t.Error("lets HTML through")
		}
	case "json":
		if !json.Valid([]byte(got)) || strings.Contains(got, ": null") {
			t.Error("is not valid JSON, or has a null")
		}
		if at := strings.IndexFunc(got, unseen); at >= 0 {
			t.Errorf("lets control characters through: %q", got[max(0, at-40):at+1])
		}
	case "csv":
		lines, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || len(lines) == 0 {
			t.Fatalf("cannot be read: %v", err)
		}
		if at := strings.IndexFunc(got, unseen); at >= 0 {
			t.Errorf("lets control characters through: %q", got[max(0, at-40):at+1])
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
		if at := strings.IndexFunc(got, func(r rune) bool { return r != '\t' && unseen(r) }); at >= 0 {
			t.Errorf("lets control characters through: %q", got[max(0, at-40):at+1])
		}
		checkHTML(t, got)
	}
}

// unseen are letters that nobody sees, but for the end of a line.
func unseen(r rune) bool { return r != '\n' && r != '\u00a0' && !unicode.IsPrint(r) }

// TestSpreadsheets: numbers stay numbers, and nothing is run.
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

// checkHTML asks for balanced elements, no scripts but the page's own and
// nothing that is loaded from elsewhere.
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
	results := awkward()
	for _, name := range slices.Sorted(maps.Keys(results)) {
		for _, color := range []bool{false, true} {
			for _, width := range []int{40, 60, 80, 100, 120} {
				got := write(t, "text", results[name], Options{Width: width, Color: color})
				for _, l := range strings.Split(got, "\n") {
					if w := displayWidth(l); w > width {
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
