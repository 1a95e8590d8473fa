package plan

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Skip is something that a suite would measure and does not.
type Skip struct {
	// Network that is not measured, as the source calls it.
	Network string `yaml:"network,omitempty"`
	// Underlay on which nothing is measured.
	Underlay string `yaml:"underlay,omitempty"`
	// Why not.
	Reason string `yaml:"reason"`
}

// Published are the repeats and durations of the measurement that a suite
// reproduces. What is left out is as the suite says.
type Published struct {
	// Measured window of one trial.
	Duration time.Duration `yaml:"duration,omitempty"`
	// Number of rounds, neither more nor fewer.
	Rounds int `yaml:"rounds,omitempty"`
	// Workloads, where the suite has others.
	Workloads []Workload `yaml:"workloads,omitempty" jsonschema:"minItems=1"`
	// Tools, where the suite has others.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
}

// Published is the suite with its source's own repeats and durations, and without
// a time budget.
func (s Suite) Published() (Suite, error) {
	p := s.AsPublished
	if p == nil {
		return s, errors.New("the suite does not say how its source measured")
	}
	s.AsPublished, s.TimeBudget, s.Turns = nil, 0, false
	at := maps.Clone(s.at)
	moved := func(field string) {
		for k := range at {
			if k == field || strings.HasPrefix(k, field+"[") {
				delete(at, k)
			}
		}
		for k, v := range s.at {
			if rest, ok := strings.CutPrefix(k, "as_published."+field); ok {
				at[field+rest] = v
			}
		}
	}
	if p.Duration != 0 {
		s.Duration = p.Duration
		moved("duration")
	}
	if p.Rounds != 0 {
		s.MinRounds, s.MaxRounds = p.Rounds, p.Rounds
		for _, field := range []string{"min_rounds", "max_rounds"} {
			if where, ok := at["as_published.rounds"]; ok {
				at[field] = where
			}
		}
	}
	if p.Workloads != nil {
		s.Workloads = p.Workloads
		moved("workloads")
	}
	if p.Tools != nil {
		s.Tools = p.Tools
		moved("tools")
	}
	s.at = at
	return s, nil
}

// Skipped is what the suite leaves out, with reasons: what it says itself, but for
// networks that it measures all the same; networks that the platform which it was
// moved to does not have; and underlays that cannot be shaped.
func Skipped(s Suite, known Known) []Skip {
	var skips []Skip
	measured := make(map[string]bool)
	for _, n := range s.Networks {
		measured[n] = true
	}
	for _, t := range s.regained(known) {
		measured[t.Name] = true
	}
	for _, k := range s.Skips {
		if k.Network == "" || !measured[k.Network] {
			skips = append(skips, k)
		}
	}
	skips = append(skips, Undriven(s, known)...)
	if _, elsewhere, err := s.networks(known); err == nil {
		skips = append(skips, elsewhere...)
	}
	if _, shapeless, err := s.conditions(known); err == nil {
		skips = append(skips, shapeless...)
	}
	return skips
}

func (s Suite) checkPublished() error {
	for i, k := range s.Skips {
		field := fmt.Sprintf("skips[%d]", i)
		switch {
		case k.Network == "" && k.Underlay == "":
			return s.fault(field, "says neither network nor underlay; write which one is skipped")
		case k.Reason == "":
			return s.fault(field, "gives no reason; write for example reason: it is not a network yet")
		case strings.ContainsFunc(k.Network+k.Underlay+k.Reason, isControl):
			return s.fault(field, "must be one line; leave out line breaks and control characters")
		}
	}
	if s.AsPublished == nil {
		return nil
	}
	for _, f := range []struct {
		name string
		zero bool
	}{{"as_published.duration", s.AsPublished.Duration == 0}, {"as_published.rounds", s.AsPublished.Rounds == 0}} {
		if f.zero && s.written(f.name) {
			return s.fault(f.name, "must be above zero; leave it out for what the suite says")
		}
	}
	p, err := s.Published()
	if err != nil {
		return err
	}
	for _, check := range []func(Suite) error{Suite.checkWorkloads, Suite.checkTimes, Suite.checkRounds} {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}
