package kube

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// ProxyMode is a way in which kube-proxy has the kernel translate addresses.
type ProxyMode struct {
	Name     string // as --proxy-mode takes it
	About    string // what translates, for the sentence about a network
	Programs []daemon.Program
	Needs    []plumb.Need
	// VirtualServers says that IPVS translates. conntrack does not give its connections the status DNAT.
	VirtualServers bool

	list  func(six bool) []string // the command that prints the rules, or elements of a set, of an IP version
	entry *regexp.Regexp          // matches the rule, or element, of a service's port that has an endpoint; with the service's address
	drops func(six bool) []string // the command that prints the rule which drops packets to addresses that no service has; nil: there is none
}

// Modes of kube-proxy. With rules, the entries of all services change at once, after the rules that they lead to were made. Packets to
// a virtual server of IPVS are rejected until its port is in a set as well, into which kube-proxy adds one after the other.
var (
	IPTables = ProxyMode{
		Name: "iptables", About: "kube-proxy's iptables rules translate",
		Programs: []daemon.Program{
			{Name: "iptables", Get: platform.Install("iptables"), InPath: true}, {Name: "ip6tables", Get: platform.Install("iptables"), InPath: true},
		},
		list: func(six bool) []string {
			if six {
				return []string{"ip6tables-save", "-t", "nat"}
			}
			return []string{"iptables-save", "-t", "nat"}
		},
		entry: regexp.MustCompile(`(?m)^-A KUBE-SERVICES -d ([0-9a-f:.]+)/\d+ .* -j KUBE-(?:SVC|EXT)-`),
	}
	NFTables = ProxyMode{
		Name: "nftables", About: "kube-proxy's nftables rules translate",
		Programs: []daemon.Program{{Name: "nft", Get: platform.Install("nftables"), InPath: true}},
		list: func(six bool) []string {
			return []string{"nft", "list", "map", nftFamily(six), "kube-proxy", "service-ips"}
		},
		entry: regexp.MustCompile(`([0-9a-f:.]+) \. \w+ \. \S+ : goto service-`),
		drops: func(six bool) []string {
			return []string{"nft", "list", "chain", nftFamily(six), "kube-proxy", "cluster-ips-check"}
		},
	}
	IPVS = ProxyMode{
		Name: "ipvs", About: "the kernel's IP Virtual Server, which kube-proxy configures, translates",
		Programs: []daemon.Program{
			{Name: "ipset", Get: platform.Install("ipset"), InPath: true}, {Name: "iptables", Get: platform.Install("iptables"), InPath: true},
		},
		Needs: []plumb.Need{plumb.Dummy, plumb.IPVS}, VirtualServers: true,
		list: func(six bool) []string {
			set := "KUBE-CLUSTER-IP"
			if six {
				set = "KUBE-6-CLUSTER-IP"
			}
			return []string{"ipset", "list", set, "-output", "save"}
		},
		entry: regexp.MustCompile(`(?m)^add KUBE-(?:6-)?CLUSTER-IP ([0-9a-f:.]+),`),
	}
)

// Args returns the arguments of the kube-proxy of a node.
func (m ProxyMode) Args(config, node string) []string {
	return []string{
		"--kubeconfig=" + config, "--hostname-override=" + node, "--proxy-mode=" + m.Name,
		// Connections of containers keep their source address.
		"--cluster-cidr=" + strings.Join([]string{plumb.Segment(false).String(), plumb.Segment(true).String()}, ","),
		"--nodeport-addresses=primary", "--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249",
		// Parameters of the kernel stay as they are: the host's limits of connection tracking are the
		// machine's.
		"--conntrack-max-per-core=0", "--conntrack-min=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		"--iptables-localhost-nodeports=false",
	}
}

// Serves returns an error unless a node translates the ports of services as it should. want has the number of ports of each
// address, which is 0 for addresses that no service has any more.
func (m ProxyMode) Serves(ctx context.Context, node platform.Host, want map[netip.Addr]int) error {
	for _, six := range []bool{false, true} {
		ports, err := m.served(ctx, node, six)
		if err != nil {
			return err
		}
		for at, n := range want {
			if at.Is6() == six && ports[at] != n {
				return fmt.Errorf("%s translates %d of %d ports of the service %s", node.Name(), ports[at], n, at)
			}
		}
	}
	return nil
}

// served returns the addresses of services of an IP version that a node translates to endpoints, each with the number of its
// ports for which it does.
func (m ProxyMode) served(ctx context.Context, node platform.Host, six bool) (map[netip.Addr]int, error) {
	ports := map[netip.Addr]int{}
	rules, err := output(ctx, node, m.list(six))
	if err != nil {
		return nil, err
	}
	for _, found := range m.entry.FindAllStringSubmatch(rules, -1) {
		if at, err := netip.ParseAddr(found[1]); err == nil {
			ports[at]++
		}
	}
	if !m.VirtualServers {
		return ports, nil
	}
	servers, err := nl.VirtualServers(node.Facts().NetNS, six)
	have := map[netip.Addr]int{}
	for _, at := range servers {
		have[at.Addr()]++
	}
	for at, n := range ports {
		ports[at] = min(n, have[at])
	}
	return ports, err
}

// DropsOthers returns an error unless a node drops packets to addresses in the range of services that no service has, where the mode
// does so. kube-proxy learns of the range apart from services, and may have written the rules of these before: it writes the one of
// the range with all others, once it has to write all of them, such as when the zone of its node changes, and otherwise an hour later
// (Kubernetes 1.33 to 1.37, OnServiceCIDRsChanged and syncProxyRules in pkg/proxy/nftables/proxier.go).
func (m ProxyMode) DropsOthers(ctx context.Context, node platform.Host) error {
	if m.drops == nil {
		return nil
	}
	for i, of := range ServiceRange() {
		rules, err := output(ctx, node, m.drops(i == 1))
		if err != nil {
			return err
		}
		if !strings.Contains(rules, of.String()) {
			return fmt.Errorf("%s does not drop packets to the addresses in %s that no service has (kube-proxy does since Kubernetes 1.33)", node.Name(), of)
		}
	}
	return nil
}

func nftFamily(six bool) string {
	if six {
		return "ip6"
	}
	return "ip"
}

// output returns what a command on a node prints.
func output(ctx context.Context, node platform.Host, command []string) (string, error) {
	out, err := nsexec.Output(ctx, node, command[0], command[1:]...)
	return out, wrap.Error(err, "%s", command[0])
}

// ServiceRange returns the range of the addresses of services, the --service-cluster-ip-range. That of IPv6
// is as large as the API server allows.
func ServiceRange() (all [2]netip.Prefix) {
	return [2]netip.Prefix{netip.PrefixFrom(plumb.ServiceAddr(0, false), 18), netip.PrefixFrom(plumb.ServiceAddr(0, true), 108)}
}
