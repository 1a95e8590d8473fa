package ssh

import (
	"context"
	"net/netip"

	"nettoll/internal/uplink"
	"nettoll/platform"
)

// join finds the devices and addresses by which the first machine and each of the others reach each other. Logins tell
// which network is meant, if the machines have several.
func (s *SSH) join(ctx context.Context, all []*machine) error {
	var of []uplink.Machine
	for _, m := range all {
		of = append(of, uplink.Machine{Asked: m, Name: m.target, Given: s.o.At[m.target], Reached: []netip.Addr{m.reach}})
	}
	links, err := uplink.Join(ctx, of)
	if err != nil {
		return err
	}
	for i, m := range all {
		m.Link = links[i]
	}
	return nil
}

// Ways describes between which addresses and devices traffic of several hosts goes.
func (s *SSH) Ways() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	var links []platform.Uplink
	for _, m := range s.machines {
		names, links = append(names, m.target), append(links, m.Link)
	}
	return uplink.Ways(names, links)
}
