// Package networktest is the conformance suite of networks: one suite for
// all, on every platform. It also writes the networks' pages of the documentation,
// from networks as they really were.
package networktest

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"time"

	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// Conform runs the suite on a network in the lab.
func Conform(t *testing.T, tech network.Driver) { ConformAfter(t, usualWarmup, tech) }

// ConformAfter does so with longer warm-ups, for networks that lose the first large packets:
// their tunnels are narrower than the MTU of containers, which learn it from the path only.
func ConformAfter(t *testing.T, warmup time.Duration, tech network.Driver) {
	s := suite{alone: true}
	on := newSubject(lab.New(), "", tech)
	on.warmup = warmup
	s.add(t, on)
	s.run(t)
}

// ConformOn runs the suite on networks of a platform, whose names in cells have the
// prefix. Hosts may take long to start, as those with engines do: all networks use
// some before others are asked for. Networks that are not the platform's own rotate: they
// prove there but one thing, that containers' namespaces are within reach. So do crowds, which
// differ from pairs by what is the same for all networks.
func ConformOn(t *testing.T, p platform.Platform, prefix string, techs ...network.Driver) {
	s := suite{alone: len(techs) == 1}
	for _, tech := range techs {
		s.add(t, newSubject(p, prefix, tech))
	}
	s.run(t)
}

func (s *suite) run(t *testing.T) {
	for _, hosts := range []int{1, 2, 3} {
		s.each(t, fmt.Sprintf("hosts=%d", hosts), hosts, func(t *testing.T, on *subject) { on.conform(t, hosts) })
	}
	for _, on := range s.subjects {
		if len(on.sections) == len(on.Hosts) { // else but a part of the suite was run
			t.Run("page of "+on.Name, func(t *testing.T) { page(t, on) })
		}
	}
}

// suite is the networks that can be built here.
type suite struct {
	subjects []*subject
	alone    bool // there is one network, whose name the test has already
	guests   int  // networks so far that are not the platform's own
}

// add takes a network up, unless it cannot be built here.
func (s *suite) add(t *testing.T, on *subject) {
	err := on.Probe(t.Context(), on.platform)
	skip := func(t *testing.T) {
		if !errors.Is(err, fs.ErrPermission) { // which an ordinary user may lack anywhere
			mustBeMissing(t, err)
		}
		t.Skip(err)
	}
	switch {
	case err == nil:
		if on.engines && !on.own() {
			due := false
			t.Run(on.Name, func(t *testing.T) {
				testutil.Rotate(t, s.guests)
				due = true
			})
			if s.guests++; !due {
				return
			}
		}
		on.place = len(s.subjects)
		s.subjects = append(s.subjects, on)
	case s.alone:
		skip(t)
	default:
		t.Run(on.Name, skip)
	}
}

// conform builds networks on so many hosts.
func (s *subject) conform(t *testing.T, hosts int) {
	switch {
	case !s.engines:
		t.Run("traffic", func(t *testing.T) { traffic(t, s, hosts) })
	case hosts <= 2:
		t.Run("traffic", func(t *testing.T) { engineTraffic(t, s, hosts) })
	}
	if s.own() && hosts != 2 {
		t.Run("crowd", func(t *testing.T) {
			testutil.Rotate(t, s.place+hosts)
			engineCrowd(t, s, hosts)
		})
	}
	if hosts <= 2 {
		t.Run("network", func(t *testing.T) { comesAndGoes(t, s, hosts) })
	}
}

// each runs a part of the suite on all networks that are for so many hosts.
func (s *suite) each(t *testing.T, part string, hosts int, run func(*testing.T, *subject)) {
	some := slices.DeleteFunc(slices.Clone(s.subjects), func(on *subject) bool {
		return !slices.Contains(on.Hosts, min(hosts, 2)) // 2 is any number above 1
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
			t.Run(on.Name, func(t *testing.T) { run(t, on) })
		}
	})
}
