// Package uplink finds the network between machines of the user's: the devices and addresses by which they reach each other.
package uplink

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nettoll/internal/nl"
	"nettoll/platform"
	"nettoll/record"
)

// Asked is a machine that can be asked for its addresses and routes.
type Asked interface {
	Addresses(context.Context) ([]nl.Address, error)
	// Way returns how it sends packets to an address.
	Way(ctx context.Context, to netip.Addr) (nl.Way, error)
}

// Machine is one of the machines.
type Machine struct {
	Asked
	Name string // as the user named it
	// Given is the address that the user has given; the zero value if none.
	Given netip.Addr
	// Reached are addresses at which something else reaches it: a login, a client, the other nodes of a swarm. They decide
	// if the machines have several networks in common, where they are its own and lead to the others.
	Reached []netip.Addr
}

// Usable reports whether an address is of a kind by which other machines can reach a machine.
func Usable(a netip.Addr) bool {
	return a.IsValid() && !a.IsLoopback() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() && !a.IsMulticast()
}

// Join finds the devices and addresses by which the first machine and each of the others reach each other, in the order of
// the machines. A machine that is alone has none.
func Join(ctx context.Context, all []Machine) ([]platform.Uplink, error) {
	links := make([]platform.Uplink, len(all))
	if len(all) < 2 {
		return links, nil
	}
	has := make([][]nl.Address, len(all))
	for i, m := range all {
		var err error
		if has[i], err = m.Addresses(ctx); err != nil {
			return nil, err
		}
	}
	first := all[0]
	for i, m := range all[1:] {
		var at pair
		for _, six := range versions(first, m) {
			p, ok, err := between(ctx, first, m, has[0], has[i+1], six, at)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			was := links[0].Addr(six)
			if !was.IsValid() && links[0].Device != p.a.Device { // others have no address of this IP version
				was = links[0].Addr(!six)
			}
			if i > 0 && was.IsValid() && was != p.a.At {
				return nil, fmt.Errorf("%s reaches %s from %s, and others from %s; name its address with --address %s=ADDRESS", first.Name, m.Name, p.a.At.Addr(), was.Addr(), first.Name)
			}
			lies(&links[0], p.a)
			lies(&links[i+1], p.b)
			at = p
		}
		if at == (pair{}) && same(has[0], has[i+1]) {
			return nil, fmt.Errorf("%s and %s have the same addresses: they are one machine, or have nothing that is not the other's, too", first.Name, m.Name)
		}
		if at == (pair{}) {
			return nil, fmt.Errorf("no addresses are known by which %s and %s reach each other; name them with --address %s=ADDRESS,%s=ADDRESS (%s; %s)",
				first.Name, m.Name, first.Name, m.Name, first.knows(own(has[0], has[i+1])), m.knows(own(has[i+1], has[0])))
		}
	}
	return links, nil
}

// versions returns, for each IP version, whether it is IPv6: first that of which an address is given, or else reached, since the
// other has to cross the same devices.
func versions(a, b Machine) []bool {
	known := []netip.Addr{a.Given, b.Given}
	if !a.Given.IsValid() && !b.Given.IsValid() {
		known = slices.Concat(a.Reached, b.Reached)
	}
	has := func(six bool) bool {
		return slices.ContainsFunc(known, func(at netip.Addr) bool { return Usable(at) && at.Is6() == six })
	}
	if has(true) && !has(false) {
		return []bool{true, false}
	}
	return []bool{false, true}
}

// lies notes an address of a machine towards the others.
func lies(l *platform.Uplink, a nl.Address) {
	if a.At.Addr().Is6() {
		l.Addr6 = a.At
	} else {
		l.Addr4 = a.At
	}
	l.Device, l.MTU = a.Device, a.MTU
}

// pair has addresses of two machines by which each reaches the other, with their devices.
type pair struct{ a, b nl.Address }

// String describes the pair for users.
func (p pair) String() string {
	return fmt.Sprintf("%s and %s (%s, %s)", p.a.At.Addr(), p.b.At.Addr(), p.a.Device, p.b.Device)
}

// sameDevices reports whether packets between both pairs cross the same devices of the machines.
func (p pair) sameDevices(o pair) bool { return p.a.Device == o.a.Device && p.b.Device == o.b.Device }

