package docker

import (
	"context"
	"errors"
	"fmt"

	"nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/record"
)

// encrypted is the network of docker network create -d overlay --attachable --opt encrypted.
func encrypted(ctx context.Context, n *build) error {
	t, err := n.overlaid(ctx, map[string]string{"encrypted": ""})
	if err != nil {
		return err
	}
	before := n.unencrypted()
	if err := n.run(ctx, plain(t.name), plain(t.name)); err != nil {
		return err
	}
	err = n.open(ctx, t)
	if lost, ok := errors.AsType[*unheard](err); ok && lost.from.Host != lost.to.Host { // Docker encrypts nothing on one host
		err = &network.WrongPath{Finding: lost.why(n.unencrypted() - before)}
	}
	if err != nil {
		return err
	}
	n.Hops = t.path
	if len(n.engines) == 1 {
		n.Notes = append(n.Notes, "on one host Docker encrypts nothing")
		return nil
	}
	if n.engines[0].Borrowed() {
		n.Unproved = append(n.Unproved, "the encryption is not proved: packets on the uplinks of your own machines are not examined")
		return nil
	}
	n.proveESP(t)
	return nil
}

// unencrypted returns the number of packets that the hosts' kernels could not encrypt.
func (n *build) unencrypted() uint64 { return record.Sum(n.engines, (*engine.Host).Unencrypted) }

// why describes what is wrong with an encrypted overlay. dropped is the number of packets that the
// hosts' kernels report they could not encrypt meanwhile.
func (u *unheard) why(dropped uint64) string {
	reason := "the likely reason is a kernel without ESP (CONFIG_INET_ESP, CONFIG_XFRM_USER)"
	if dropped > 0 {
		reason = fmt.Sprintf("the hosts' kernels dropped %d packets that they should have encrypted, for want of an IPsec state "+
			"(XfrmOutNoStates), as kernels without ESP do (CONFIG_INET_ESP)", dropped)
	}
	return fmt.Sprintf("no packet of the encrypted overlay arrives: %s does not reach %s at %s within %v; %s; "+
		"docker network create --opt encrypted does not notice", u.from.Name(), u.to.Name(), u.at, u.within, reason)
}

// proveESP counts what the hosts have decrypted of what each other sent: payload that arrived in clear is missing there.
func (n *build) proveESP(t *tunnel) {
	n.Hops = func(from, to *plumb.Node, f network.Family) []network.Hop {
		hops := t.path(from, to, f)
		if from.Host == to.Host {
			return hops
		}
		here, there := n.engines[from.Host.Index], n.engines[to.Host.Index]
		arrived := func(from, at *engine.Host) plumb.Counts {
			return func() (packets, bytes uint64, err error) {
				return nl.Decrypted(at.NetNS(), from.Addr(false), at.Addr(false))
			}
		}
		return append(hops, network.Hop{
			Name: from.Host.Name() + "/esp-" + to.Host.Name(), Kind: network.Rule, Read: plumb.Sum(arrived(here, there), arrived(there, here)),
		})
	}
}
