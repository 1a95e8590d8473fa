package calico

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
)

// object is an object of Calico, as its library keeps it in etcd.
type object struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   metadata `json:"metadata"`
	Spec       any      `json:"spec"`
}

type metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	UID       string `json:"uid"`
	Created   string `json:"creationTimestamp"`
}

// fields are the fields of an object's specification.
type fields map[string]any

// store puts objects into etcd.
type store struct {
	ctx  context.Context
	etcd *daemon.Etcd
	made int
	err  error
}

// put stores an object of a kind. plural is the kind's name in etcd's keys.
func (s *store) put(kind, plural, namespace, name string, spec any) {
	s.made++
	key := "/calico/resources/v3/projectcalico.org/" + plural + "/"
	if namespace != "" {
		key += namespace + "/"
	}
	s.write(key+name, object{kind, "projectcalico.org/v3", metadata{
		Name: name, Namespace: namespace,
		UID: fmt.Sprintf("00000000-0000-4000-8000-%012d", s.made), Created: "2026-01-01T00:00:00Z",
	}, spec})
}

func (s *store) write(key string, value any) {
	if s.err != nil {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = s.etcd.Put(s.ctx, key, string(text))
	}
	s.err = err
}

// block returns a host's share of the address pool. Blocks of IPv6 in IPAM span at most 12 bits.
func block(h *plumb.Host, six bool) netip.Prefix {
	p := plumb.Subnet(h.Index, six)
	if six {
		return netip.PrefixFrom(p.Addr(), blockBits6)
	}
	return p
}

const blockBits6 = 116

// describe stores everything that felix needs to know of a network.
func (t variant) describe(ctx context.Context, e *daemon.Etcd, s *plumb.Site) error {
	st := &store{ctx: ctx, etcd: e}
	st.put("ClusterInformation", "clusterinformations", "", "default", fields{
		"clusterGUID": "00000000000040008000000000000000", "datastoreReady": true,
	})
	t.describePools(st)
	for _, h := range s.Hosts {
		t.describeHost(st, h)
	}
	anything := []fields{{"action": "Allow"}}
	st.put("Profile", "profiles", "", open, fields{"ingress": anything, "egress": anything})
	for i := range t.policies {
		rules := policy(i, t.policies)
		st.put("GlobalNetworkPolicy", "globalnetworkpolicies", "", fmt.Sprintf("default.policy%d", i+1), fields{
			"order": i + 1, "selector": "all()", "types": []string{"Ingress", "Egress"}, "ingress": rules, "egress": rules,
		})
	}
	return st.err
}

// open is the profile of containers to which no policy applies.
const open = "open"

func (t variant) describePools(st *store) {
	mode := func(w way) string {
		if t.way == w {
			return "Always"
		}
		return "Never"
	}
	for _, six := range []bool{false, true} {
		spec := fields{
			"cidr": plumb.Segment(six).String(), "blockSize": plumb.Subnet(0, false).Bits(), "nodeSelector": "all()",
			"ipipMode": mode(ipip), "vxlanMode": mode(vxlan), "allowedUses": []string{"Workload", "Tunnel"},
			"natOutgoing": !six, // as Calico's manifests have it: new connections meet its rule, which translates none of nettoll's
		}
		name := "pool4"
		if six {
			name, spec["blockSize"], spec["ipipMode"] = "pool6", blockBits6, "Never"
		}
		st.put("IPPool", "ippools", "", name, spec)
	}
}

func (t variant) describeHost(st *store, h *plumb.Host) {
	u := h.Uplink()
	bgp := fields{"ipv4Address": u.Addr4.String(), "ipv6Address": u.Addr6.String()}
	node := fields{"bgp": bgp}
	own4, own6 := plumb.Gateway(h.Index, false).String(), plumb.Gateway(h.Index, true).String()
	switch t.way {
	case ipip:
		bgp["ipv4IPIPTunnelAddr"] = own4
	case vxlan:
		node["ipv4VXLANTunnelAddr"], node["ipv6VXLANTunnelAddr"] = own4, own6
	}
	st.put("Node", "nodes", "", h.Name(), node)
	for family, six := range map[string]bool{"ipv4": false, "ipv6": true} {
		p := block(h, six)
		key := fmt.Sprintf("/calico/ipam/v2/assignment/%s/block/%s", family, strings.Replace(p.String(), "/", "-", 1))
		st.write(key, fields{
			"cidr": p.String(), "affinity": "host:" + h.Name(),
			"allocations": []int{}, "unallocated": []int{}, "attributes": []int{}, "deleted": false,
		})
	}
	for _, n := range h.Nodes {
		st.put("WorkloadEndpoint", "workloadendpoints", "default", fmt.Sprintf("%s-cni-%s-%s", h.Name(), n.Name(), n.Device), fields{
			"orchestrator": "cni", "node": h.Name(), "containerID": n.Name(), "endpoint": n.Device, "interfaceName": n.Port,
			"ipNetworks": []string{plumb.Single(n.Addr4).String(), plumb.Single(n.Addr6).String()}, "profiles": []string{open},
		})
	}
}

const (
	policies      = 10 // applied to each container, in either direction
	rulesOfPolicy = 10
	// firstUnused is the first of the ports that rules name, which no server of nettoll listens on.
	firstUnused = 1001
)

// policy returns the rules of policy i. Only the last rule of the last policy matches.
func policy(i, of int) (rules []fields) {
	for k := range rulesOfPolicy {
		rule := fields{"action": "Allow", "protocol": "TCP", "destination": fields{"ports": []int{firstUnused + i*rulesOfPolicy + k}}}
		if i == of-1 && k == rulesOfPolicy-1 {
			rule = fields{"action": "Allow"}
		}
		rules = append(rules, rule)
	}
	return rules
}
