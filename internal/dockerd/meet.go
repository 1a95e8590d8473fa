package dockerd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nettoll/agent"
	"nettoll/sampler"
)

// Pair is a client, which may be the host itself, and a container that are to meet.
type Pair struct {
	From      *Host
	Container *Container // of the client; nil: the host itself
	To        *Container
	At        netip.AddrPort // where the client reaches the other; a port on which nobody listens
	Own       netip.AddrPort // what that is at the other
}

// Meet waits until packets cross between all pairs, both ways; see sampler.Meet.
func Meet(ctx context.Context, pairs []Pair, within time.Duration) (unmet *sampler.Unmet, err error) {
	outside := map[*Host]*agent.Client{}
	defer func() {
		for _, a := range outside {
			err = errors.Join(err, a.Close())
		}
	}()
	all := make([]sampler.Pair, len(pairs))
	for i, p := range pairs {
		all[i] = sampler.Pair{Server: p.To.first, At: p.At, Own: p.Own}
		if p.Container != nil {
			all[i].Client = p.Container.first
			continue
		}
		if outside[p.From] == nil {
			a, err := agent.Start(ctx, p.From)
			if err != nil {
				return nil, err
			}
			outside[p.From] = a
		}
		all[i].Client = outside[p.From]
	}
	unmet, err = sampler.Meet(ctx, all, within)
	if err != nil {
		err = fmt.Errorf("docker: %w", err)
	}
	return unmet, err
}
