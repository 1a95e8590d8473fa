package docker

import (
	"context"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"nettoll/docker/engine"
	"nettoll/internal/nl/nft"
	"nettoll/network"
)

// encrypted is docker network create -d overlay --attachable --opt encrypted.
func encrypted(ctx context.Context, n *build) error {
	t, err := n.overlaid(ctx, map[string]string{"encrypted": ""})
	if err != nil {
		return err
	}
	before := n.unencrypted()
	mode := func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: t.name} }
	if err := n.run(ctx, mode, mode); err != nil {
		return err
	}
	if err := n.addressed(ctx); err != nil {
		return err
	}
	if err := t.find(ctx); err != nil {
		return err
	}
	switch lost, err := n.meet(ctx); {
	case err != nil:
		return err
	case lost != nil && lost.from.host == lost.to.host:
		return lost // which Docker encrypts nothing of
	case lost != nil:
		return &network.WrongPath{Finding: lost.why(n.unencrypted() - before)}
	}
	n.hops = t.path
	if len(n.hosts) == 1 {
		n.notes = append(n.notes, "on one host Docker encrypts nothing")
		return nil
	}
	if n.hosts[0].Borrowed() {
		n.notes = append(n.notes, "the encryption is the engine's word: the uplinks of machines of your own are not looked at")
		return nil
	}
	return n.proveESP(t)
}

// unencrypted adds up what the hosts' kernels could not encrypt.
func (n *build) unencrypted() (packets uint64) {
	for _, h := range n.hosts {
		packets += h.Unencrypted()
	}
	return packets
}

// why says in words what is wrong with an encrypted overlay. dropped is how many packets
// the hosts' kernels say that they could not encrypt meanwhile.
func (u *unheard) why(dropped uint64) string {
	reason := "the likely reason is a kernel without ESP (CONFIG_INET_ESP, CONFIG_XFRM_USER)"
	if dropped > 0 {
		reason = fmt.Sprintf("the hosts' kernels dropped %d packets that they were to encrypt, for want of an IPsec state "+
			"(XfrmOutNoStates), as kernels without ESP do (CONFIG_INET_ESP)", dropped)
	}
	return fmt.Sprintf("no packet of the encrypted overlay arrives: %s does not reach %s at %s within %v; %s; "+
		"docker network create --opt encrypted does not notice", u.from.Name(), u.to.Name(), u.at, u.within, reason)
}

// proveESP counts what arrives at the hosts' uplinks and is neither TCP nor UDP: that is
// ESP. VXLAN in clear cannot be counted by itself, since decrypted packets pass the same
// hooks again as if they had arrived so; but payload that came in clear is missing here.
func (n *build) proveESP(t *tunnel) error {
	type link struct{ to, from *engine.Host }
	arrived := map[link]nft.Rule{}
	for _, h := range n.hosts {
		fw, err := nft.New(h.NetNS(), "nettoll-proof")
		if err != nil {
			return err
		}
		n.Push("hold on the namespace of the firewall", func(context.Context) error { return fw.Close() })
		chain := fw.BaseChain("INPUT", nft.Input, false)
		for _, protocol := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
			chain.Filler(nft.Ports(protocol, 0, 1<<16-1), nft.Accept())
		}
		for _, peer := range n.hosts {
			a := peer.Addr(false)
			arrived[link{h, peer}] = chain.Rule(nft.In(h.Uplink().Device), nft.From(netip.PrefixFrom(a, a.BitLen())), nft.Accept())
		}
		if err := fw.Commit(); err != nil {
			return err
		}
		n.Push("rules that prove the path", func(context.Context) error { return fw.Remove() })
	}
	n.hops = func(from, to *node, f network.Family) []network.Hop {
		hops := t.path(from, to, f)
		if from.host == to.host {
			return hops
		}
		return append(hops, ruleHop(from.host.Name()+"/esp-"+to.host.Name(),
			arrived[link{from.host, to.host}], arrived[link{to.host, from.host}]))
	}
	return nil
}

// ruleHop counts what matched any of the rules.
func ruleHop(name string, rules ...nft.Rule) network.Hop {
	return network.Hop{
		Name: name, Kind: network.Rule,
		Read: func(context.Context) (sum network.Count, err error) {
			for _, r := range rules {
				packets, bytes, err := r.Count()
				if err != nil {
					return sum, err
				}
				sum.Packets, sum.Bytes = sum.Packets+packets, sum.Bytes+bytes
			}
			return sum, nil
		},
	}
}
