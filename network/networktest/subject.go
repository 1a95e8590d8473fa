package networktest

import (
	"time"

	"nettoll/docker/engine"
	"nettoll/network"
	"nettoll/platform"
)

// subject is a kind of network under test.
type subject struct {
	network.Driver
	platform platform.Platform
	prefix   string
	warmup   time.Duration
	place    int            // among those of the suite
	engines  bool           // hosts run engines: they stay, and networks take seconds to build
	engine   string         // introduces the page, where there is one
	version  string         // of the engine
	sections map[int]string // of the page, by the number of hosts
	ends     map[int]string // what these say of endpoints and path
}

func newSubject(p platform.Platform, prefix string, tech network.Driver) *subject {
	_, engines := p.(engine.Provider)
	return &subject{Driver: tech, platform: p, prefix: prefix, warmup: usualWarmup, engines: engines, sections: map[int]string{}, ends: map[int]string{}}
}

// network is what cells call it.
func (s *subject) network() string { return s.prefix + s.Name }

// own says that the network is the platform's own, and no other that is plumbed there
// by the code that the lab has tested.
func (s *subject) own() bool { return s.HostsOn != nil }

// largeMTU is a large MTU of the underlay that it can use.
func (s *subject) largeMTU() int {
	const jumbo = 9000
	if s.MTU > 0 {
		return min(jumbo, s.MTU)
	}
	return jumbo
}

// slow says that its networks take seconds to build: with engines, or with daemons that
// have to agree.
func (s *subject) slow() bool { return s.engines || s.Startup >= time.Second }

// families are the IP versions that it carries.
func (s *subject) families() []network.Family {
	if len(s.Families) == 0 {
		return []network.Family{network.IPv4, network.IPv6}
	}
	var all []network.Family
	for _, v := range s.Families {
		all = append(all, network.Family(v))
	}
	return all
}
