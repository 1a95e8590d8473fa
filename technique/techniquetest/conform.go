// Package techniquetest is the conformance suite of techniques: one suite for
// all, on every platform. It also writes the techniques' pages of the documentation,
// from networks as they really were.
package techniquetest

import (
	"fmt"
	"slices"
	"testing"

	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/technique"
)

// Conform runs the suite on a technique in the lab.
func Conform(t *testing.T, tech technique.Technique) { ConformOn(t, lab.New(), "", tech) }

// ConformOn runs the suite on techniques of a platform, whose names in cells have the
// prefix. Hosts may take long to start, as those with engines do: all techniques use
// some before others are asked for.
func ConformOn(t *testing.T, p platform.Platform, prefix string, techs ...technique.Technique) {
	s := suite{alone: len(techs) == 1}
	for _, tech := range techs {
		s.add(t, newSubject(p, prefix, tech))
	}
	thorough := func(on *subject) bool { return !on.engines || on.own() }
	s.each(t, "several", 1, thorough, func(t *testing.T, on *subject) { several(t, on, 1) })
	s.each(t, "hosts=3", 2, thorough, func(t *testing.T, on *subject) { several(t, on, 3) })
	for _, hosts := range []int{1, 2} {
		s.each(t, fmt.Sprintf("hosts=%d", hosts), hosts, (*subject).always, func(t *testing.T, on *subject) {
			t.Run("traffic", func(t *testing.T) { traffic(t, on, hosts) })
			t.Run("network", func(t *testing.T) { comesAndGoes(t, on, hosts) })
		})
	}
	wired := func(on *subject) bool { return !on.engines }
	s.each(t, "wire", 2, wired, func(t *testing.T, on *subject) { wire(t, on, 2) })
	for _, on := range s.subjects {
		if len(on.sections) == len(on.Hosts()) { // else but a part of the suite was run
			t.Run("page of "+on.Name(), func(t *testing.T) { page(t, on) })
		}
	}
}

// suite is the techniques that can be built here.
type suite struct {
	subjects []*subject
	alone    bool // there is one technique, whose name the test has already
}

// add takes a technique up, unless it cannot be built here.
func (s *suite) add(t *testing.T, on *subject) {
	err := on.Probe(t.Context(), on.platform)
	skip := func(t *testing.T) {
		mustBeMissing(t, err)
		t.Skip(err)
	}
	switch {
	case err == nil:
		s.subjects = append(s.subjects, on)
	case s.alone:
		skip(t)
	default:
		t.Run(on.Name(), skip)
	}
}

// each runs a part of the suite on all techniques that are for so many hosts, 2 being
// any number above 1, and that want it.
func (s *suite) each(t *testing.T, part string, hosts int, wants func(*subject) bool, run func(*testing.T, *subject)) {
	some := slices.DeleteFunc(slices.Clone(s.subjects), func(on *subject) bool {
		return !slices.Contains(on.Hosts(), hosts) || !wants(on)
	})
	if len(some) == 0 {
		return
	}
	t.Run(part, func(t *testing.T) {
		if s.alone {
			run(t, some[0])
			return
		}
		for _, on := range some {
			t.Run(on.Name(), func(t *testing.T) { run(t, on) })
		}
	})
}
