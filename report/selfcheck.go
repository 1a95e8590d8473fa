package report

import (
	"fmt"
	"strings"

	"nettoll/analysis"
	"nettoll/plan"
)

// SelfChecked reports whether equal networks were found equal.
func SelfChecked(c analysis.FalseAlarms) string {
	all := []string{fmt.Sprintf("Self-check: one network, measured as if it were two, %d %s of %d rounds, each in the metric that its cell is ranked by; false alarms: %d.",
		c.Comparisons, plural(c.Comparisons, "comparison"), c.Block, c.Alarms)}
	if c.Comparisons == 0 {
		return all[0] + fmt.Sprintf(" That is too little for a result: %s.", c.More)
	}
	all = append(all, fmt.Sprintf("Rate %.1f%% (%v interval %.1f to %.1f%%); the level promises at most %s.",
		100*c.Observed, plan.Ratio(1-c.Level), 100*c.Low, 100*c.High, analysis.Percent(c.Level)))
	switch c.Outcome {
	case analysis.Different:
		all = append(all, fmt.Sprintf("There are more false alarms than the level promises (%s: %d in %d): do not trust small differences on this machine.",
			c.Worst.Kind.Title, c.Worst.Alarms, c.Worst.Comparisons))
	case analysis.Same:
		all = append(all, "That is what the level promises.")
	default:
		all = append(all, "These are too few comparisons to tell whether that is what the level promises: "+c.More+".")
	}
	return strings.Join(all, " ")
}
