package flannel

import (
	"fmt"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// backend is one of flannel's ways from host to host.
type backend struct {
	kind  string // as flannel's configuration calls it
	six   bool   // carries IPv6, too
	cloud string // whose routes it writes, if it needs one
	// leads names the device that leads to the other hosts' containers.
	leads func(h *plumb.Host, six bool) string
	bare  bool // that is the uplink
	// carries: flanneld itself carries the payload.
	carries bool
	// userspace: wireguard-go does.
	userspace bool
	wire      func(network.Family) string
	needs     []plumb.Need
	// overhead is what it takes of the underlay's MTU where it takes most, in bytes.
	overhead int
}

var (
	udp = backend{
		kind: "udp", leads: device("flannel0", ""), carries: true, wire: port(8285, 0), needs: []plumb.Need{plumb.TUN},
		overhead: 28, // outer IPv4 20, UDP 8
	}
	vxlan = backend{
		kind: "vxlan", six: true, leads: device("flannel.1", "flannel-v6.1"), wire: to(8472), // Linux's port, not IANA's
		needs:    []plumb.Need{plumb.VXLAN},
		overhead: 70, // outer IPv6 40, UDP 8, VXLAN 8, inner Ethernet 14
	}
	hostGateway = backend{
		kind: "host-gw", six: true, bare: true, wire: plumb.Bare,
		leads: func(h *plumb.Host, _ bool) string { return h.Uplink().Device },
	}
	wireguard = backend{
		kind: "wireguard", six: true, leads: device("flannel-wg", "flannel-wg-v6"), wire: port(wireguardPort, wireguardPort+1),
		needs: []plumb.Need{plumb.WireGuard}, overhead: wireguardOverhead,
	}
	wireguardGo = backend{
		kind: "extension", userspace: true, wire: port(wireguardPort, 0), needs: []plumb.Need{plumb.TUN},
		leads: func(h *plumb.Host, _ bool) string { return wireguardDevice(h) },
	}
	awsVPC = backend{kind: "aws-vpc", cloud: "Amazon EC2"}
	gce    = backend{kind: "gce", cloud: "Google Compute Engine"}
)

// wireguardPort is what both of flannel's ways with WireGuard listen on; the device for
// IPv6 has the next one.
const wireguardPort = 51820

func device(four, six string) func(*plumb.Host, bool) string {
	return func(_ *plumb.Host, for6 bool) string {
		if for6 {
			return six
		}
		return four
	}
}

// port is a tunnel whose both ends have the port.
func port(four, six int) func(network.Family) string {
	return func(f network.Family) string {
		if f == network.IPv6 {
			return fmt.Sprintf("udp port %d", six)
		}
		return fmt.Sprintf("udp port %d", four)
	}
}

// to is a tunnel whose receiving ends have the port.
func to(port int) func(network.Family) string {
	return func(network.Family) string { return fmt.Sprintf("udp dst port %d", port) }
}

// families runs fn for each IP version that the backend carries, until one fails.
func (b backend) families(fn func(six bool) error) error {
	if err := fn(false); err != nil || !b.six {
		return err
	}
	return fn(true)
}
