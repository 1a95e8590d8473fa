package plumb

import (
	"context"
	"net/netip"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl/nft"
)

// DockerRules are the rules that Docker Engine keeps for a bridge network: the
// same chains at the same hooks in the same order (DOCKER-USER, the two
// isolation stages, established connections, published ports, containers going
// out, containers among themselves; policy drop), with masquerading for what
// leaves the bridge. A bridged packet meets them because of br_netfilter.
type DockerRules struct {
	Bridge      *Bridge
	Established nft.Rule // all packets of a connection but its first
	Among       nft.Rule // packets between containers that belong to no answered connection: one-way datagrams
	Masquerade  nft.Rule // connections from containers to the outside

	fw          *nft.Firewall
	docker      nft.Chain // accepts published ports
	nat         nft.Chain // translates published ports
	postrouting nft.Chain
}

// AddDockerRules collects the rules for a bridge; Commit brings them into force.
func (s *Site) AddDockerRules(b *Bridge) (*DockerRules, error) {
	fw, err := nft.New(b.Host.NS, "docker")
	if err != nil {
		return nil, err
	}
	s.Push("hold on the namespace of the firewall", func(context.Context) error { return fw.Close() })
	r := &DockerRules{Bridge: b, fw: fw}
	br := b.Name
	user, stage1, stage2 := fw.Chain("DOCKER-USER"), fw.Chain("DOCKER-ISOLATION-STAGE-1"), fw.Chain("DOCKER-ISOLATION-STAGE-2")
	r.docker, r.nat = fw.Chain("DOCKER"), fw.Chain("DOCKER-NAT")
	user.Rule(nft.Return())
	stage1.Rule(nft.In(br), nft.NotOut(br), nft.Jump(stage2))
	stage1.Rule(nft.Return())
	stage2.Rule(nft.Out(br), nft.Drop())
	stage2.Rule(nft.Return())

	forward := fw.BaseChain("FORWARD", nft.Forward, true)
	forward.Rule(nft.Jump(user))
	forward.Rule(nft.Jump(stage1))
	r.Established = forward.Rule(nft.Out(br), nft.Established(), nft.Accept())
	forward.Rule(nft.Out(br), nft.Jump(r.docker))
	forward.Rule(nft.In(br), nft.NotOut(br), nft.Accept())
	r.Among = forward.Rule(nft.In(br), nft.Out(br), nft.Accept())

	fw.BaseChain("PREROUTING", nft.PreroutingNAT, false).Rule(nft.ToLocal(), nft.Jump(r.nat))
	fw.BaseChain("OUTPUT", nft.OutputNAT, false).Rule(nft.ToLocal(), nft.Jump(r.nat))
	r.postrouting = fw.BaseChain("POSTROUTING", nft.PostroutingNAT, false)
	return r, nil
}

// Publish leads ports of the host to the same ports of a container and returns
// the rules that count its connections, TCP's and UDP's, and those that accept what
// belongs to no answered one yet.
func (r *DockerRules) Publish(n *Node, first, last int, six bool) (counting, accepting []nft.Rule) {
	to := n.addr(six)
	one := Single(to)
	for _, protocol := range []byte{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
		accepting = append(accepting, r.docker.Rule(nft.To(one), nft.Ports(protocol, first, last), nft.Accept()))
		counting = append(counting, r.nat.Rule(nft.To(Single(n.Host.addr(six))), nft.Ports(protocol, first, last), nft.DNAT(to)))
	}
	return counting, accepting
}

// Translate gives a container an external address, both ways: connections to it
// reach the container, connections from the container come from it.
func (r *DockerRules) Translate(n *Node, external netip.Addr) (dnat, snat nft.Rule) {
	six := external.Is6()
	internal := n.addr(six)
	one := Single(internal)
	r.docker.Rule(nft.To(one), nft.Accept())
	dnat = r.nat.Rule(nft.To(Single(external)), nft.DNAT(internal))
	snat = r.postrouting.Rule(nft.From(one), nft.SNAT(external))
	return dnat, snat
}

// Commit brings the rules into force, in front of bridged packets too when
// netfilter is to be on for bridges.
func (r *DockerRules) Commit(s *Site) error {
	for _, six := range []bool{false, true} {
		r.Masquerade = r.postrouting.Rule(
			nft.From(Subnet(r.Bridge.Host.Index, six)), nft.NotOut(r.Bridge.Name), nft.Masquerade())
	}
	if err := r.fw.Commit(); err != nil {
		return err
	}
	s.Rules = append(s.Rules, r.Bridge.Host.Name()+": "+r.fw.String())
	s.Made("firewall rules", func(context.Context) error { return r.fw.Remove() })
	return r.Bridge.Host.Forwarding()
}
