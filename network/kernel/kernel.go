// Package kernel has the networks that need nothing but the kernel, with one file for each kind. All lists them.
package kernel

import "nettoll/network"

// All returns every network of the package, in the order of reports.
func All() []network.Driver {
	return []network.Driver{
		Loopback(), Host(), Native(), SharedNS(), Veth(), Netkit(),
		Bridge(), BridgeWithoutNetfilter(),
		Macvlan(), IPVlanL2(), IPVlanL3(),
		PipeworkVeth(), PipeworkMacvlan(),
		IPTables(), Published(), PublishedProxy(),
		VXLAN(), Routed(), ipip.driver(), GRE(), geneve.driver(), IPsec(),
	}
}
