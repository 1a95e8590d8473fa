package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// metricUnits are the units of the text format, by those of the run file.
var metricUnits = map[string]string{
	"bit/s": "bits_per_second", "1/s": "per_second", "s": "seconds", "ratio": "ratio",
	"cpu-s/GB": "cpu_seconds_per_gigabyte", "cpu-s": "cpu_seconds", "segments": "segments",
}

// family is one metric family: all its samples stand together.
type family struct {
	name, unit, help string
	samples          []string
}

// writeOpenMetrics writes gauges: for every metric the estimate, the ratio to native or the difference
// from it, each with its interval, and the outcome of the comparison.
func writeOpenMetrics(w io.Writer, res analysis.Result, _ Options) error {
	var b strings.Builder
	b.WriteString("# TYPE nettoll_run info\n# HELP nettoll_run The run that the figures are of.\n")
	fmt.Fprintf(&b, "nettoll_run_info{id=%s,suite=%s,version=%s,kernel=%s} 1\n", labelValue(res.Run.ID), labelValue(res.Run.Suite),
		labelValue(res.Run.Version), labelValue(res.Run.Machine.Kernel))
	var families []family
	for _, k := range record.Kinds() {
		families = append(families, metricFamilies(k, res)...)
	}
	for _, f := range append(families, trialFamily(res)) {
		if len(f.samples) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# TYPE %s gauge\n", f.name)
		if f.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, f.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n", f.name, f.help)
		for _, s := range f.samples {
			b.WriteString(f.name + s + "\n")
		}
	}
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// metricFamilies are the families of one metric.
func metricFamilies(k record.Kind, res analysis.Result) []family {
	unit := metricUnits[k.Unit]
	named := func(part, unit, help string) family {
		name := "nettoll_" + k.Name + part
		if unit != "" && !strings.HasSuffix(name, "_"+unit) {
			name += "_" + unit
		}
		return family{name: name, unit: unit, help: help}
	}
	all := []family{
		named("", unit, capital(k.Title)+", estimate over all trials."),
		named("_low", unit, "Lower end of the interval of the estimate."),
		named("_high", unit, "Upper end of the interval of the estimate."),
		named("_vs_native", "ratio", capital(k.Title)+" over that of native, paired by round."),
		named("_vs_native_low", "ratio", "Lower end of the interval of the ratio."),
		named("_vs_native_high", "ratio", "Upper end of the interval of the ratio."),
		named("_minus_native", unit, capital(k.Title)+" less that of native, paired by round."),
		named("_minus_native_low", unit, "Lower end of the interval of the difference."),
		named("_minus_native_high", unit, "Upper end of the interval of the difference."),
		{name: "nettoll_" + k.Name + "_outcome", help: "1 for what the interval allows to be said: different, same, not-known or untested; the verdict is that among all comparisons of its family."},
	}
	for s, row := range res.Rows() {
		f, ok := row.Figure(k.Name)
		if !ok {
			continue
		}
		labels := cellLabels(s, row.Cell)
		add := func(at int, v float64) { all[at].samples = append(all[at].samples, labels+"} "+exact(v)) }
		interval := func(at int, value float64, i analysis.Interval) {
			add(at, value)
			if !i.IsZero() {
				add(at+1, i.Low)
				add(at+2, i.High)
			}
		}
		interval(0, f.Estimate, f.Interval)
		if c := f.Ratio; c != nil {
			interval(3, c.Value, c.Interval)
		}
		if c := f.Difference; c != nil {
			interval(6, c.Value, c.Interval)
		}
		if c := f.Comparison(); c != nil {
			says := ",outcome=" + labelValue(c.Outcome.String())
			if c.Judged {
				says += ",verdict=" + labelValue(c.Verdict.String())
			}
			all[9].samples = append(all[9].samples, labels+says+"} 1")
		}
	}
	return all
}

// trialFamily counts trials by status, so that missing ones show.
func trialFamily(res analysis.Result) family {
	f := family{name: "nettoll_trials", help: "Trials by what came of them."}
	for s, row := range res.Rows() {
		for _, status := range []record.Status{record.OK, record.Skipped, record.Failed, record.Invalid} {
			if n := row.Counts[status]; n > 0 {
				f.samples = append(f.samples, cellLabels(s, row.Cell)+",status="+labelValue(string(status))+"} "+strconv.Itoa(n))
			}
		}
	}
	return f
}

// cellLabels is a cell as labels, with the brace that opens them.
func cellLabels(s analysis.Scenario, c record.Cell) string {
	parts := slices.DeleteFunc(described(s, c), func(p coordinate) bool { return p.value == "" })
	var b strings.Builder
	b.WriteByte('{')
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.name + "=" + labelValue(p.value))
	}
	return b.String()
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelValue(s string) string { return `"` + labelEscapes.Replace(printable(s)) + `"` }
