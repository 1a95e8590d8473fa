package report

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/sampler"
)

// timed returns the specimen with times until services and policies are in force.
func timed() (analysis.Result, Options) {
	res, o := specimenResult()
	of := func(network, what string, services, policies int, s analysis.Summary) analysis.InForce {
		return analysis.InForce{Of: what, Summary: s,
			Cell: record.Cell{Network: network, Hosts: 1, Servers: 1, Clients: 1, Setup: record.Setup{Services: services, Policies: policies}}}
	}
	exact := func(v float64) analysis.Summary {
		return analysis.Summary{N: 8, Estimate: v, Median: v, Min: v / 2, Max: 2 * v, Interval: analysis.Interval{Low: 0.9 * v, High: 1.1 * v, Level: 0.96}}
	}
	few := analysis.Summary{N: 3, Estimate: 0.25, Median: 0.2, Min: 0.125, Max: 0.5, Interval: analysis.Interval{Low: 0.125, High: 0.5}}
	res.InForce = []analysis.InForce{
		of("kube-proxy-ipvs", analysis.OfService, 1000, 0, exact(0.75)), of("kube-proxy-ipvs", analysis.OfService, 1, 0, exact(0.0625)),
		of("kubernetes:service", analysis.OfService, 1, 0, few), of("kubernetes:pod", analysis.OfPolicy, 0, 10, exact(0.05)),
	}
	return res, o
}

func TestTimesInForce(t *testing.T) {
	res, o := timed()
	text := strings.Join(strings.Fields(write(t, "text", res, o)), " ")
	for _, want := range []string{
		"Time until services and policies are in force", fmt.Sprintf("Greetings were sent every %d ms", sampler.Steady.Milliseconds()),
		"Time until a service is in force, ms, by number of further services", "network 1 1,000", "kube-proxy-ipvs 62.5 ±10% 750 ±10%", "kubernetes:service 250 (125…500) –",
		"Figures are of three to 8 builds. Where they are too few for an interval, the least and the greatest are in brackets.",
		"Time until a policy that admits everything is in force, ms, by number of further policies", "kubernetes:pod 50.0 ±10%", "Each figure is of 8 builds.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("text does not say %q: %s", want, text)
		}
	}
	for format, want := range map[string]string{"md": "| kubernetes:service | 250 (125…500) | – |", "html": "Time until a service is in force, ms"} {
		if got := write(t, format, res, o); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q", format, want)
		}
	}
	lines, err := csv.NewReader(strings.NewReader(write(t, "csv", res, o))).ReadAll()
	iferr.Fatal(t, err)
	var found []string
	for _, l := range lines {
		at := func(name string) string { return l[slices.Index(lines[0], name)] }
		if strings.HasSuffix(at("metric"), "_in_force") {
			found = append(found, strings.Join([]string{at("network"), at("metric"), at("unit"), at("services"), at("policies"), at("family"), at("n"), at("estimate"), at("low"), at("high")}, " "))
		}
	}
	if want := []string{
		"kube-proxy-ipvs service_in_force s 1000   8 0.75 0.675 0.8250000000000001", "kube-proxy-ipvs service_in_force s 1   8 0.0625 0.05625 0.06875",
		"kubernetes:service service_in_force s 1   3 0.25  ", "kubernetes:pod policy_in_force s  10  8 0.05 0.045000000000000005 0.05500000000000001",
	}; !slices.Equal(found, want) {
		t.Errorf("CSV: %q, want %q", found, want)
	}
	var got struct {
		InForce []struct {
			Network, Of      string
			Services, Family int
			N                int
			Estimate, Max    float64
			Interval         *analysis.Interval
		} `json:"in_force"`
	}
	readJSON(t, res, o, &got)
	if all := got.InForce; len(all) != 4 || all[0].Network != "kube-proxy-ipvs" || all[0].Services != 1000 || all[0].Of != analysis.OfService ||
		all[0].Interval == nil || all[2].Interval != nil || all[2].N != 3 || all[2].Max != 0.5 || all[3].Of != analysis.OfPolicy {
		t.Errorf("JSON: %+v", all)
	}
}
