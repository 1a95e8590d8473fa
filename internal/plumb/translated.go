package plumb

import (
	"nettoll/internal/nl/nft"
	"nettoll/network"
)

// Translations are rules that count connections whose destination was translated to a server, on each host. They are
// needed because the rules that translate may have no counters, such as those of kube-proxy in its nftables mode.
type Translations map[translation]nft.Rule

// translation is a server of an IP version, seen from a host that translates.
type translation struct {
	host   *Host
	server *Node
	family network.Family
}

// CountTranslations makes the rules on all hosts, in a table of the given name. They are in a chain of NAT, which sees
// only the first packet of each connection, here after its translation: so counting costs the payload nothing.
//
// Unmarked says that conntrack does not note that the destination was translated, as with IPVS. The rules then count all
// new connections that leave for the server's own address, at which nobody dials it.
func (s *Site) CountTranslations(table string, unmarked bool) (Translations, error) {
	var translated nft.Part
	if !unmarked {
		translated = nft.Translated()
	}
	all := Translations{}
	for _, h := range s.Hosts {
		fw, err := s.Firewall(h.NS, table)
		if err != nil {
			return nil, err
		}
		chain := fw.BaseChain("translated", nft.BeforePostroutingNAT, false)
		for _, server := range s.Servers {
			for _, f := range []network.Family{network.IPv4, network.IPv6} {
				all[translation{h, server, f}] = chain.Rule(translated, nft.To(Single(server.Addr(f))), nft.Return())
			}
		}
		if err := s.Enforce(fw); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Hop returns the rule of a host for a server as a hop.
func (t Translations) Hop(on *Host, to *Node, f network.Family) network.Hop {
	return RuleHop(on, "rule dnat "+to.Name(), network.Connection, t[translation{on, to, f}])
}
