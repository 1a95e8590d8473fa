package kube

// Claims are what a CNI plugin says of how it connects nodes, for each IP version: Calico can have tunnels for one, and none for the
// other.
type Claims struct{ IPv4, IPv6 Claim }

// Of returns the claim about an IP version.
func (c Claims) Of(six bool) Claim {
	if six {
		return c.IPv6
	}
	return c.IPv4
}

// Claim is what a CNI plugin says about an IP version. The zero value is that none says anything.
type Claim struct {
	By string // the plugin
	// Tunnels are the kinds of devices that it has for that, as the kernel names them; none: it has plain routes.
	Tunnels []string
}

// claimed reads what flannel and Calico say in the annotations of a node. Other plugins say it in objects of their own, to read which
// would take further rights. flannel's prefix can be changed (--kube-annotation-prefix), and Calico has another datastore, too: then
// nothing is known.
func claimed(annotations map[string]string) Claims {
	switch backend := annotations["flannel.alpha.coreos.com/backend-type"]; backend {
	case "vxlan", "ipip", "wireguard":
		one := Claim{"flannel", []string{backend}}
		return Claims{one, one}
	case "host-gw":
		one := Claim{By: "flannel"}
		return Claims{one, one}
	}
	of := func(version string) (c Claim) {
		says := func(what string) bool { return annotations["projectcalico.org/"+version+what] != "" }
		if !says("Address") {
			return c
		}
		c.By = "Calico"
		for _, t := range []struct{ kind, name string }{
			{"ipip", "IPIPTunnelAddr"}, {"vxlan", "VXLANTunnelAddr"}, {"wireguard", "WireguardInterfaceAddr"},
		} {
			if says(t.name) {
				c.Tunnels = append(c.Tunnels, t.kind)
			}
		}
		return c
	}
	return Claims{of("IPv4"), of("IPv6")}
}
