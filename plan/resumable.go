package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nettoll/record"
)

// Resumable refuses to go on with what no suite could ask for, with what is known now: a
// run file comes from anywhere, and whoever goes on with it builds what its cells say. The
// error is one line and names the setting, or the first cell, that is at fault.
func Resumable(cells []record.Cell, set record.Settings, known Known) error {
	const twins = 2 // of each, in a self-check
	if n := len(cells); n == 0 || n > twins*MaxCells {
		return fmt.Errorf("it has %d cells, and must have 1 to %d", n, MaxCells)
	}
	limits := limitsOf(set)
	for _, check := range []func(Suite) error{Suite.checkTimes, Suite.checkRounds} {
		if err := check(limits); err != nil {
			return fmt.Errorf("settings: %w", unadvised(err))
		}
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
	return nil
}

// unadvised is a fault of a suite without the advice, which is for those who write suites.
func unadvised(err error) error {
	text, in := err.Error(), ""
	var fault *FieldError
	if errors.As(err, &fault) {
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
		EqualWithin: cmp.Or(Ratio(set.EqualWithin), record.DefaultEqualWithin), // run files of before it was a setting have none
	}
}

// suiteOf is the suite of one cell, within limits.
func suiteOf(c record.Cell, s Suite) (Suite, error) {
	underlay, err := ParseUnderlay(c.Underlay)
	s.Networks, s.Baseline, s.Hosts, s.Families = []string{c.Network}, c.Native(), []int{c.Hosts}, []int{c.Family}
	s.Workloads = []Workload{{Name: c.Workload, Options: c.Options}}
	s.Tools, s.Placements = []string{c.Tool}, []string{c.Placement}
	s.Servers, s.Clients, s.Processes = []int{c.Servers}, []int{c.Clients}, []int{max(c.Processes, 1)}
	s.Underlay, s.MTU, s.Rules, s.Neighbours, s.Offload = []Underlay{underlay}, some(c.MTU), some(c.Rules), some(c.Neighbours), some(c.Offload)
	s.Normalize = c.Normalize
	return s, err
}

// some is a list of the value, or none where it is what it is without.
func some[T comparable](value T) []T {
	var without T
	if value == without {
		return nil
	}
	return []T{value}
}
