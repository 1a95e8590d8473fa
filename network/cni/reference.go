package cni

import (
	"encoding/json"
	"net/netip"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"

	"nettoll/internal/plumb"
)

// specVersion is the newest version of the specification that Debian's plugins (1.1.1) support.
const specVersion = "1.0.0"

// modes are the modes of the plugins that make devices on the uplink.
var modes = map[string]string{"macvlan": "bridge", "ipvlan": "l2"}

// bridgeName is the plugin's default.
const bridgeName = "cni0"

// generate returns the conflist of a reference plugin for a host, with addresses from the address
// plan.
func (t variant) generate(h *plumb.Host, mtu int, dir string) (*libcni.NetworkConfigList, error) {
	plugin := map[string]any{
		"type": t.plugin,
		// A container's address must not depend on the order of attachment.
		"capabilities": map[string]bool{"ips": true},
	}
	ipam := map[string]any{"type": hostLocal, "dataDir": filepath.Join(dir, h.Name())}
	switch t.plugin {
	case "bridge":
		plugin["bridge"], plugin["isGateway"] = bridgeName, true
		routed(ipam, h)
	case "ptp":
		routed(ipam, h)
	default:
		plugin["master"], plugin["mode"] = h.Uplink().Device, modes[t.plugin]
		ipam["ranges"] = ranges(plumb.Segment(false), plumb.Segment(true))
	}
	if mtu > 0 && modes[t.plugin] == "" { // the others have the MTU of the uplink
		plugin["mtu"] = mtu
	}
	plugin["ipam"] = ipam
	text, err := json.Marshal(map[string]any{"cniVersion": specVersion, "name": t.Name, "plugins": []any{plugin}})
	if err != nil {
		return nil, err
	}
	return libcni.NetworkConfFromBytes(text)
}

// routed gives the host's own subnet to ipam, with the host as the gateway.
func routed(ipam map[string]any, h *plumb.Host) {
	sets := ranges(plumb.Subnet(h.Index, false), plumb.Subnet(h.Index, true))
	sets[0][0]["gateway"] = plumb.Gateway(h.Index, false).String()
	sets[1][0]["gateway"] = plumb.Gateway(h.Index, true).String()
	ipam["ranges"] = sets
	ipam["routes"] = []map[string]string{{"dst": "0.0.0.0/0"}, {"dst": "::/0"}}
}

// ranges returns the ranges of one IPv4 and one IPv6 subnet.
func ranges(four, six netip.Prefix) [][]map[string]string {
	return [][]map[string]string{{{"subnet": four.Masked().String()}}, {{"subnet": six.Masked().String()}}}
}

// wanted returns a container's addresses in the address plan, for the capability "ips".
func (t variant) wanted(n *plumb.Node) map[string]any {
	if t.list != nil {
		return nil
	}
	four, six := plumb.Subnet(n.Host.Index, false).Bits(), plumb.Subnet(n.Host.Index, true).Bits()
	if modes[t.plugin] != "" {
		four, six = plumb.Segment(false).Bits(), plumb.Segment(true).Bits()
	}
	return map[string]any{"ips": []string{
		netip.PrefixFrom(n.Addr4, four).String(), netip.PrefixFrom(n.Addr6, six).String(),
	}}
}
