package plumb

import (
	"context"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/nsexec"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Firewall begins a table of rules in the namespace of a host. Enforce puts it into force.
func (s *Site) Firewall(ns, table string) (*nft.Firewall, error) {
	fw, err := nft.New(ns, table)
	if err == nil {
		s.Push("hold on the namespace of the firewall", func(context.Context) error { return fw.Close() })
	}
	return fw, err
}

// Enforce puts a table into force. If that fails, its first rules may be in force, and are removed with the site.
func (s *Site) Enforce(fw *nft.Firewall) error {
	s.Made("firewall rules", func(context.Context) error { return fw.Remove() })
	return fw.Commit()
}

// ForgetTables pushes the removal of the firewall tables that appear on a host from now on.
func (s *Site) ForgetTables(h *Host) error {
	if s.transient { // they disappear with the host; and a kernel that has only the old iptables cannot list them
		return nil
	}
	before, err := nl.FirewallTables(h.NS)
	if err != nil {
		return err
	}
	s.Made("firewall tables of "+h.Name(), func(context.Context) error { return nl.RemoveFirewallTables(h.NS, before) })
	return nil
}

// RemoveSets removes the IP sets of a host whose names have that prefix, by the program ipset. No rule may refer to them any
// more.
func RemoveSets(ctx context.Context, h *Host, ipset, prefix string) error {
	names, err := nsexec.Output(ctx, h, ipset, "list", "-n")
	if err != nil {
		return err
	}
	var destroy strings.Builder
	for name := range strings.FieldsSeq(names) {
		if strings.HasPrefix(name, prefix) {
			destroy.WriteString("destroy " + name + "\n")
		}
	}
	return nsexec.Run(ctx, h, platform.Command{Path: ipset, Args: []string{"restore"}, Stdin: strings.NewReader(destroy.String())})
}

// DockerRules are the rules of Docker Engine for a bridge network: the same chains at the same hooks
// in the same order (DOCKER-USER, the two isolation stages, established connections, published
// ports, containers to the outside, containers among themselves; policy drop), with masquerading of
// packets that leave the bridge. They apply to bridged packets because of br_netfilter.
type DockerRules struct {
	Established nft.Rule // all packets of a connection to a container except its first
	Among       nft.Rule // packets between containers without an answered connection: one-way datagrams
	Outward     nft.Rule // all packets from containers to beyond the bridge

	host        *Host
	bridge      string
	fw          *nft.Firewall
	docker      nft.Chain // accepts published ports
	nat         nft.Chain // translates published ports
	postrouting nft.Chain
}

// AddDockerRules collects the rules for a bridge of a host. Commit puts them into force.
func (s *Site) AddDockerRules(h *Host, br string) (*DockerRules, error) {
	fw, err := s.Firewall(h.NS, dockerTable)
	if err != nil {
		return nil, err
	}
	r := &DockerRules{host: h, bridge: br, fw: fw}
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
	r.Outward = forward.Rule(nft.In(br), nft.NotOut(br), nft.Accept())
	r.Among = forward.Rule(nft.In(br), nft.Out(br), nft.Accept())

	fw.BaseChain("PREROUTING", nft.PreroutingNAT, false).Rule(nft.ToLocal(), nft.Jump(r.nat))
	fw.BaseChain("OUTPUT", nft.OutputNAT, false).Rule(nft.ToLocal(), nft.Jump(r.nat))
	r.postrouting = fw.BaseChain("POSTROUTING", nft.PostroutingNAT, false)
	return r, nil
}

// Publish forwards ports of an address of the host to the same ports of a container. It returns the rules that count
// its connections, of TCP and UDP, and those that accept packets without an answered connection.
func (r *DockerRules) Publish(n *Node, at netip.Addr, first, last int) (counting, accepting []nft.Rule) {
	to := n.addr(at.Is6())
	one := Single(to)
	for _, protocol := range []byte{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
		accepting = append(accepting, r.docker.Rule(nft.To(one), nft.Ports(protocol, first, last), nft.Accept()))
		counting = append(counting, r.nat.Rule(nft.To(Single(at)), nft.Ports(protocol, first, last), nft.DNAT(to)))
	}
	return counting, accepting
}

// Translate gives a container an external address in both directions: connections to the address
// reach the container, and connections from the container come from the address.
func (r *DockerRules) Translate(n *Node, external netip.Addr) (dnat, snat nft.Rule) {
	six := external.Is6()
	internal := n.addr(six)
	one := Single(internal)
	r.docker.Rule(nft.To(one), nft.Accept())
	dnat = r.nat.Rule(nft.To(Single(external)), nft.DNAT(internal))
	snat = r.postrouting.Rule(nft.From(one), nft.SNAT(external))
	return dnat, snat
}

// Commit puts the rules into force. They apply to bridged packets too if BridgeNetfilter is on.
func (r *DockerRules) Commit(s *Site) error {
	for _, six := range []bool{false, true} {
		r.postrouting.Rule(nft.From(Subnet(r.host.Index, six)), nft.NotOut(r.bridge), nft.Masquerade())
	}
	return s.Enforce(r.fw)
}

// dockerTable is the name of the table of DockerRules.
const dockerTable = "docker"

// Named returns rules in a form by which another process can ask for their counts.
func (r *DockerRules) Named(rules ...nft.Rule) Rules {
	return Rules{Space: r.host.NS, Table: dockerTable, Counters: record.Each(rules, nft.Rule.Counter)}
}

// Close releases the namespace. Rules in force stay until the namespace ends, and can be read by their
// names only.
func (r *DockerRules) Close() error { return r.fw.Close() }

// Rules are rules of a namespace, by the names of their counters.
type Rules struct {
	Space    string `json:",omitempty"` // its path
	Table    string
	Counters []string
}

// MethodRules is the method by which an agent counts what Rules have matched: Rules → network.Count.
const MethodRules = "plumb.rules"

// Count returns what the rules have matched, together.
func (r Rules) Count(context.Context) (c network.Count, err error) {
	c.Packets, c.Bytes, err = nft.Counted(r.Space, r.Table, r.Counters...)
	return c, err
}
