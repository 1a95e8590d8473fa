package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
)

// mostRows is how many cells a dry run lists one by one.
const mostRows = 60

// dryRun prints what would be measured, what would not, and how long it would take. It finds out what cannot run
// here in the same way as a run, if possible: without a lab, or an engine, it prints the plan, and why nothing of
// it can be tried.
func (a *app) dryRun(ctx context.Context, f runFlags, cells []record.Cell, skips []plan.Skip, set record.Settings) error {
	show := func(ctx context.Context) error {
		if err := f.agree(ctx, cells, &set); err != nil {
			return err
		}
		found, err := a.look(ctx, f, cells)
		if err != nil {
			return err
		}
		return a.showPlan(f, cells, skips, set, found)
	}
	err := a.where(ctx, &f, cells, show)
	if !refused(ctx, err) {
		return err
	}
	return a.showPlan(f, cells, skips, set, allOfIt(err))
}

// allOfIt says why nothing can run here.
func allOfIt(err error) impossible {
	return impossible{reasons: []reason{{[]string{"all of it"}, told(err.Error())}}}
}

// showPlan prints a plan, and the parts of it that cannot run here.
func (a *app) showPlan(f runFlags, cells []record.Cell, skips []plan.Skip, set record.Settings, found impossible) error {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	if len(cells) > mostRows {
		planGroups(w, cells)
	} else {
		planRows(w, cells)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(found.reasons) > 0 {
		fmt.Fprintln(&out, "\ncannot run here")
		for _, r := range found.reasons {
			fmt.Fprintf(&out, "  %s\n", r)
		}
	}
	if len(skips) > 0 {
		fmt.Fprintln(&out, "\nnot measured")
		for _, s := range skips {
			fmt.Fprintf(&out, "  %s: %s\n", strings.TrimSpace(s.Network+" "+s.Underlay), s.Reason)
		}
	}
	if found.nothing(cells) != nil {
		fmt.Fprintln(&out, "\nNothing that was to be compared, or nothing that it is compared with, can run here: the run would end at once.")
		_, err := a.stdout.Write(out.Bytes())
		return err
	}
	_, long := f.rest(cells, set) // a run asks before it has found out what cannot run
	cells = found.possible(cells)
	e := plan.Estimate(cells, set, f.known())
	fmt.Fprintf(&out, "\n%s in %s per round; a round takes about %s.\n", counted(e.Cells, "cell"), counted(e.Visits, "network"), rough(e.Round))
	if e.InTurns > 0 {
		fmt.Fprintf(&out, "%s at once; %d cells take turns there, and %s whole trials.\n", standing(e), e.InTurns, have(e.Cells-e.InTurns))
	}
	for _, text := range divided(e) {
		fmt.Fprintf(&out, "%s.\n", text)
	}
	rounds, time := lasting(e)
	fmt.Fprintf(&out, "%s, %s, %s.\n", rounds, time, e.Assumes())
	rest, _ := f.rest(cells, set)
	switch {
	case f.done == 0:
	case rest.MaxRounds == 0:
		fmt.Fprintf(&out, "Rounds done already: %d; none is left.\n", f.done)
	default:
		fmt.Fprintf(&out, "Rounds done already: %d; up to %d more take up to about %s.\n", f.done, rest.MaxRounds, rough(rest.Max))
	}
	if e.Comparisons > 0 {
		fmt.Fprintf(&out, "Primary comparisons: %d; a verdict among that many takes at least %d rounds.\n", e.Comparisons, e.Verdict)
		if _, late := f.late(rest, set); late > 0 {
			fmt.Fprintf(&out, "If a busy machine leaves time for fewer, the run takes up to %s more.\n", rough(late))
		}
	}
	for _, text := range []string{costly(e), short(rest, set, f.done), f.fewer(rest, set)} {
		if text != "" {
			fmt.Fprintf(&out, "Note: %s.\n", text)
		}
	}
	if long && !f.yes {
		what := "This"
		if len(found.reasons) > 0 {
			what = "Counting what cannot run here, this"
		}
		fmt.Fprintf(&out, "%s may be more than an hour, which needs --yes or --time-budget.\n", what)
	}
	_, err := a.stdout.Write(out.Bytes())
	return err
}

// lasting describes how many rounds a run takes, and how long these take.
func lasting(e plan.Forecast) (rounds, time string) {
	if e.MinRounds == e.MaxRounds {
		return counted(e.MaxRounds, "round"), rough(e.Max).String()
	}
	return fmt.Sprintf("%d to %d rounds", e.MinRounds, e.MaxRounds), fmt.Sprintf("%s to %s", rough(e.Min), rough(e.Max))
}

// standing describes how the networks of a round stand at once.
func standing(e plan.Forecast) string {
	if e.Groups == 1 {
		return "All networks stand"
	}
	return fmt.Sprintf("Networks stand in %d groups, those of each", e.Groups)
}

// divided describes what is done about networks that have no room at once.
func divided(e plan.Forecast) (texts []string) {
	if e.Cut > 1 {
		texts = append(texts, fmt.Sprintf("Networks that cannot all stand at once are cut into %d parts, each with its own baseline", e.Cut))
	}
	switch e.Single {
	case 0:
	case 1:
		texts = append(texts, "One network cannot stand beside others there, and has whole trials")
	default:
		texts = append(texts, fmt.Sprintf("%d networks cannot stand beside others there, and have whole trials, one after the other", e.Single))
	}
	switch e.Alone {
	case 0:
		return texts
	case 1:
		return append(texts, "One network is too large to stand beside its baseline, which is measured at another time of the round")
	}
	return append(texts, fmt.Sprintf("%d networks are too large to stand beside their baseline, which is measured at another time of the round", e.Alone))
}

// have returns the number of cells as a subject with its verb.
func have(n int) string {
	switch n {
	case 0:
		return "none has"
	case 1:
		return "one has"
	}
	return fmt.Sprintf("%d have", n)
}

// costly returns a note if what is built and started takes much of a run's time, with the networks that it is for; or "".
func costly(e plan.Forecast) string {
	if len(e.Slow) == 0 {
		return ""
	}
	return fmt.Sprintf("about %s of each round of %s go to building and starting %s", rough(e.Starting), rough(e.Round), listed(e.Slow))
}

// listed names a few of several networks.
func listed(names []string) string {
	const most = 4
	if n := len(names); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// fewer returns a note if a time budget has no room for the rounds that were asked for at least, or "".
func (f *runFlags) fewer(rest plan.Forecast, set record.Settings) string {
	if !f.given("min-rounds") || !rest.Bounded || f.done+rest.MaxRounds >= set.MinRounds {
		return ""
	}
	return fmt.Sprintf("there is time for about %d of the %d rounds of --min-rounds: give --time-budget %s",
		f.done+rest.MaxRounds, set.MinRounds, analysis.Budget(float64(set.MinRounds-f.done)*rest.Round.Seconds()))
}

// short returns a note if a run will have too few rounds for any verdict, with the flags that would give it enough;
// or "". e is about the rounds after those that are done.
func short(e plan.Forecast, set record.Settings, done int) string {
	if !e.Short(done) {
		return ""
	}
	most := set.MaxRounds
	limit, flag := fmt.Sprintf("the limit is %d", most), fmt.Sprintf("--max-rounds %d", e.Verdict)
	if e.Bounded {
		most = e.MaxRounds
		limit = fmt.Sprintf("there is time for about %d", most)
		if done > 0 {
			limit += " more"
		}
		flag = "--time-budget " + analysis.Budget(float64(e.Verdict-done)*e.Round.Seconds())
		if set.MaxRounds < e.Verdict {
			flag += fmt.Sprintf(" --max-rounds %d", e.Verdict)
		}
	}
	rounds, among, fewer := "rounds", fmt.Sprintf("among %d comparisons", e.Comparisons), ", or make fewer comparisons"
	if most == 1 {
		rounds = "round"
	}
	if e.Comparisons == 1 {
		among, fewer = "on one comparison", ""
	}
	return fmt.Sprintf("%s %s, too few for a verdict %s, which takes %d: differences will be shown, and none can be claimed; give %s%s",
		limit, rounds, among, e.Verdict, flag, fewer)
}

func planRows(w *tabwriter.Writer, cells []record.Cell) {
	fmt.Fprintln(w, "network\thosts\tfamily\tservers×clients\tworkload\ttool\tplacement\t")
	for _, c := range cells {
		last := given(c, func(d record.Dimension) string { return d.Name }, record.Link, record.Condition)
		if c.IsNative() {
			last = append(last, baselineText(c))
		}
		fmt.Fprintf(w, "%s\t%d\tIPv%d\t%s\t%s\t%s\t%s\t%s\n", networkText(c), c.Hosts, c.Family, topologyText(c),
			workloadText(c), c.Tool, c.Placement, strings.Join(last, ", "))
	}
}

// planGroups prints, for each number of hosts, the axes whose values are crossed.
func planGroups(w *tabwriter.Writer, cells []record.Cell) {
	axes := []planAxis{
		{"networks", func(c record.Cell) string {
			if c.IsNative() {
				return networkText(c) + " (" + baselineText(c) + ")"
			}
			return networkText(c)
		}},
		{"families", func(c record.Cell) string { return fmt.Sprintf("IPv%d", c.Family) }},
		{"servers×clients", topologyText},
		{"traffic", func(c record.Cell) string { return workloadText(c) + " by " + c.Tool }},
		{"placements", func(c record.Cell) string { return c.Placement }},
	}
	for _, d := range record.Dimensions(record.Link, record.Condition) {
		axes = append(axes, planAxis{d.Name, func(c record.Cell) string {
			if !d.IsSet(c) {
				return unchanged
			}
			return d.Text(c)
		}})
	}
	for i, h := range record.Distinct(cells, func(c record.Cell) int { return c.Hosts }) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		here := record.Those(cells, func(c record.Cell) bool { return c.Hosts == h })
		crossed := 1
		var lines []string
		for _, axis := range axes {
			values := record.Distinct(here, axis.of)
			crossed *= len(values)
			if len(values) > 1 || values[0] != unchanged {
				lines = append(lines, fmt.Sprintf("  %s\t%s\n", axis.name, strings.Join(values, "; ")))
			}
		}
		which := "each of these with each"
		if crossed != len(here) { // not all networks have both IP versions, nor all tools
			which = "out of these"
		}
		fmt.Fprintf(w, "%s\t%s, %s:\n%s", hosts(h), counted(len(here), "cell"), which, strings.Join(lines, ""))
	}
}

func toolOf(c record.Cell) string { return c.Tool }

// baselineText describes the cell that others are compared with: native, unless another network was chosen.
func baselineText(c record.Cell) string {
	if c.Baseline != "" {
		return "baseline"
	}
	return "native"
}

// unchanged stands for a condition that is not set.
const unchanged = "default"

// planAxis is a property that cells are crossed by.
type planAxis struct {
	name string
	of   func(record.Cell) string
}

// networkText names a cell's network, and which of two twins it is, as reports do.
func networkText(c record.Cell) string {
	if c.Twin == 0 {
		return c.Network
	}
	return fmt.Sprintf("%s #%d", c.Network, c.Twin)
}

func topologyText(c record.Cell) string {
	text := fmt.Sprintf("%d×%d", c.Servers, c.Clients)
	if c.Processes > 1 {
		text += fmt.Sprintf("×%d", c.Processes)
	}
	return text
}

// workloadText writes the workload with its options as flags.
func workloadText(c record.Cell) string {
	return strings.Join(append([]string{c.Workload}, given(c, record.Dimension.Flag, record.Option)...), " ")
}

// given lists the dimensions of some parts of a cell that are set, each under what name calls it, and with its value.
func given(c record.Cell, name func(record.Dimension) string, parts ...record.Part) (all []string) {
	for _, d := range record.Dimensions(parts...) {
		switch {
		case !d.IsSet(c):
		case d.Switch():
			all = append(all, name(d))
		default:
			all = append(all, name(d)+" "+d.Text(c))
		}
	}
	return all
}
