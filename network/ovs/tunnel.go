package ovs

import (
	"fmt"
	"strconv"

	"nettoll/internal/plumb"
)

// tunnel is a kind of tunnel.
type tunnel struct {
	kind     string // as Open vSwitch calls it
	port     int    // UDP
	overhead int    // bytes
	device   string // through which all tunnels of the kind go in the kernel
	need     plumb.Need
}

var (
	// Outer IPv4 20, UDP 8, VXLAN 8, inner Ethernet 14.
	vxlan = &tunnel{"vxlan", 4789, 50, "vxlan_sys_4789", plumb.VXLAN}
	// The same with Geneve's 8, and an option of 8, for which OVN leaves room.
	geneve = &tunnel{"geneve", 6081, 58, "genev_sys_6081", plumb.Geneve}
)

const vni = 42

// overhead of the tunnel in bytes, if there is one.
func (t variant) overhead() int {
	if t.tunnel == nil {
		return 0
	}
	return t.tunnel.overhead
}

// name is of the port that leads to a host.
func (t *tunnel) name(to *plumb.Host) string { return t.kind + "-" + to.Name() }

// number is its port in OpenFlow, above those of containers.
func (t *tunnel) number(to *plumb.Host) int { return 60001 + to.Index }

// mesh gives the ovs-vsctl commands that join a host to all others. The ports are protected: what
// came from one host must not go to another, or frames would run in circles.
func (b *build) mesh(v *vswitch) (commands []string) {
	if b.tech.tunnel == nil {
		return nil
	}
	for _, to := range b.Hosts {
		if to == v.host {
			continue
		}
		name := b.tech.tunnel.name(to)
		commands = append(commands,
			"--", "add-port", bridge, name, "--", "set", "Port", name, "protected=true",
			"--", "set", "Interface", name, "type="+b.tech.tunnel.kind, "ofport_request="+strconv.Itoa(b.tech.tunnel.number(to)),
			fmt.Sprintf("options:key=%d", vni),
			"options:remote_ip="+to.Uplink().Addr4.Addr().String(), "options:local_ip="+v.host.Uplink().Addr4.Addr().String())
	}
	return commands
}
