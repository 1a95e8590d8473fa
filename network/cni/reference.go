package cni

import (
	"encoding/json"
	"net/netip"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"

	"nettoll/internal/plumb"
)

// specVersion is the newest version of the specification that Debian's plugins (1.1.1) know.
const specVersion = "1.0.0"

// bridgeName is the plugin's own default.
const bridgeName = "cni0"

// generate gives the conflist of a reference plugin for a host, with addresses as the
// address plan has them.
func (t variant) generate(h *plumb.Host, mtu int, dir string) (*libcni.NetworkConfigList, error) {
	plugin := map[string]any{
		"type": t.plugin,
		// Which address a container gets must not depend on which is first.
		"capabilities": map[string]bool{"ips": true},
	}
	ipam := map[string]any{"type": hostLocal, "dataDir": filepath.Join(dir, h.Name())}
	switch t.plugin {
	case "bridge":
		plugin["bridge"], plugin["isGateway"] = bridgeName, true
		routed(ipam, h)
	case "ptp":
		routed(ipam, h)
	case "macvlan":
		plugin["master"], plugin["mode"] = h.Uplink().Device, "bridge"
		ipam["ranges"] = ranges(plumb.Segment(false), plumb.Segment(true))
	case "ipvlan":
		plugin["master"], plugin["mode"] = h.Uplink().Device, "l2"
		ipam["ranges"] = ranges(plumb.Segment(false), plumb.Segment(true))
	}
	if mtu > 0 && (t.plugin == "bridge" || t.plugin == "ptp") { // the others have that of the uplink
		plugin["mtu"] = mtu
	}
	plugin["ipam"] = ipam
	text, err := json.Marshal(map[string]any{"cniVersion": specVersion, "name": t.Name, "plugins": []any{plugin}})
	if err != nil {
		return nil, err
	}
	return libcni.NetworkConfFromBytes(text)
}

// routed is a subnet of the host's own, with the host as the way out.
func routed(ipam map[string]any, h *plumb.Host) {
	sets := ranges(plumb.Subnet(h.Index, false), plumb.Subnet(h.Index, true))
	sets[0][0]["gateway"] = plumb.Gateway(h.Index, false).String()
	sets[1][0]["gateway"] = plumb.Gateway(h.Index, true).String()
	ipam["ranges"] = sets
	ipam["routes"] = []map[string]string{{"dst": "0.0.0.0/0"}, {"dst": "::/0"}}
}

// ranges are those of one IPv4 and one IPv6 subnet.
func ranges(four, six netip.Prefix) [][]map[string]string {
	return [][]map[string]string{{{"subnet": four.Masked().String()}}, {{"subnet": six.Masked().String()}}}
}

// wanted are the addresses that the address plan has for a container, for the
// capability "ips".
func (t variant) wanted(n *plumb.Node) map[string]any {
	if t.list != nil {
		return nil
	}
	four, six := plumb.Subnet(n.Host.Index, false).Bits(), plumb.Subnet(n.Host.Index, true).Bits()
	if t.plugin == "macvlan" || t.plugin == "ipvlan" {
		four, six = plumb.Segment(false).Bits(), plumb.Segment(true).Bits()
	}
	return map[string]any{"ips": []string{
		netip.PrefixFrom(n.Addr4, four).String(), netip.PrefixFrom(n.Addr6, six).String(),
	}}
}