// between returns a pair of one IP version. An address that is given is used; otherwise one at which the machines are
// reached, and otherwise one on a network that both are on, if there is only one such network. An address that both
// machines have, such as that of Docker's bridge, does not count. If the machines have a pair of the other IP version,
// this one crosses the same devices, or is given.
func between(ctx context.Context, a, b Machine, ofA, ofB []nl.Address, six bool, other pair) (p pair, ok bool, err error) {
	ofA, ofB = candidates(ofA, ofB, six), candidates(ofB, ofA, six)
	if p.a, err = given(a, ofA, six); err != nil {
		return p, false, err
	}
	if p.b, err = given(b, ofB, six); err != nil {
		return p, false, err
	}
	if p.a.At.IsValid() && p.b.At.IsValid() {
		return p, true, nil
	}
	try := func(targets []netip.Addr) (found []pair) {
		for _, to := range targets {
			w, ok := mutual(ctx, a, b, ofA, ofB, to)
			switch {
			case !ok || p.a.At.IsValid() && w.a.At.Addr() != p.a.At.Addr():
			case other != (pair{}) && !w.sameDevices(other):
			case !slices.ContainsFunc(found, w.sameDevices):
				found = append(found, w)
			}
		}
		return found
	}
	if p.b.At.IsValid() {
		found := try([]netip.Addr{p.b.At.Addr()})
		return chosen(a, b, found)
	}
	if found := try(reached(ctx, a, b, six)); len(found) > 0 {
		return found[0], true, nil
	}
	var near []netip.Addr
	for _, one := range ofB {
		if slices.ContainsFunc(ofA, func(o nl.Address) bool { return neighbours(one.At, o.At) }) {
			near = append(near, one.At.Addr())
		}
	}
	return chosen(a, b, try(near))
}

// chosen returns the only pair. Several are over several networks, and which of them is meant is for the user to say.
func chosen(a, b Machine, found []pair) (p pair, ok bool, err error) {
	switch len(found) {
	case 0:
		return p, false, nil
	case 1:
		return found[0], true, nil
	}
	ways := record.Each(found, pair.String)
	return p, false, fmt.Errorf("%s and %s reach each other over several networks, by %s; name one with --address %s=%s,%s=%s",
		a.Name, b.Name, strings.Join(ways, ", or by "), a.Name, found[0].a.At.Addr(), b.Name, found[0].b.At.Addr())
}

// reached returns addresses of b, in the order in which they are tried: those at which it is reached, and those from which
// it sends to where a is reached, since b itself may not be reached directly.
func reached(ctx context.Context, a, b Machine, six bool) (all []netip.Addr) {
	all = slices.Clone(b.Reached) // those that are no addresses of b itself are left out by mutual
	for _, at := range a.Reached {
		if !Usable(at) || at.Is6() != six {
			continue
		}
		if w, err := b.Way(ctx, at); err == nil {
			all = append(all, w.At.Addr())
		}
	}
	return all
}

// mutual returns the pair by which a sends to an address of b, if b also sends from there to where a sends from.
func mutual(ctx context.Context, a, b Machine, ofA, ofB []nl.Address, to netip.Addr) (p pair, ok bool) {
	if !slices.ContainsFunc(ofB, func(one nl.Address) bool { return one.At.Addr() == to }) {
		return p, false
	}
	w, err := a.Way(ctx, to)
	if err != nil || !slices.ContainsFunc(ofA, func(one nl.Address) bool { return one.At == w.At }) {
		return p, false
	}
	back, err := b.Way(ctx, w.At.Addr())
	return pair{w.Address, back.Address}, err == nil && back.At.Addr() == to
}

// candidates returns the addresses of one IP version that the other machine does not have as well.
func candidates(all, others []nl.Address, six bool) []nl.Address {
	return record.Those(all, func(one nl.Address) bool {
		return one.At.Addr().Is6() == six && Usable(one.At.Addr()) &&
			!slices.ContainsFunc(others, func(o nl.Address) bool { return o.At.Addr() == one.At.Addr() })
	})
}

// own returns the candidates of both IP versions.
func own(all, others []nl.Address) []nl.Address {
	return slices.Concat(candidates(all, others, false), candidates(all, others, true))
}

// knows says which of its own addresses can be given for a machine.
func (m Machine) knows(own []nl.Address) string {
	all := []string{"none of its own"}
	for i, a := range own {
		all = append(all[:i], fmt.Sprintf("%s on %s", a.At.Addr(), a.Device))
	}
	return m.Name + " has " + strings.Join(all, ", ")
}

// same reports whether two machines have the same addresses.
func same(a, b []nl.Address) bool {
	return len(a) > 0 && len(own(a, b)) == 0 && len(own(b, a)) == 0
}

// neighbours reports whether each of two addresses is on the other's network.
func neighbours(a, b netip.Prefix) bool { return a.Contains(b.Addr()) && b.Contains(a.Addr()) }

// given returns the address that the user has given for a machine, if it is of the IP version.
func given(m Machine, has []nl.Address, six bool) (nl.Address, error) {
	if !m.Given.IsValid() || m.Given.Is6() != six {
		return nl.Address{}, nil
	}
	i := slices.IndexFunc(has, func(one nl.Address) bool { return one.At.Addr() == m.Given })
	if i < 0 {
		return nl.Address{}, fmt.Errorf("--address %s=%s: that is not an address of %s alone; of this IP version, %s", m.Name, m.Given, m.Name, m.knows(has))
	}
	return has[i], nil
}

// Ways describes between which addresses and devices traffic of machines goes, which have the names and uplinks.
func Ways(names []string, links []platform.Uplink) (all []string) {
	end := func(i int) string {
		at := links[i].Addr4
		if !at.IsValid() {
			at = links[i].Addr6
		}
		return fmt.Sprintf("%s (%s, %s)", names[i], at.Addr(), links[i].Device)
	}
	for i := 1; i < len(links); i++ {
		all = append(all, end(0)+" and "+end(i))
	}
	return all
}
