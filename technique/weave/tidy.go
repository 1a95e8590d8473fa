package weave

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// tidy pushes the removal of what weaver leaves on a host that stays, which is all that it
// has made.
func (n *network) tidy(h *plumb.Host) error {
	before, err := nl.FirewallTables(h.NS)
	if err != nil {
		return err
	}
	n.Made("what weaver leaves on "+h.Name(), func(ctx context.Context) error {
		var err error
		if n.fast {
			err = nl.RemoveDatapath(h.NS, datapath)
		}
		return errors.Join(err, undevice(h), unrule(ctx, h), untable(h, before))
	})
	return nil
}

// undevice removes devices; with one end of a pair goes the other.
func undevice(h *plumb.Host) error {
	return nl.With(h.NS, func(n *nl.NS) error {
		var errs []error
		for _, device := range []string{tunnel, bridgeEnd, "vethwedu", bridge} {
			errs = append(errs, n.Remove(device))
		}
		return errors.Join(errs...)
	})
}

// rules are those that weaver makes for its bridge, and the chains that they lead to.
var rules = [][]string{
	{"-D", "FORWARD", "-i", bridge, "-o", bridge, "-j", "ACCEPT"},
	{"-D", "FORWARD", "-o", bridge, "-j", "WEAVE-EXPOSE"},
	{"-D", "FORWARD", "-i", bridge, "!", "-o", bridge, "-j", "ACCEPT"},
	{"-D", "FORWARD", "-o", bridge, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT"},
	{"-F", "WEAVE-EXPOSE"},
	{"-X", "WEAVE-EXPOSE"},
	{"-t", "nat", "-D", "POSTROUTING", "-j", "WEAVE"},
	{"-t", "nat", "-F", "WEAVE"},
	{"-t", "nat", "-X", "WEAVE"},
}

// unrule removes weaver's rules, if it came so far as to make them.
func unrule(ctx context.Context, h *plumb.Host) error {
	if iptables(ctx, h, "-t", "nat", "-S", "WEAVE") != nil && iptables(ctx, h, "-S", "WEAVE-EXPOSE") != nil {
		return nil
	}
	for _, r := range rules {
		_ = iptables(ctx, h, r...) // versions differ in the first, and one may be missing
	}
	for _, chain := range [][]string{{"-S", "WEAVE-EXPOSE"}, {"-t", "nat", "-S", "WEAVE"}} {
		if iptables(ctx, h, chain...) == nil {
			return fmt.Errorf("the chain %s is still in use", chain[len(chain)-1])
		}
	}
	return nil
}

func iptables(ctx context.Context, h *plumb.Host, args ...string) error {
	p, err := h.Start(ctx, platform.Command{Path: "iptables", Args: append([]string{"-w"}, args...)})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Kill())
	}
}

// untable removes the tables that iptables made for weaver's rules.
func untable(h *plumb.Host, before []nl.FirewallTable) error {
	now, err := nl.FirewallTables(h.NS)
	if err != nil {
		return err
	}
	made := slices.DeleteFunc(now, func(t nl.FirewallTable) bool {
		return t.Name != "filter" && t.Name != "nat" || slices.Contains(before, t)
	})
	return nl.RemoveFirewallTables(h.NS, made...)
}
