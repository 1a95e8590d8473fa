package flannel

import (
	"context"
	"errors"

	"nettoll/internal/plumb"
)

// tidy pushes the removal of what flanneld leaves on a host that stays: devices, routes,
// and rules where it was not given the time to remove them.
func (b *build) tidy(h *plumb.Host) error {
	if err := b.ForgetTables(h); err != nil {
		return err
	}
	b.Made("rules of flanneld on "+h.Name(), func(ctx context.Context) error {
		return b.families(func(six bool) error { return unrule(ctx, h, six) })
	})
	if b.bare {
		plumb.Routes{Site: b.Site, Families: []bool{false, true}}.Forget(h)
		return nil
	}
	return b.families(func(six bool) error {
		b.MadeDevice(h.NS, b.leads(h, six))
		return nil
	})
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
