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

// metricUnits maps units of the run file to those of the text format.
var metricUnits = map[string]string{
	"bit/s": "bits_per_second", "1/s": "per_second", "s": "seconds", "ratio": "ratio",
	"cpu-s/GB": "cpu_seconds_per_gigabyte", "cpu-s": "cpu_seconds", "segments": "segments",
}

// family is one metric family: all its samples are adjacent.
type family struct {
	name, unit, help string
	samples          []string
}

// writeOpenMetrics writes gauges: for every metric the estimate, the ratio to the
// baseline or the difference from it, each with its interval, and the outcome of the comparison.
func writeOpenMetrics(w io.Writer, res analysis.Result, _ Options) error {
	var b strings.Builder
	b.WriteString("# TYPE nettoll_run info\n# HELP nettoll_run The run that the figures belong to.\n")
	fmt.Fprintf(&b, "nettoll_run_info{id=%s,suite=%s,version=%s,kernel=%s} 1\n", labelValue(res.Run.ID), labelValue(res.Run.Suite),
		labelValue(res.Run.Version), labelValue(ofMachines(res, func(m record.Machine) string { return m.Kernel })))
	families := slices.Concat(record.Each(record.Kinds(), func(k record.Kind) []family { return metricFamilies(k, res) })...)
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

// metricFamilies returns the families of one metric.
func metricFamilies(k record.Kind, res analysis.Result) (all []family) {
	unit, title := metricUnits[k.Unit], capital(k.Title)
	at := map[string]int{}
	add := func(number, part, unit, help string) {
		f := family{name: "nettoll_" + k.Name + part, unit: unit, help: help}
		if unit != "" && !strings.HasSuffix(f.name, "_"+unit) {
			f.name += "_" + unit
		}
		at[number], all = len(all), append(all, f)
	}
	for _, of := range [][4]string{
		{"estimate", "", unit, title + ", estimate over all trials."},
		{"ratio", "_vs_native", "ratio", title + " divided by that of the baseline, paired by round."},
		{"difference", "_minus_native", unit, title + " minus that of the baseline, paired by round."},
	} {
		add(of[0], of[1], of[2], of[3])
		add(of[0]+"_low", of[1]+"_low", of[2], "Lower end of the interval of the "+of[0]+".")
		add(of[0]+"_high", of[1]+"_high", of[2], "Upper end of the interval of the "+of[0]+".")
	}
	add("outcome", "_outcome", "", "1 for the outcome that the interval supports: different, same, not-known or untested; the verdict takes all comparisons of the family into account.")
	for s, row := range res.Rows() {
		f, ok := row.Figure(k.Name)
		if !ok {
			continue
		}
		sample := func(number, labels string, v float64) {
			to := &all[at[number]]
			to.samples = append(to.samples, labels+"} "+exact(v))
		}
		labels := cellLabels(s, row.Cell)
		for number, v := range numbersOf(f) {
			sample(number, labels, v)
		}
		if c := f.Comparison(); c != nil {
			labels += ",outcome=" + labelValue(c.Outcome.String())
			if c.Judged {
				labels += ",verdict=" + labelValue(c.Verdict.String())
			}
			sample("outcome", labels, 1)
		}
	}
	return all
}

// trialFamily counts trials by status, so that missing ones are visible.
func trialFamily(res analysis.Result) family {
	f := family{name: "nettoll_trials", help: "Trials by status."}
	for s, row := range res.Rows() {
		for _, status := range []record.Status{record.OK, record.Skipped, record.Failed, record.Invalid} {
			if n := row.Counts[status]; n > 0 {
				f.samples = append(f.samples, cellLabels(s, row.Cell)+",status="+labelValue(string(status))+"} "+strconv.Itoa(n))
			}
		}
	}
	return f
}

// cellLabels returns the labels of a cell, with the opening brace.
func cellLabels(s analysis.Scenario, c record.Cell) string {
	parts := slices.DeleteFunc(described(s, c), func(p coordinate) bool { return p.value == "" })
	return "{" + strings.Join(record.Each(parts, func(p coordinate) string { return p.name + "=" + labelValue(p.value) }), ",")
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelValue(s string) string { return `"` + labelEscapes.Replace(Printable(s)) + `"` }
