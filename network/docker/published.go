package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	networks "github.com/moby/moby/api/types/network"
	"golang.org/x/sys/unix"

	"nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/network"
	"nettoll/platform"
)

// published is docker run -p: clients are processes of a host and know the address of
// the servers' host alone. On the user's own machine that is the engine's bridge, and the
// servers hear nobody beyond it: nothing can be reached from outside, not even by who routes
// to the bridge. Where the engine has no rules there, and its proxy would hear them, it is
// loopback.
func published(ctx context.Context, n *build) error {
	if err := n.apart(); err != nil {
		return err
	}
	h := n.hosts[0]
	if !h.Here() {
		return &platform.Unsupported{
			Feature: "processes outside containers", Option: "an engine on this machine",
			Remedy: "run nettoll on the engine's machine",
		}
	}
	b, err := h.InspectBridge(ctx, "bridge")
	if err != nil {
		return err
	}
	noRules, err := h.KeepsNoRules(ctx)
	if err != nil {
		return err
	}
	at := []netip.Addr{h.Addr(false), h.Addr(true)}
	if h.Borrowed() {
		if at, err = addresses(b.Device, noRules); err != nil {
			return err
		}
	}
	n.clients = n.outside(n.topo.Clients, n.clientHost)
	server := func(_ *engine.Host, i int) engine.Spec {
		first, last := n.topo.Ports(i)
		return engine.Spec{Mode: "bridge", Publish: ports(at, first, last), Near: h.Borrowed()}
	}
	if n.servers, err = n.place(ctx, n.topo.Servers, func(int) *engine.Host { return h }, server); err != nil {
		return err
	}
	if err := n.wire(ctx, b.Device, n.servers...); err != nil {
		return err
	}
	if err := n.silent(ctx); err != nil {
		return err
	}
	n.nat = true
	n.reach = func(_, to *node, f network.Family) (netip.Addr, error) {
		if to.container == nil {
			return hostAddr(to.host, f), nil
		}
		for _, a := range at {
			if a.Is6() == (f == network.IPv6) && a.IsValid() {
				return a, nil
			}
		}
		return netip.Addr{}, errNoIPv6("the default bridge")
	}
	if noRules {
		return n.proxied(ctx)
	}
	if h.Borrowed() {
		if err := n.forget(at); err != nil {
			return err
		}
	}
	return n.translated(ctx)
}

// forget has the host forget datagrams that came to the servers' ports before these were
// published. Those that follow would go to the engine's proxy and not by its rules, and to the
// servers as if they came from the host.
func (n *build) forget(at []netip.Addr) error {
	first, _ := n.topo.Ports(0)
	_, last := n.topo.Ports(n.topo.Servers - 1)
	err := nl.ForgetUDP(n.hosts[0].NetNS(), at, first, last)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return &platform.Unsupported{
			Feature: "a published port that only its clients reach", Option: "CONFIG_NF_CT_NETLINK",
			Remedy: "modprobe nf_conntrack_netlink, or use a private engine", Err: err,
		}
	}
	if err != nil {
		return fmt.Errorf("docker: %w", err)
	}
	return nil
}

// addresses are those of a device of this machine that packets can be sent to from
// elsewhere, or for each IP version that it has one of, loopback. An engine does not always tell
// the address of its own bridge.
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

// silent makes the containers that do not talk.
func (n *build) silent(ctx context.Context) error {
	mode := func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: "bridge"} }
	_, err := n.place(ctx, n.topo.Neighbours, n.clientHost, mode)
	return err
}

// ports publishes a range at addresses of the host, for TCP and UDP.
func ports(at []netip.Addr, first, last int) networks.PortMap {
	all := networks.PortMap{}
	for port := first; port <= last; port++ {
		for _, p := range []networks.IPProtocol{networks.TCP, networks.UDP} {
			inside, ok := networks.PortFrom(uint16(port), p)
			if !ok {
				continue
			}
			for _, a := range at {
				all[inside] = append(all[inside], networks.PortBinding{HostIP: a, HostPort: strconv.Itoa(port)})
			}
		}
	}
	return all
}

