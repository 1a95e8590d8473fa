package report

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// comparedWith is the specimen's networks of one host, compared with the first of
// them under another name.
func comparedWith(baseline string) (analysis.Result, Options) {
	res, o := specimenResult()
	res.Scenarios = res.Scenarios[:2]
	change := func(c *record.Cell) {
		c.Baseline = baseline
		switch c.Network {
		case "host":
			c.Network = baseline
		case "published", "proxy":
			c.Network = "docker:" + c.Network
		}
	}
	for i := range res.Scenarios {
		s := &res.Scenarios[i]
		s.Cell.Baseline = baseline
		for j := range s.Rows {
			change(&s.Rows[j].Cell)
		}
	}
	var trials []record.Trial
	for _, t := range o.Trials {
		if t.Cell.Hosts == 1 {
			change(&t.Cell)
			trials = append(trials, t)
		}
	}
	o.Trials = trials
	return res, o
}

func TestGoldenBaseline(t *testing.T) {
	res, o := comparedWith("docker:native")
	o.Width = 100
	golden(t, "baseline-100.text", write(t, "text", res, o))
}

// TestBaselineHasItsName holds that no format calls a network native that is a
// container network.
func TestBaselineHasItsName(t *testing.T) {
	res, o := comparedWith("sharedns")
	swept := res
	swept.Scenarios = nil
	for _, clients := range []int{1, 2, 4} {
		for _, s := range res.Scenarios {
			s.Cell.Clients = clients
			rows := append([]analysis.Row{}, s.Rows...)
			for i := range rows {
				rows[i].Cell.Clients = clients
			}
			s.Rows = rows
			swept.Scenarios = append(swept.Scenarios, s)
		}
	}
	tags := regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<[^>]*>`)
	for name, r := range map[string]analysis.Result{"one scenario": res, "a sweep": swept} {
		for _, format := range []string{"text", "md", "html"} {
			got := write(t, format, r, o)
			if format == "html" {
				got = tags.ReplaceAllString(got, " ")
			}
			if at := regexp.MustCompile(`(?i)native`).FindStringIndex(got); at != nil {
				t.Errorf("%s of %s says %q", format, name, got[max(0, at[0]-60):min(len(got), at[1]+20)])
			}
			if !strings.Contains(got, "sharedns") {
				t.Errorf("%s of %s does not name the baseline", format, name)
			}
		}
	}
}

// TestBaselineTellsCellsApart holds that formats for programs say which network a
// figure is compared with.
func TestBaselineTellsCellsApart(t *testing.T) {
	res, o := comparedWith("docker:native")
	for format, want := range map[string]string{
		"bench": "/baseline=docker:native/placement=", "openmetrics": `,baseline="docker:native"}`, "csv": ",docker:native\n",
	} {
		if got := write(t, format, res, o); !strings.Contains(got, want) {
			t.Errorf("%s does not say %s", format, want)
		}
	}
	var report struct {
		Scenarios []struct {
			Baseline string
			Networks []struct {
				Network string
				Native  bool
			}
		}
	}
	if err := json.Unmarshal([]byte(write(t, "json", res, o)), &report); err != nil {
		t.Fatal(err)
	}
	for _, s := range report.Scenarios {
		if s.Baseline != "docker:native" || !s.Networks[0].Native || s.Networks[0].Network != s.Baseline {
			t.Errorf("%+v", s)
		}
	}
}
