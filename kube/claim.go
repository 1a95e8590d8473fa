package kube

import (
	"slices"
	"strings"
)

// Claim is what a CNI plugin says of how it connects nodes. The zero value is that none says anything.
type Claim struct {
	By string // the plugin
	// Tunnels are the kinds of devices that it has for that, as the kernel names them; none: it has plain routes.
	Tunnels []string
}

// claimed reads what flannel and Calico say in the annotations of a node. Other plugins say it in objects of their own, to read which
// would take further rights. flannel's prefix can be changed (--kube-annotation-prefix), and Calico has another datastore, too: then
// nothing is known.
func claimed(annotations map[string]string) Claim {
	switch backend := annotations["flannel.alpha.coreos.com/backend-type"]; backend {
	case "vxlan", "ipip", "wireguard":
		return Claim{"flannel", []string{backend}}
	case "host-gw":
		return Claim{By: "flannel"}
	}
	const calico = "projectcalico.org/"
	if annotations[calico+"IPv4Address"]+annotations[calico+"IPv6Address"] == "" {
		return Claim{}
	}
	c := Claim{By: "Calico"}
	for _, t := range []struct{ kind, names string }{
		{"ipip", "IPv4IPIPTunnelAddr"}, {"vxlan", "IPv4VXLANTunnelAddr IPv6VXLANTunnelAddr"}, {"wireguard", "IPv4WireguardInterfaceAddr IPv6WireguardInterfaceAddr"},
	} {
		if slices.ContainsFunc(strings.Fields(t.names), func(name string) bool { return annotations[calico+name] != "" }) {
			c.Tunnels = append(c.Tunnels, t.kind)
		}
	}
	return c
}
