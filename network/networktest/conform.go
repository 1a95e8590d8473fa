// Package networktest is the conformance suite of networks: one suite for all, on every platform.
// It also writes the networks' pages of the documentation, from real networks.
package networktest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"nettoll/internal/testutil/turn"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// Conform runs the suite on a network in the lab.
func Conform(t *testing.T, tech network.Driver) { ConformAfter(t, usualWarmup, tech) }

// ConformEach runs the suite on each of several networks.
func ConformEach(t *testing.T, drivers ...network.Driver) {
	for _, tech := range drivers {
		t.Run(tech.Name, func(t *testing.T) { Conform(t, tech) })
	}
}

// ConformAfter runs it with longer warm-ups, for networks that lose the first large packets: their
// tunnels are narrower than the MTU of containers, which learn this only by path MTU discovery.
func ConformAfter(t *testing.T, warmup time.Duration, tech network.Driver) {
	s := suite{alone: true}
	on := newSubject(lab.New(), "", tech)
	on.warmup = warmup
	s.add(t, on)
	s.run(t)
}

// ConformOn runs the suite on networks of a platform. prefix precedes their names in cells. Hosts
// may take long to start, such as those with engines: all networks use the same ones before others
// are requested. Networks that are not the platform's own rotate, since there they prove only that
// containers' namespaces are within reach. So do crowds: the ways in which they differ from pairs
// are the same for all networks.
func ConformOn(t *testing.T, p platform.Platform, prefix string, techs ...network.Driver) {
	ConformWith(t, p, prefix, "", techs...)
}

// ConformWith is ConformOn for networks that flags of nettoll run change, and that have pages of their own for these flags.
// The platform must build them as with these flags.
func ConformWith(t *testing.T, p platform.Platform, prefix, flags string, techs ...network.Driver) {
	s := suite{alone: len(techs) == 1}
	_, s.clusters = p.(kube.Provider)
	for _, tech := range techs {
		on := newSubject(p, prefix, tech)
		on.flags = flags
		s.add(t, on)
	}
	s.run(t)
}

func (s *suite) run(t *testing.T) {
	lanes := [][]int{{1, 2, 3}}
	if s.clusters { // each number of hosts has clusters of its own, and most of the time is spent waiting for them
		lanes = [][]int{{1}, {2, 3}}
	}
	var running sync.WaitGroup
	for _, lane := range lanes {
		running.Go(func() {
			for _, hosts := range lane {
				s.each(t, fmt.Sprintf("hosts=%d", hosts), hosts, func(t *testing.T, on *subject) { on.conform(t, hosts) })
			}
		})
	}
	running.Wait()
	for _, on := range s.subjects {
		if len(on.sections) > 0 { // otherwise only a part of the suite was run
			t.Run("page of "+on.Name, func(t *testing.T) { page(t, on) })
		}
	}
}

// suite holds the networks that can be built here.
type suite struct {
	subjects []*subject
	alone    bool // there is only one network, which the test is named after already
	clusters bool // hosts are nodes of clusters
	guests   int  // number of networks so far that are not the platform's own
}

// add adds a network to the suite, or skips it if it cannot be built here.
func (s *suite) add(t *testing.T, on *subject) {
	err := on.Probe(t.Context(), on.platform)
	switch {
	case err == nil:
		if on.engines && !on.own() {
			due := false
			t.Run(on.Name, func(t *testing.T) {
				turn.Rotate(t, s.guests)
				due = true
			})
			if s.guests++; !due {
				return
			}
		}
		on.place = len(s.subjects)
		s.subjects = append(s.subjects, on)
	case s.alone:
		skipLacking(t, err)
	default:
		t.Run(on.Name, func(t *testing.T) { skipLacking(t, err) })
	}
}

