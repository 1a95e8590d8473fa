package weave

import (
	"context"
	"fmt"
	"slices"

	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// tidy arranges for the removal of what weaver leaves on a host that is kept, which is everything
// that it has made.
func (n *build) tidy(h *plumb.Host) error {
	if err := n.ForgetTables(h); err != nil {
		return err
	}
	n.Made("rules of weaver on "+h.Name(), func(ctx context.Context) error { return unrule(ctx, h) })
	for _, device := range []string{bridge, "vethwedu", bridgeEnd, tunnel} { // removing one end of a pair removes the other
		n.MadeDevice(h.NS, device)
	}
	if n.fast {
		n.Made(datapath+" of "+h.Name(), func(context.Context) error { return nl.RemoveDatapath(h.NS, datapath) })
	}
	return nil
}

// rules remove the rules that weaver makes for its bridge, and the chains that they lead to.
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
	guard([]string{"--dport", "6784"}, "-m", "comment", "--comment", "Block non-local access to Weave Net control port"),
	guard(nil), // the rule of 2.6.3
	{"-F", canary}, {"-X", canary},
	{"-t", "nat", "-F", canary}, {"-t", "nat", "-X", canary},
	{"-t", "mangle", "-F", canary}, {"-t", "mangle", "-X", canary},
}

// canary is a chain by which weaver, from 2.6.4 on, detects that somebody has removed all rules.
const canary = "WEAVE-CANARY"

// guard removes the rule by which weaver keeps others off the port on which it answers. Matches
// must be given in the order in which the rule was made.
func guard(port []string, comment ...string) []string {
	return slices.Concat([]string{"-D", "INPUT", "-p", "tcp", "-d", "127.0.0.1"}, port,
		[]string{"-m", "addrtype", "!", "--src-type", "LOCAL", "-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED"},
		comment, []string{"-j", "DROP"})
}

// unrule removes weaver's rules, if it got as far as making them.
func unrule(ctx context.Context, h *plumb.Host) error {
	if iptables(ctx, h, "-t", "nat", "-S", "WEAVE") != nil && iptables(ctx, h, "-S", "WEAVE-EXPOSE") != nil {
		return nil
	}
	for _, r := range rules {
		_ = iptables(ctx, h, r...) // versions differ in the first rules, and one may be missing
	}
	for _, chain := range [][]string{{"-S", "WEAVE-EXPOSE"}, {"-t", "nat", "-S", "WEAVE"}, {"-S", canary}} {
		if iptables(ctx, h, chain...) == nil {
			return fmt.Errorf("the chain %s is still in use", chain[len(chain)-1])
		}
	}
	return nil
}

func iptables(ctx context.Context, h *plumb.Host, args ...string) error {
	return nsexec.Run(ctx, h, platform.Command{Path: "iptables", Args: append([]string{"-w"}, args...)})
}
