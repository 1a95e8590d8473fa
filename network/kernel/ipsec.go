package kernel

import (
	"context"
	"crypto/rand"
	"fmt"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
	"nettoll/network"
)

// direction is encrypted traffic from one host's containers to another's.
type direction struct {
	from, to *plumb.Host
	family   network.Family
}

// mesh holds the ESP state of all directions between the hosts of a site.
type mesh map[direction]nl.ESP

// encrypt makes each pair of hosts encrypt the traffic between their containers.
func encrypt(s *plumb.Site) (mesh, error) {
	if err := s.RouteContainers(); err != nil {
		return nil, err
	}
	m := mesh{}
	for _, from := range s.Hosts {
		for _, to := range s.Others(from) {
			for _, f := range []network.Family{network.IPv4, network.IPv6} {
				if err := m.add(s, direction{from, to, f}); err != nil {
					return nil, err
				}
			}
		}
	}
	return m, nil
}

// leastESP is how much ESP adds to a packet at least, in bytes: the outer IPv4 header 20, ESP's own header 8, the nonce 8 and the check
// value 16 of AES-GCM, and 2 behind the padding (RFC 4106).
const leastESP = 54

// firstSPI is the first SPI that is not reserved (RFC 4303).
const firstSPI = 256

func (m mesh) add(s *plumb.Site, d direction) error {
	six := d.family == network.IPv6
	e := nl.ESP{
		From: d.from.OnUnderlay(false), To: d.to.OnUnderlay(false),
		Src: plumb.Subnet(d.from.Index, six), Dst: plumb.Subnet(d.to.Index, six),
		SPI: uint32(firstSPI + len(m)),
	}
	if _, err := rand.Read(e.Key[:]); err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	m[d] = e
	for _, h := range []*plumb.Host{d.to, d.from} {
		s.Made("IPsec of "+h.Name(), func(context.Context) error { return e.Remove(h.NS) })
	}
	if err := e.Receive(d.to.NS); err != nil {
		return fmt.Errorf("%s: %w", d.to.Name(), err)
	}
	return wrap.Error(e.Send(d.from.NS), "%s", d.from.Name())
}

func (m mesh) side(at *plumb.Node, peer *plumb.Host, f network.Family) []network.Hop {
	return []network.Hop{at.Host.Hop(bridge, "bridge"), m.hop(at.Host, peer, f)}
}

// hop counts the packets that a host has encrypted for another one and decrypted from it. There is
// no device that could count them.
func (m mesh) hop(at, other *plumb.Host, f network.Family) network.Hop {
	of := func(d direction) plumb.Counts {
		return func() (packets, bytes uint64, err error) { return m[d].Count(at.NS) }
	}
	return network.Hop{
		Name: at.Name() + "/esp-" + toward(other), Kind: network.Rule,
		Read: plumb.Sum(of(direction{at, other, f}), of(direction{other, at, f})),
	}
}