// translated: the engine's rules lead to the container. They count connections.
func (n *build) translated(ctx context.Context) error {
	h := n.hosts[0]
	if _, err := h.Translations(ctx, n.servers[0].container.Addr(false)); err != nil {
		return err // before anything is measured
	}
	n.hops = func(from, to *node, f network.Family) []network.Hop {
		a, err := to.own(f)
		dnat := network.Hop{
			Name: h.Name() + "/rule-dnat-" + to.Name(), Kind: network.Connection,
			Read: func(ctx context.Context) (network.Count, error) {
				if err != nil {
					return network.Count{}, err
				}
				packets, err := h.Translations(ctx, a)
				return network.Count{Packets: packets}, err
			},
		}
		return append(n.toHost(from), dnat, to.portHop(), to.hop())
	}
	return nil
}

// toHost is the way to the servers' host.
func (n *build) toHost(from *node) []network.Hop {
	h := n.hosts[0]
	if from.host == h {
		return nil
	}
	return []network.Hop{hostHop(from.host, from.host.Uplink().Device), hostHop(h, h.Uplink().Device)}
}

// proxied: docker-proxy accepts connections and makes others to the container. The
// host forwards nothing then, which a rule that must not be crossed proves; and there
// are no rules that could translate. The user's own machine gets no such rule.
func (n *build) proxied(ctx context.Context) error {
	h := n.hosts[0]
	for _, s := range n.servers {
		procs, err := h.Proxies(s.container.Addr(false), s.container.Addr(true))
		if err != nil {
			return err
		}
		if len(procs) == 0 {
			return fmt.Errorf("docker: no docker-proxy serves %s", s.Name())
		}
		for _, p := range procs {
			n.daemons = append(n.daemons, network.Daemon{Name: fmt.Sprintf("daemon %d", p), Host: h.Name(), PID: p})
		}
	}
	n.hops = func(from, to *node, _ network.Family) []network.Hop {
		return append(n.toHost(from), to.portHop(), to.hop())
	}
	if h.Borrowed() {
		n.notes = append(n.notes, "that docker-proxy carries the payload is not proved: a machine of one's own gets no rule that would count what else forwards it")
		return nil
	}
	return n.forwardsNothing()
}

// forwardsNothing adds to the path what the payload must not cross: the host's forwarding
// to the container.
func (n *build) forwardsNothing() error {
	h := n.hosts[0]
	fw, err := nft.New(h.NetNS(), "nettoll-proof")
	if err != nil {
		return err
	}
	n.Push("hold on the namespace of the firewall", func(context.Context) error { return fw.Close() })
	chain := fw.BaseChain("FORWARD", nft.Forward, false)
	forwarded := map[netip.Addr]nft.Rule{}
	for _, s := range n.servers {
		for _, six := range []bool{false, true} {
			if a := s.container.Addr(six); a.IsValid() {
				forwarded[a] = chain.Rule(nft.To(netip.PrefixFrom(a, a.BitLen())), nft.Accept())
			}
		}
	}
	if err := fw.Commit(); err != nil {
		return err
	}
	n.Push("rules that prove the path", func(context.Context) error { return fw.Remove() })
	n.rules = append(n.rules, h.Name()+": "+fw.String())
	crossed := n.hops
	n.hops = func(from, to *node, f network.Family) []network.Hop {
		a, err := to.own(f)
		return append(crossed(from, to, f), network.Hop{
			Name: h.Name() + "/rule-forward-" + to.Name(), Kind: network.Rule, Absent: true,
			Read: func(context.Context) (network.Count, error) {
				if err != nil {
					return network.Count{}, err
				}
				packets, bytes, err := forwarded[a].Count()
				return network.Count{Packets: packets, Bytes: bytes}, err
			},
		})
	}
	return nil
}
