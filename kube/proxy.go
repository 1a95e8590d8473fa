package kube

import (
	"net/netip"
	"strings"

	"nettoll/internal/plumb"
)

// ProxyArgs returns the arguments of the kube-proxy of a node, for the mode that --proxy-mode takes.
func ProxyArgs(config, node, mode string) []string {
	return []string{
		"--kubeconfig=" + config, "--hostname-override=" + node, "--proxy-mode=" + mode,
		// Connections of containers keep their source address.
		"--cluster-cidr=" + strings.Join([]string{plumb.Segment(false).String(), plumb.Segment(true).String()}, ","),
		"--nodeport-addresses=primary", "--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249",
		// Parameters of the kernel stay as they are: the host's limits of connection tracking are the
		// machine's.
		"--conntrack-max-per-core=0", "--conntrack-min=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		"--iptables-localhost-nodeports=false",
	}
}

// ServiceRange returns the range of the addresses of services, the --service-cluster-ip-range. That of IPv6
// is as large as the API server allows.
func ServiceRange() (all [2]netip.Prefix) {
	return [2]netip.Prefix{netip.PrefixFrom(plumb.ServiceAddr(0, false), 18), netip.PrefixFrom(plumb.ServiceAddr(0, true), 108)}
}