// conform builds networks on the given number of hosts.
func (s *subject) conform(t *testing.T, hosts int) {
	switch {
	case !s.engines:
		t.Run("traffic", func(t *testing.T) { traffic(t, s, hosts) })
	case hosts <= 2:
		t.Run("traffic", func(t *testing.T) {
			s.alternate(t, hosts)
			engineTraffic(t, s, hosts)
		})
	}
	if s.own() && hosts != 2 {
		t.Run("crowd", func(t *testing.T) {
			turn.Rotate(t, s.place+hosts)
			engineCrowd(t, s, hosts)
		})
	}
	if hosts <= 2 {
		t.Run("network", func(t *testing.T) {
			s.alternate(t, hosts+1)
			comesAndGoes(t, s, hosts)
		})
	}
}

// alternate has a network of an engine, which takes seconds to build, measured on one number of hosts and taken down on
// the other in every run. Those that are not the platform's own take turns as a whole.
func (s *subject) alternate(t *testing.T, i int) {
	t.Helper()
	if s.engines && s.own() && len(s.Hosts) > 1 {
		turn.Alternate(t, s.place+i, "docker", "platform/docker", "kube", "platform/kubernetes", "network/networktest", "internal/plumb")
	}
}

// each runs a part of the suite on all networks that support the number of hosts.
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

// subject is a kind of network under test.
type subject struct {
	network.Driver
	platform platform.Platform
	prefix   string
	flags    string // of nettoll run; see ConformWith
	warmup   time.Duration
	place    int            // index in the suite
	engines  bool           // hosts run engines: they are kept, and networks take seconds to build
	engine   string         // text that introduces the page, if any
	version  string         // of the engine
	mu       sync.Mutex     // of what follows: numbers of hosts may be tested at the same time
	sections map[int]string // of the page, by the number of hosts
	paths    map[int]string // the part of each section on the path
}

func newSubject(p platform.Platform, prefix string, tech network.Driver) *subject {
	return &subject{Driver: tech, platform: p, prefix: prefix, warmup: usualWarmup, engines: p.Info().Stood != nil, sections: map[int]string{}, paths: map[int]string{}}
}

// network returns its name in cells.
func (s *subject) network() string { return s.prefix + s.Name }

// own reports whether the network is the platform's own, rather than one set up there by code that
// is tested in the lab.
func (s *subject) own() bool { return s.HostsOn != nil }

// largeMTU returns a large MTU of the underlay that the network can use.
func (s *subject) largeMTU() int {
	const jumbo = 9000
	if s.MTU > 0 {
		return min(jumbo, s.MTU)
	}
	return jumbo
}

// slow reports whether its networks take seconds to build, because of engines or of daemons that
// have to converge.
func (s *subject) slow() bool { return s.engines || s.Startup >= time.Second }

// families returns the IP versions that it carries.
func (s *subject) families() []network.Family {
	if len(s.Families) == 0 {
		return []network.Family{network.IPv4, network.IPv6}
	}
	return record.Each(s.Families, func(v int) network.Family { return network.Family(v) })
}

// skipLacking skips the test of a network that lacks something here. The test fails instead if the network claims to be
// unsupported although the kernel was built with all the options that it names, or if a program is missing that is required
// (see platformtest.Require).
func skipLacking(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, fs.ErrPermission) { // an ordinary user may lack it anywhere
		t.Skip(err)
	}
	var missing *platform.Unsupported
	if !errors.Is(err, platform.ErrUnsupported) || !errors.As(err, &missing) {
		t.Fatal(err)
	}
	if missing.Remedy == "" {
		t.Errorf("%v: no remedy", err)
	}
	if missing.Program != "" {
		platformtest.Require(t, filepath.Base(missing.Program), err)
	}
	options := regexp.MustCompile(`CONFIG_\w+`).FindAllString(missing.Option, -1)
	if len(options) == 0 {
		t.Fatalf("unexpected skip: %v", err)
	}
	for _, o := range options {
		if !platformtest.KernelHas(t, o) {
			t.Skip(err)
		}
	}
	t.Fatalf("unexpected skip: the kernel has %s: %v", missing.Option, err)
}
