package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"nettoll/analysis"
	"nettoll/record"
)

// ranOver is a result of a run over networks, the first of which is the baseline.
func ranOver(names ...string) analysis.Result {
	res := analysis.Result{Run: record.Run{Started: time.Date(2026, 3, 14, 21, 7, 0, 0, time.UTC)}}
	var s analysis.Scenario
	for i, name := range names {
		s.Rows = append(s.Rows, analysis.Row{Cell: record.Cell{Network: name, Hosts: 1}, Native: i == 0, Status: record.OK})
	}
	res.Scenarios = []analysis.Scenario{s, s}
	return res
}

func TestHeading(t *testing.T) {
	many := []string{"host"}
	for i := range 53 {
		many = append(many, fmt.Sprint("network", i))
	}
	check := ranOver("host", "veth")
	check.Run.Settings.SelfCheck = true
	skipped := ranOver("host", "bridge", "ovs")
	for i := range skipped.Scenarios {
		skipped.Scenarios[i].Rows[2].Status = record.Skipped
	}
	for _, tt := range []struct {
		res  analysis.Result
		want string
	}{
		{ranOver("host", "bridge"), "What bridge costs"},
		{ranOver("host", "bridge", "vxlan"), "What bridge and vxlan cost"},
		{ranOver("host", "a", "b", "c", "d", "e"), "What a, b, c, d and e cost"},
		{ranOver(many...), "What 53 container networks cost"},
		{ranOver("host"), "Measurements of host"},
		{skipped, "What bridge costs"},
		{check, "Self-check of host and veth"},
		{analysis.Result{}, "A run without figures"},
	} {
		if got := heading(tt.res); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestTitleTellsRunsApart: what differs between runs is in the title of their pages.
func TestTitleTellsRunsApart(t *testing.T) {
	res, later, other := ranOver("host", "bridge"), ranOver("host", "bridge"), ranOver("host", "vxlan")
	later.Run.Started = later.Run.Started.Add(time.Minute)
	noted := ranOver("host", "bridge")
	noted.Run.Note = "after the upgrade"
	titles := []string{pageTitle(res, "a.ndjson"), pageTitle(res, "b.ndjson"), pageTitle(later, "a.ndjson"), pageTitle(other, "a.ndjson"), pageTitle(noted, "a.ndjson")}
	for i, title := range titles {
		if slices.Contains(titles[:i], title) {
			t.Errorf("two runs have the title %q", title)
		}
	}
	if want := "bridge · 2026-03-14 21:07 UTC · a.ndjson · nettoll"; titles[0] != want {
		t.Errorf("%q, want %q", titles[0], want)
	}
}

// TestContents: all that has a heading of its own is in the table of contents, and every link on a page leads
// somewhere on it.
func TestContents(t *testing.T) {
	results := awkward()
	_, o := specimenResult()
	for name, res := range results {
		page := write(t, "html", res, o)
		ids, links, headings := map[string]int{}, map[string]bool{}, []string{}
		for z := html.NewTokenizer(strings.NewReader(page)); z.Next() != html.ErrorToken; {
			token := z.Token()
			for _, a := range token.Attr {
				switch {
				case token.Type == html.EndTagToken:
				case a.Key == "id":
					ids[a.Val]++
					if token.Data == "h2" {
						headings = append(headings, a.Val)
					}
				case a.Key == "href":
					links[strings.TrimPrefix(a.Val, "#")] = true
				}
			}
		}
		for link := range links {
			if ids[link] != 1 {
				t.Errorf("%s: %d elements are called %s, which is linked to", name, ids[link], link)
			}
		}
		for _, id := range headings {
			if !links[id] && id != "contents" && id != "short" {
				t.Errorf("%s: %s is not in the table of contents", name, id)
			}
		}
	}
}
