package ssh

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/internal/nl"
)

// usable reports whether an address is of a kind by which other machines can reach a machine.
func usable(a netip.Addr) bool {
	return a.IsValid() && !a.IsLoopback() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() && !a.IsMulticast()
}

// join finds the devices and addresses by which the first machine and each of the others reach each other.
func (s *SSH) join(ctx context.Context, all []*machine) error {
	if len(all) < 2 {
		return nil
	}
	has := make([][]nl.Address, len(all))
	for i, h := range all {
		var err error
		if has[i], err = h.Addresses(ctx); err != nil {
			return err
		}
	}
	for i, h := range all[1:] {
		first := all[0]
		var found bool
		for _, six := range []bool{false, true} {
			a, b, ok, err := s.between(ctx, first, h, has[0], has[i+1], six)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if i > 0 && first.address(six) != a.At {
				return fmt.Errorf("%s reaches %s from %s, and others from %s; name its address with --address %s=", first.target, h.target, a.At.Addr(), first.address(six).Addr(), first.target)
			}
			first.lies(a)
			h.lies(b)
			found = true
		}
		if !found {
			return fmt.Errorf("no addresses are known by which %s and %s reach each other; name them with --address %s=ADDRESS,%s=ADDRESS", first.target, h.target, first.target, h.target)
		}
	}
	return nil
}

// address returns the host's address towards the others.
func (h *machine) address(six bool) netip.Prefix {
	if six {
		return h.Link.Addr6
	}
	return h.Link.Addr4
}

// lies notes an address of the host towards the others.
func (h *machine) lies(a nl.Address) {
	if a.At.Addr().Is6() {
		h.Link.Addr6 = a.At
		if h.Link.Device != "" && h.Link.Addr4.IsValid() {
			return
		}
	} else {
		h.Link.Addr4 = a.At
	}
	h.Link.Device, h.Link.MTU = a.Device, a.MTU
}

// between returns addresses of two machines by which each reaches the other, of one IP version. An address that is given
// is used; otherwise one at which a login arrived and that leads back, and otherwise one on a network that both are on.
// An address that both machines have, such as that of Docker's bridge, does not count.
func (s *SSH) between(ctx context.Context, a, b *machine, ofA, ofB []nl.Address, six bool) (at, bt nl.Address, ok bool, err error) {
	ofA, ofB = candidates(ofA, ofB, six), candidates(ofB, ofA, six)
	if at, err = s.given(a, ofA, six); err != nil {
		return at, bt, false, err
	}
	if bt, err = s.given(b, ofB, six); err != nil {
		return at, bt, false, err
	}
	if at.At.IsValid() && bt.At.IsValid() {
		return at, bt, true, nil
	}
	var targets []netip.Addr // of b, in the order in which they are tried
	if bt.At.IsValid() {
		targets = append(targets, bt.At.Addr())
	} else {
		targets = append(targets, b.reach)
		for _, one := range ofB {
			if slices.ContainsFunc(ofA, func(other nl.Address) bool { return neighbours(one.At, other.At) }) {
				targets = append(targets, one.At.Addr())
			}
		}
		if a.reach.IsValid() && a.reach.Is6() == six { // b may not be reached by ssh directly
			if w, err := b.Way(ctx, a.reach); err == nil {
				targets = append(targets, w.At.Addr())
			}
		}
	}
	for _, to := range targets {
		i := slices.IndexFunc(ofB, func(one nl.Address) bool { return one.At.Addr() == to })
		if i < 0 {
			continue
		}
		w, err := a.Way(ctx, to)
		if err != nil || at.At.IsValid() && w.At.Addr() != at.At.Addr() {
			continue
		}
		if !slices.ContainsFunc(ofA, func(one nl.Address) bool { return one.At == w.At }) {
			continue
		}
		back, err := b.Way(ctx, w.At.Addr())
		if err == nil && back.At.Addr() == to {
			return w.Address, back.Address, true, nil
		}
	}
	return at, bt, false, nil
}

// candidates returns the addresses of one IP version that the other machine does not have as well.
func candidates(all, others []nl.Address, six bool) (left []nl.Address) {
	for _, one := range all {
		if one.At.Addr().Is6() == six && usable(one.At.Addr()) &&
			!slices.ContainsFunc(others, func(o nl.Address) bool { return o.At.Addr() == one.At.Addr() }) {
			left = append(left, one)
		}
	}
	return left
}

// neighbours reports whether each of two addresses is on the other's network.
func neighbours(a, b netip.Prefix) bool { return a.Contains(b.Addr()) && b.Contains(a.Addr()) }

// given returns the address that the user has given for a machine, if it is of the IP version.
func (s *SSH) given(h *machine, has []nl.Address, six bool) (nl.Address, error) {
	at, ok := s.o.At[h.target]
	if !ok || at.Is6() != six {
		return nl.Address{}, nil
	}
	i := slices.IndexFunc(has, func(one nl.Address) bool { return one.At.Addr() == at })
	if i < 0 {
		return nl.Address{}, fmt.Errorf("--address %s=%s: that is no address of %s alone", h.target, at, h.target)
	}
	return has[i], nil
}

// Ways describes between which addresses and devices traffic of several hosts goes.
func (s *SSH) Ways() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.machines) < 2 {
		return nil
	}
	end := func(m *machine) string {
		at := m.Link.Addr4
		if !at.IsValid() {
			at = m.Link.Addr6
		}
		return fmt.Sprintf("%s (%s, %s)", m.target, at.Addr(), m.Link.Device)
	}
	for _, m := range s.machines[1:] {
		all = append(all, end(s.machines[0])+" and "+end(m))
	}
	return all
}
