package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// published is the network of docker run -p: clients are processes of a host and know only the
// address of the servers' host. On the user's own machine that is the address of the engine's
// bridge, and the servers accept no packets from beyond it: nothing can be reached from outside,
// not even by a machine with a route to the bridge. Where the engine has no rules there, so that
// its proxy would accept such packets, the address is loopback.
func published(ctx context.Context, n *build) error {
	if err := n.onlyInLab("published ports"); err != nil {
		return err
	}
	h := n.engines[0]
	if !h.Here() {
		return &platform.Unsupported{
			Feature: "processes outside containers", Option: "an engine on this machine that is not rootless",
			Remedy: "run nettoll on the machine of such an engine, or use --private-engine",
		}
	}
	device, err := h.Bridge(ctx, "bridge")
	if err != nil {
		return err
	}
	rules, err := h.Firewall(ctx)
	if err != nil {
		return err
	}
	at := []netip.Addr{h.Addr(false), h.Addr(true)}
	switch podman, err := h.Engine.Podman(ctx); {
	case err != nil:
		return err
	case podman != "":
		if at, err = h.Gateways(ctx, "bridge"); err != nil {
			return err
		}
	case h.Borrowed():
		if at, err = addresses(device, rules.None); err != nil {
			return err
		}
	}
	n.ClientsOnHosts()
	server := func(_ *engine.Host, i int) engine.Spec {
		return engine.Spec{Mode: "bridge", Ports: engine.PortsOf(n.Topo.Ports(i)), At: at, Near: h.Borrowed()}
	}
	if n.Servers, err = n.place(ctx, n.Topo.Servers, n.first, server); err != nil {
		return err
	}
	if err := n.wire(ctx, device, n.Servers); err != nil {
		return err
	}
	if err := n.silent(ctx, plain("bridge")); err != nil {
		return err
	}
	n.Translated, n.Refuse = true, n.without6("the default bridge")
	n.ServersAt(func(_, _ *plumb.Node, f network.Family) netip.Addr {
		addr, _ := record.First(at, func(a netip.Addr) bool { return a.Is6() == (f == network.IPv6) && a.IsValid() })
		return addr
	})
	if rules.None {
		return n.proxied(at)
	}
	if h.Borrowed() {
		if err := n.forget(at); err != nil {
			return err
		}
	}
	return n.translated(ctx, rules)
}

// forget removes the host's connection tracking entries of datagrams that came to the servers'
// ports before these were published. Later datagrams would go to the engine's proxy instead of
// following its rules, and reach the servers as if the host had sent them.
func (n *build) forget(at []netip.Addr) error {
	first, size := n.Topo.AllPorts()
	err := nl.ForgetUDP(n.engines[0].NetNS(), at, first, first+size-1)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return &platform.Unsupported{
			Feature: "a published port that only its clients reach", Option: "CONFIG_NF_CT_NETLINK",
			Remedy: "modprobe nf_conntrack_netlink, or use a private engine", Err: err,
		}
	}
	return wrap.Error(err, "docker")
}

