package report

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nettoll/record"
)

var sample = regexp.MustCompile(`^([a-z_][a-z0-9_]*)\{((?:[a-z_]+="(?:[^"\\]|\\["\\n])*",?)*)\} (\S+)$`)

// checkOpenMetrics holds a report to the text format: families together, each
// declared once and before its samples, units at the end of names, no series
// twice, and an end.
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
