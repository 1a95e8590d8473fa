package flannel

import (
	"context"
	"errors"
	"slices"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// tidy pushes the removal of what flanneld leaves on a host that stays: devices, routes,
// and rules where it was not given the time to remove them.
func (b *build) tidy(h *plumb.Host) error {
	before, err := nl.FirewallTables(h.NS)
	if err != nil {
		return err
	}
	b.Made("what flanneld leaves on "+h.Name(), func(ctx context.Context) error {
		err := nl.With(h.NS, func(n *nl.NS) error {
			return b.families(func(six bool) error {
				if !b.bare {
					return n.Remove(b.leads(h, six))
				}
				for _, other := range b.Hosts {
					if other == h {
						continue
					}
					if err := n.Unroute(plumb.Subnet(other.Index, six)); err != nil {
						return err
					}
				}
				return nil
			})
		})
		return errors.Join(err, b.families(func(six bool) error { return unrule(ctx, h, six) }), untable(h, before))
	})
	return nil
}

// unrule removes flanneld's rules, if they are there.
func unrule(ctx context.Context, h *plumb.Host, six bool) error {
	program := "iptables"
	if six {
		program = "ip6tables"
	}
	if run(ctx, h, program, "-w", "-S", chain) != nil {
		return nil
	}
	// The chain may be there without the jump.
	_ = run(ctx, h, program, append([]string{"-w", "-D"}, jump...)...)
	return errors.Join(
		run(ctx, h, program, "-w", "-F", chain),
		run(ctx, h, program, "-w", "-X", chain),
	)
}

// untable removes the tables that iptables made for flanneld's rules, and in which nothing
// is any more.
func untable(h *plumb.Host, before []nl.FirewallTable) error {
	now, err := nl.FirewallTables(h.NS)
	if err != nil {
		return err
	}
	made := slices.DeleteFunc(now, func(t nl.FirewallTable) bool {
		return t.Name != "filter" || slices.Contains(before, t)
	})
	return nl.RemoveFirewallTables(h.NS, made...)
}