// addresses returns the addresses of a device of this machine to which packets can be sent from
// elsewhere, or instead the loopback address of each of their IP versions. An engine does not
// always know the address of its own bridge.
func addresses(device string, loopback bool) ([]netip.Addr, error) {
	d, err := net.InterfaceByName(device)
	if err != nil {
		return nil, fmt.Errorf("docker: find %s: %w", device, err)
	}
	on, err := d.Addrs()
	if err != nil {
		return nil, fmt.Errorf("docker: addresses of %s: %w", device, err)
	}
	var all []netip.Addr
	for _, a := range on {
		p, err := netip.ParsePrefix(a.String())
		switch {
		case err != nil || !p.Addr().IsGlobalUnicast():
		case loopback && p.Addr().Is4():
			all = append(all, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		case loopback:
			all = append(all, netip.IPv6Loopback())
		default:
			all = append(all, p.Addr())
		}
	}
	return all, nil
}

// translated builds the path by the engine's rules to the container. They count connections.
func (n *build) translated(ctx context.Context, rules engine.Firewall) error {
	if _, err := rules.Translations(ctx, n.Servers[0].Addr4); err != nil {
		return err // fail before anything is measured
	}
	n.Hops = func(from, to *plumb.Node, f network.Family) []network.Hop {
		dnat := network.Hop{
			Name: n.engines[0].Name() + "/rule-dnat-" + to.Name(), Kind: network.Connection, Slow: true,
			Read: func(ctx context.Context) (network.Count, error) {
				packets, err := rules.Translations(ctx, to.Addr(f))
				return network.Count{Packets: packets}, err
			},
		}
		return append(n.toHost(from), dnat, to.PortHop(), to.Hop())
	}
	return nil
}

// toHost returns the path to the servers' host.
func (n *build) toHost(from *plumb.Node) []network.Hop {
	if from.Host == n.Hosts[0] {
		return nil
	}
	return plumb.UplinkHops(from.Host, n.Hosts[0])
}

// proxied builds the path by docker-proxy, which accepts connections and makes others to the
// container. The engine has no rules that could translate, the host forwards nothing, and nothing that was sent to the addresses that
// clients dial leaves for the container with them: rules that must not be crossed prove that, except on the user's own machine, which
// gets no such rules.
func (n *build) proxied(dialled []netip.Addr) error {
	h := n.engines[0]
	for i, s := range n.Servers {
		first, last := n.Topo.Ports(i)
		procs, err := h.Proxies(first, last, s.Addr4, s.Addr6)
		if err != nil {
			return err
		}
		if len(procs) == 0 {
			return fmt.Errorf("docker: no docker-proxy serves %s", s.Name())
		}
		for _, p := range procs {
			n.Procs = append(n.Procs, network.Daemon{Name: fmt.Sprintf("daemon %d", p), Host: h.Name(), PID: p})
		}
	}
	if own, err := sampler.ReadCongestion("/proc"); err == nil {
		n.Notes = append(n.Notes, "docker-proxy sends to the containers with the machine's default congestion control, "+own.Own)
	}
	n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop {
		return append(n.toHost(from), to.PortHop(), to.Hop())
	}
	if h.Borrowed() {
		n.Unproved = append(n.Unproved, "it is not proved that docker-proxy carries the payload: nettoll adds no rule to your own machine that would count packets forwarded otherwise")
		return nil
	}
	return n.forwardsNothing(dialled)
}

// proofTable is the name of the firewall table whose rules prove the path.
const proofTable = "nettoll-proof"

// forwardsNothing adds a hop that the payload must not cross: the host's forwarding to and from the container, and what clients on the
// host itself send there, by rules that translate, from the addresses that they dial.
func (n *build) forwardsNothing(dialled []netip.Addr) error {
	h := n.engines[0]
	fw, err := n.Firewall(h.NetNS(), proofTable)
	if err != nil {
		return err
	}
	chain, sent := fw.BaseChain("FORWARD", nft.Forward, false), fw.BaseChain("OUTPUT", nft.Output, false)
	forwarded := map[netip.Addr][]nft.Rule{}
	for _, s := range n.Servers {
		for _, a := range []netip.Addr{s.Addr4, s.Addr6} {
			if a.IsValid() {
				one := plumb.Single(a)
				forwarded[a] = []nft.Rule{chain.Rule(nft.To(one), nft.Accept()), chain.Rule(nft.From(one), nft.Accept())}
				for _, own := range dialled {
					if own.IsValid() && own.Is6() == a.Is6() {
						forwarded[a] = append(forwarded[a], sent.Rule(nft.From(plumb.Single(own)), nft.To(one), nft.Accept()))
					}
				}
			}
		}
	}
	if err := n.Enforce(fw); err != nil {
		return err
	}
	crossed := n.Hops
	n.Hops = func(from, to *plumb.Node, f network.Family) []network.Hop {
		rule := plumb.RuleHop(to.Host, "rule-forward-"+to.Name(), network.Rule, forwarded[to.Addr(f)]...)
		return append(crossed(from, to, f), plumb.Absent(rule))
	}
	return nil
}
