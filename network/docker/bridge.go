package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Subnets of bridge networks made for a measurement. Neither the address plan of internal/plumb nor
// the default bridges of private engines use them.
var (
	userBridge4 = netip.MustParsePrefix("198.19.248.0/21")
	userBridge6 = netip.MustParsePrefix("2001:2:0:200::/64")

	// Subnets of a second such network that stands on the same engine of the user's at the same time.
	userBridgeBeside4 = netip.MustParsePrefix("198.19.192.0/21")
	userBridgeBeside6 = netip.MustParsePrefix("2001:2:0:201::/64")
)

// defaultBridge is the network of docker run without --network.
func defaultBridge(ctx context.Context, n *build) error { return n.onBridge(ctx, "bridge") }

// userBridge is the network of docker network create.
func userBridge(ctx context.Context, n *build) error {
	spec := engine.NetworkSpec{Name: "bridge", Driver: "bridge", Subnet4: userBridge4, Subnet6: userBridge6}
	if n.engines[0].Place() > 0 {
		spec.Subnet4, spec.Subnet6 = userBridgeBeside4, userBridgeBeside6
	}
	if mtu := n.Topo.Underlay.MTU; mtu != 0 { // dockerd --mtu is for the default bridge
		spec.Options = map[string]string{"com.docker.network.driver.mtu": strconv.Itoa(mtu)}
	}
	forwards := forwards6(n.engines[0])
	if !forwards {
		spec.Subnet6 = netip.Prefix{}
	}
	name, err := n.engines[0].Network(ctx, spec)
	taken := engine.Occupied(err)
	if taken {
		// Another network has the addresses: any others will do. Engines choose those of IPv4.
		n.Notes = append(n.Notes, "the engine chose the addresses: those for benchmarking are in use there")
		spec.Subnet4, spec.Subnet6 = netip.Prefix{}, netip.Prefix{}
		name, err = n.engines[0].Network(ctx, spec)
	}
	if err != nil {
		return err
	}
	without6 := n.Refuse
	n.Refuse = func(from, to *plumb.Node, f network.Family, at netip.Addr) error {
		switch {
		case f == network.IPv6 && !forwards:
			return errForwards6()
		case f == network.IPv6 && taken:
			return &platform.Unsupported{
				Feature: "IPv6 on a user-defined network", Option: "the addresses for benchmarking",
				Remedy: engine.WhoHasAddresses, Err: errors.New("another network of the engine has them"),
			}
		}
		return without6(from, to, f, at)
	}
	return n.onBridge(ctx, name)
}

// forwards6 reports whether a network with IPv6 can be made on a host without changing the host
// permanently: an engine makes its machine forward IPv6 from then on, and a machine that forwards
// ignores router advertisements.
func forwards6(h *engine.Host) bool {
	if !h.Borrowed() {
		return true
	}
	on, err := netns.Sysctl(h.NetNS(), "net/ipv6/conf/all/forwarding")
	return h.Here() && err == nil && on != "0"
}

// errForwards6 is the error of user bridges where that would happen.
func errForwards6() error {
	return &platform.Unsupported{
		Feature: "IPv6 on a user-defined network", Option: "an engine on this machine that is not rootless, and a machine that forwards IPv6 already",
		Remedy: "sysctl -w net.ipv6.conf.all.forwarding=1 as root, or --private-engine",
		Err:    errors.New("the engine would turn on IPv6 forwarding for the whole machine"),
	}
}

// onBridge puts all containers on a bridge network.
func (n *build) onBridge(ctx context.Context, name string) error {
	device, err := n.engines[0].Bridge(ctx, name)
	if err != nil {
		return err
	}
	if err := n.run(ctx, plain(name), plain(name)); err != nil {
		return err
	}
	return n.bridged(ctx, device)
}

// bridged has a bridge as the path. What crosses it meets the engine's rules only where the kernel is set so, which is noted where
// it is not: packets are faster there.
func (n *build) bridged(ctx context.Context, device string) error {
	h := n.engines[0]
	if rules, err := h.Firewall(ctx); err == nil && !rules.None && h.NetNS() != "" {
		n.watchRules(ctx, rules, device)
		for i, key := range netns.BridgeNetfilter {
			const unmet = "packets from container to container do not meet the engine's rules"
			on, err := netns.Sysctl(h.NetNS(), key)
			if errors.Is(err, os.ErrNotExist) {
				n.Notes = append(n.Notes, unmet+", since br_netfilter is not loaded")
				break
			}
			if err == nil && on == "0" {
				n.Notes = append(n.Notes, fmt.Sprintf("IPv%d %s, since %s is 0", 4+2*i, unmet, strings.ReplaceAll(key, "/", ".")))
			}
		}
	}
	n.Hops = plumb.BridgedHops
	return n.wire(ctx, device, n.talking())
}

// met is what decides whether packets that cross a bridge meet an engine's rules.
type met struct {
	rules    []string
	settings []string // of br_netfilter; empty where it is not loaded
}

func (n *build) meets(ctx context.Context, rules engine.Firewall, device string) (m met, err error) {
	m.settings = record.Each(netns.BridgeNetfilter, func(key string) string {
		value, _ := netns.Sysctl(n.engines[0].NetNS(), key)
		return value
	})
	m.rules, err = rules.Rules(ctx, device)
	return m, err
}

// watchRules has the network checked for changes of that. Where the rules cannot be read, only root can change them, too.
func (n *build) watchRules(ctx context.Context, rules engine.Firewall, device string) {
	was, err := n.meets(ctx, rules, device)
	if err != nil {
		return
	}
	check := n.Check
	n.Check = func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return err
		}
		is, err := n.meets(ctx, rules, device)
		if err != nil {
			return err
		}
		gone := record.Those(was.rules, func(rule string) bool { return !slices.Contains(is.rules, rule) })
		switch {
		case !slices.Equal(was.settings, is.settings):
			return &network.WrongPath{Finding: "whether packets that cross a bridge meet the engine's rules (net.bridge.bridge-nf-call-iptables) has changed since the network was built"}
		case len(gone) > 0:
			return &network.WrongPath{Finding: fmt.Sprintf("%d of the %d rules for %s are gone since the network was built", len(gone), len(was.rules), device)}
		}
		return nil
	}
}
