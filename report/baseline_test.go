package report

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// comparedWith returns the specimen's networks of one host, compared with the first of them under another name.
func comparedWith(baseline string) (analysis.Result, Options) {
	return comparedOver(baseline, 1)
}

// comparedOver is comparedWith for several numbers of clients.
func comparedOver(baseline string, clients ...int) (analysis.Result, Options) {
	f := specimenFile()
	f.Run.Cells, f.Trials = nil, nil
	for _, n := range clients {
		one := specimenFile()
		keep(one, func(c *record.Cell) bool {
			c.Baseline, c.Clients = baseline, n
			switch c.Network {
			case "host":
				c.Network = baseline
			case "published", "proxy":
				c.Network = "docker:" + c.Network
			}
			return c.Hosts == 1
		})
		for i := range one.Trials {
			t := &one.Trials[i]
			t.Endpoints = slices.Clone(t.Endpoints) // specimens share them
			for e := range t.Endpoints {
				t.Endpoints[e].Open = t.Cell.Network == baseline // a machine of the user's
			}
		}
		f.Run.Cells, f.Trials = append(f.Run.Cells, one.Run.Cells...), append(f.Trials, one.Trials...)
	}
	return analysis.Analyze(f), Options{Trials: f.Trials}
}

func TestGoldenBaseline(t *testing.T) {
	res, o := comparedWith("docker:native")
	o.Width = 100
	golden(t, "baseline-100.text", write(t, "text", res, o))
}

// TestBaselineHasItsName checks that no format calls a container network native.
func TestBaselineHasItsName(t *testing.T) {
	res, o := comparedWith("sharedns")
	swept, _ := comparedOver("sharedns", 1, 2, 4)
	unsaid := map[string]*regexp.Regexp{
		"html":        regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<[^>]*>`),
		"openmetrics": regexp.MustCompile(`nettoll_\w+`), // names are the same in all runs
	}
	for name, r := range map[string]analysis.Result{"one scenario": res, "a sweep": swept} {
		for _, format := range []string{"text", "md", "html", "openmetrics"} {
			got := write(t, format, r, o)
			if names := unsaid[format]; names != nil {
				got = names.ReplaceAllString(got, " ")
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

// TestBaselineTellsCellsApart checks that formats for programs name the network that a figure is compared with.
func TestBaselineTellsCellsApart(t *testing.T) {
	res, o := comparedWith("docker:native")
	for format, want := range map[string]string{
		"bench": "/baseline=docker:native/placement=", "openmetrics": `,baseline="docker:native"}`, "csv": ",docker:native,",
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
	readJSON(t, res, o, &report)
	for _, s := range report.Scenarios {
		if s.Baseline != "docker:native" || !s.Networks[0].Native || s.Networks[0].Network != s.Baseline {
			t.Errorf("%+v", s)
		}
	}
}

// TestHostsAreNamespaces checks that no format presents two namespaces of one machine as two
// machines, and that none calls machines namespaces.
func TestHostsAreNamespaces(t *testing.T) {
	lab := specimenFile()
	machines := specimenFile()
	for i := range machines.Trials {
		if tr := &machines.Trials[i]; tr.CPU != nil && tr.Cell.Hosts > 1 {
			use := *tr.CPU
			use.Hosts = []record.HostCPU{{Host: "machine 1"}, {Host: "machine 2"}}
			tr.CPU = &use
		}
	}
	for want, file := range map[bool]*record.File{true: lab, false: machines} {
		res := analysis.Analyze(file)
		for _, f := range Formats() {
			got := write(t, f.Name, res, Options{Trials: file.Trials})
			if says := strings.Contains(got, analysis.Namespaces(true).String()); says != want {
				t.Errorf("%s says %q: %v, want %v", f.Name, analysis.Namespaces(true).String(), says, want)
			}
		}
	}
	all := Charts(analysis.Analyze(lab))
	for _, c := range all {
		if strings.HasPrefix(c.Title, "Two hosts") && !strings.Contains(c.Title, analysis.Namespaces(true).String()) {
			t.Errorf("chart %q", c.Title)
		}
	}
}

// TestEveryHeadingSaysWhatHostsAre checks every place that counts hosts, and every list of
// JSON: sweeps that differ in their number of hosts, tools, prices and settling networks.
func TestEveryHeadingSaysWhatHostsAre(t *testing.T) {
	var cells []record.Cell
	for _, hosts := range []int{1, 2} {
		for _, streams := range []int{1, 4, 16} {
			for _, tool := range []string{"engine", "iperf3"} {
				for _, network := range []string{record.Native(hosts), "vxlan"} {
					cells = append(cells, record.Cell{Network: network, Hosts: hosts, Family: 4, Servers: 1, Clients: 1, Tool: tool,
						Workload: record.TCPStream, Placement: record.PlacementDistinct, Underlay: "m4.large:rate=1gbit", Options: record.Options{Streams: streams}})
				}
			}
		}
	}
	res, o := matrixResult("hosts", cells)
	res.Settlings = []analysis.Settling{{Cell: record.Cell{Network: "vxlan", Hosts: 2, Servers: 1, Clients: 1}, Built: 6, Silent: 5,
		Wait: analysis.Spread{Median: 3, Max: 30}, Namespaces: true}}
	res.InForce = []analysis.InForce{{Cell: res.Settlings[0].Cell, Of: analysis.OfService, Summary: analysis.Summary{N: 1, Estimate: 1, Median: 1, Min: 1, Max: 1}, Namespaces: true}}
	if len(res.Sweeps) == 0 || len(res.Agreements) == 0 || len(res.Prices) == 0 {
		t.Fatalf("%d sweeps, %d agreements, %d prices", len(res.Sweeps), len(res.Agreements), len(res.Prices))
	}
	counted := regexp.MustCompile(`(?i)two hosts(.{0,30})`)
	for _, format := range []string{"text", "md", "html"} {
		got, _, _ := strings.Cut(write(t, format, res, o), `<section aria-labelledby="trials"`) // trials, where a column gives the hosts
		found := counted.FindAllStringSubmatch(strings.Join(strings.Fields(got), " "), -1)
		for _, m := range found {
			if !strings.HasPrefix(m[1], " ("+analysis.Namespaces(true).String()+")") {
				t.Errorf("%s says %q", format, m[0])
			}
		}
		if len(found) < 5 {
			t.Errorf("%s: only %q", format, found)
		}
	}
	all := Charts(res)
	prices := 0
	for _, c := range all {
		if strings.Contains(c.Title, "two hosts") && !strings.Contains(c.Title, analysis.Namespaces(true).String()) {
			t.Errorf("chart %q", c.Title)
		}
		if strings.Contains(c.Title, "dollar") && strings.Contains(c.Title, analysis.Namespaces(true).String()) {
			prices++
		}
	}
	if prices != 6 { // tools and streams of two hosts
		t.Errorf("%d charts of prices say what hosts are", prices)
	}
	var lists map[string]json.RawMessage
	readJSON(t, res, o, &lists)
	for _, name := range []string{"scenarios", "sweeps", "agreements", "per_price", "settlings", "in_force"} {
		var items []struct {
			Hosts    int
			Cell     record.Cell
			HostsAre string `json:"hosts_are"`
		}
		if err := json.Unmarshal(lists[name], &items); err != nil || len(items) == 0 {
			t.Fatal(name, err)
		}
		for _, i := range items {
			if two := max(i.Hosts, i.Cell.Hosts) == 2; two != (i.HostsAre == analysis.Namespaces(true).String()) {
				t.Errorf("%s: hosts of %+v are %q", name, i, i.HostsAre)
			}
		}
	}
}
