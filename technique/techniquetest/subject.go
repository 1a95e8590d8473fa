package techniquetest

import (
	"context"

	"nettoll/internal/dockerd"
	"nettoll/platform"
	"nettoll/technique"
)

// subject is a technique under test.
type subject struct {
	technique.Technique
	platform platform.Platform
	prefix   string
	engines  bool           // hosts run engines: they stay, and networks take seconds to build
	engine   string         // introduces the page, where there is one
	version  string         // of the engine
	sections map[int]string // of the page, by the number of hosts
}

func newSubject(p platform.Platform, prefix string, tech technique.Technique) *subject {
	_, engines := p.(dockerd.Provider)
	return &subject{Technique: tech, platform: p, prefix: prefix, engines: engines, sections: map[int]string{}}
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

func (*subject) always() bool { return true }

// sizes are the numbers of servers and clients that networks are built with. Where
// engines take long to build them the large one is for traffic alone.
func (s *subject) sizes() [][2]int {
	if s.engines {
		return [][2]int{{1, 1}}
	}
	return [][2]int{{1, 1}, {2, 3}}
}

// families are the IP versions that it carries.
func (s *subject) families() []technique.Family {
	f, ok := s.Technique.(interface{ Families() []int })
	if !ok || len(f.Families()) == 0 {
		return []technique.Family{technique.IPv4, technique.IPv6}
	}
	var all []technique.Family
	for _, v := range f.Families() {
		all = append(all, technique.Family(v))
	}
	return all
}
