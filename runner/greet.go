package runner

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/sampler"
)

// greetTime is how long the first packet may take to cross a network that is said to be
// ready.
const greetTime = 5 * time.Second

// greet waits until a packet has crossed between all pairs, in each direction, once for
// each IP version: daemons that say that they are connected may not carry anything yet.
func (s *session) greet(ctx context.Context, f network.Family, links []link) error {
	within := s.r.patience(greetTime)
	var pairs []sampler.Pair
	var of []link
	seen := map[[2]platform.Endpoint]bool{}
	for _, l := range links {
		ends := [2]platform.Endpoint{l.client.Endpoint, l.server.Endpoint}
		if seen[ends] { // by another process in the same container
			continue
		}
		seen[ends] = true
		pairs = append(pairs, sampler.Pair{
			Client: l.client, Server: l.server,
			At: netip.AddrPortFrom(l.toServer, uint16(l.spare)), Own: netip.AddrPortFrom(l.atServer, uint16(l.spare)),
		})
		of = append(of, l)
	}
	unmet, err := sampler.Meet(ctx, pairs, within)
	if err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	if unmet != nil {
		l := of[unmet.Pair]
		return fmt.Errorf("%s gets no answer within %v from %s at %s: %s", l.client.Name(), within, l.server.Name(), l.toServer, unmet.Last)
	}
	if s.greeted == nil {
		s.greeted = map[network.Family]bool{}
	}
	s.greeted[f] = true
	return nil
}
