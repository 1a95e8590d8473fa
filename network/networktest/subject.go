package networktest

import (
	"context"
	"time"

	"nettoll/internal/dockerd"
	"nettoll/network"
	"nettoll/platform"
)

// subject is a technique under test.
type subject struct {
	network.Technique
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

func newSubject(p platform.Platform, prefix string, tech network.Technique) *subject {
	_, engines := p.(dockerd.Provider)
	return &subject{Technique: tech, platform: p, prefix: prefix, warmup: usualWarmup, engines: engines, sections: map[int]string{}, ends: map[int]string{}}
}

// network is what cells call it.
func (s *subject) network() string { return s.prefix + s.Name() }

// hoster is a technique that knows which hosts of a platform it builds on.
type hoster interface {
	HostsOn(context.Context, platform.Platform, platform.HostRequest) (platform.Hosts, error)
}

// own says that the technique is the platform's own, and no other that is plumbed there
// by the code that the lab has tested.
func (s *subject) own() bool {
	_, own := s.Technique.(hoster)
	return own
}

// largeMTU is a large MTU of the underlay that it can use.
func (s *subject) largeMTU() int {
	if l, ok := s.Technique.(interface{ MaxMTU() int }); ok {
		return min(9000, l.MaxMTU())
	}
	return 9000
}

// slow says that its networks take seconds to build: with engines, or with daemons that
// have to agree.
func (s *subject) slow() bool {
	d, ok := s.Technique.(interface{ Startup() time.Duration })
	return s.engines || ok && d.Startup() >= time.Second
}

// families are the IP versions that it carries.
func (s *subject) families() []network.Family {
	f, ok := s.Technique.(interface{ Families() []int })
	if !ok || len(f.Families()) == 0 {
		return []network.Family{network.IPv4, network.IPv6}
	}
	var all []network.Family
	for _, v := range f.Families() {
		all = append(all, network.Family(v))
	}
	return all
}
