package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nettoll/record"
)

// Resumable returns an error if the run cannot be resumed: if no suite could ask for its cells and settings, with
// what is known now. A run file may come from anywhere, and resuming it builds what its cells describe. The error
// is one line and names the setting, or the first cell, that is at fault.
func Resumable(cells []record.Cell, set record.Settings, known Known) error {
	const twins = 2 // of each cell, in a self-check
	if n := len(cells); n == 0 || n > twins*MaxCells {
		return fmt.Errorf("it has %d cells, and must have 1 to %d", n, twins*MaxCells)
	}
	limits := limitsOf(set)
	if err := CheckLimits(set); err != nil {
		return fmt.Errorf("settings: %w", unadvised(err))
	}
	for i, c := range cells {
		suite, err := suiteOf(c, limits)
		var possible []record.Cell
		if err == nil {
			possible, err = suite.expand(known)
		}
		single := c
		single.Twin = 0
		if err == nil && !slices.Contains(possible, single) {
			err = errors.New("no suite has such a cell")
		}
		if err != nil {
			return fmt.Errorf("cells[%d], %s: %w", i, c.Network, unadvised(err))
		}
	}
	return together(cells, set.SelfCheck)
}

// together returns an error if no suite has these cells at once: if one is there twice, is compared with one that is not, or is a twin
// without a self-check, or the reverse.
func together(cells []record.Cell, selfCheck bool) error {
	there := map[record.Cell]bool{}
	for i, c := range cells {
		if there[c] {
			return fmt.Errorf("cells[%d], %s: it is there before", i, c.Network)
		}
		there[c] = true
	}
	for i, c := range cells {
		other := c
		other.Twin = 3 - c.Twin
		switch {
		case selfCheck && (c.Twin == 0 || c.Network != c.Native() || !there[other]):
			return fmt.Errorf("cells[%d], %s: it is no twin of a baseline, as all cells of a self-check are", i, c.Network)
		case !selfCheck && c.Twin != 0:
			return fmt.Errorf("cells[%d], %s: it is a twin, and the run is no self-check", i, c.Network)
		case !there[c.Against()]:
			return fmt.Errorf("cells[%d], %s: the cell is not there that it is compared with", i, c.Network)
		}
	}
	return nil
}

// CheckLimits finds the first of a run's settings that no suite could have. The error is a *FieldError.
func CheckLimits(set record.Settings) error {
	return limitsOf(set).firstFault(Suite.checkNumbers, Suite.checkTimes, Suite.checkRounds)
}

// unadvised strips from a suite's fault the advice, which is meant for authors of suites.
func unadvised(err error) error {
	text, in := err.Error(), ""
	if fault, ok := errors.AsType[*FieldError](err); ok {
		field, _, _ := strings.Cut(fault.Field, "[")
		in, text = field+": ", fault.Text
	}
	text, _, _ = strings.Cut(text, "; ")
	return errors.New(in + text)
}

func limitsOf(set record.Settings) Suite {
	return Suite{
		Duration: seconds(set.Duration), Warmup: seconds(set.Warmup), TimeBudget: seconds(set.Budget),
		Precision: Ratio(set.Precision), Confidence: Ratio(set.Confidence), MinRounds: set.MinRounds, MaxRounds: set.MaxRounds,
		Turns: set.Turns, Together: set.Together,
		EqualWithin: cmp.Or(Ratio(set.EqualWithin), record.DefaultEqualWithin), // run files from before this was a setting have none
	}
}

// suiteOf returns the suite of one cell, within limits.
func suiteOf(c record.Cell, s Suite) (Suite, error) {
	underlay, err := ParseUnderlay(c.Underlay)
	s.Networks, s.Baseline, s.Hosts, s.Families = []string{c.Network}, c.Native(), []int{c.Hosts}, []int{c.Family}
	s.Workloads = []Workload{{Name: c.Workload, Options: c.Options}}
	s.Tools, s.Placements = []string{c.Tool}, []string{c.Placement}
	s.Servers, s.Clients, s.Processes = []int{c.Servers}, []int{c.Clients}, []int{max(c.Processes, 1)}
	s.Underlay, s.Conditions = []Underlay{underlay}, Conditions{}
	for _, d := range record.Dimensions(record.Condition) {
		if d.IsSet(c) {
			s.SetCondition(d, []any{d.Value(c)})
		}
	}
	return s, err
}
