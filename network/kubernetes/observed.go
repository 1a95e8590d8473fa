package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/record"
)

// Agents on the nodes of a cluster of the user's show what carries the payload. nettoll does not know the cluster's CNI plugin,
// and routes and bridges need not say where packets go (programs in the kernel can send them elsewhere), so the path is what
// counts the payload: among the pods' ends on their node, and all devices of the node that lead to no other pod.

// observed is what agents on the nodes see of a network.
type observed struct {
	hosts  []*plumb.Host                 // on which there are servers or clients: the payload crosses no other
	ports  map[*plumb.Node]network.Hop   // on the node of each pod, the other end of its eth0; none if there is none on the node
	own    map[*plumb.Host][]network.Hop // the node's own devices, from the pods to the other nodes
	expect string                        // see kube.Cluster.Expect
	claims map[*plumb.Host]kube.Claims   // of what connects the nodes
}

// bridgeKind is that of bridges. They lead to pods; all other devices of a node can lead out of it.
const bridgeKind = "bridge"

// observe finds the devices of the nodes that the payload can cross.
func (n *build) observe(ctx context.Context) error {
	o := &observed{hosts: n.talking(), ports: map[*plumb.Node]network.Hop{}, own: map[*plumb.Host][]network.Hop{}, expect: n.cluster.Expect(), claims: map[*plumb.Host]kube.Claims{}}
	for _, h := range o.hosts {
		agent := n.cluster.Nodes[h.Index].Agent
		all, err := agent.Interfaces(ctx)
		if err != nil {
			return fmt.Errorf("devices of the node of %s: %w", h.Name(), err)
		}
		o.claims[h] = n.cluster.Nodes[h.Index].Claims
		read, ends, masters := plumb.Devices{Agent: agent.Agent()}, map[string]bool{}, map[int]bool{}
		hop := func(device, name, about string) network.Hop {
			one := read.Hop(h.Name(), device)
			one.Name, one.May, one.About = h.Name()+"/"+name, true, about
			return one
		}
		for _, node := range slices.Concat(n.Servers, n.Clients) {
			if node.Host != h {
				continue
			}
			end, ok, err := n.endOf(ctx, node, all)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			ends[end.Name], masters[end.Master] = true, true
			about := end.Kind
			if i := slices.IndexFunc(all, func(d nl.Interface) bool { return d.Index == end.Master }); i >= 0 {
				about += " (port of " + all[i].Name + ")"
			}
			// Its name is made up, and is another one in each round.
			o.ports[node] = hop(end.Name, "veth-"+n.containers[node].Pod().Containers[0].Name(), about)
		}
		o.own[h] = ownHops(all, ends, masters, n.uplink(ctx, h, agent), hop)
	}
	n.observed, n.Hops = o, o.hops
	return nil
}

// ownHops returns the devices of a node that lead to no pod, from the pods to the other nodes. ends has the names of the ends of the
// network's pods, and masters the indexes of their bridges; hop returns a device as a hop.
func ownHops(all []nl.Interface, ends map[string]bool, masters map[int]bool, uplink string, hop func(device, name, about string) network.Hop) []network.Hop {
	own := record.Those(all, func(d nl.Interface) bool {
		return d.Name != "lo" && !ends[d.Name] && (d.Home == nl.Here || d.Name == uplink)
	})
	place := func(d nl.Interface) int {
		switch {
		case masters[d.Index]:
			return 0
		case d.Name == uplink:
			return 3
		case network.Tunnels(d.Kind):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(own, func(a, b nl.Interface) int { return place(a) - place(b) })
	return record.Each(own, func(d nl.Interface) network.Hop {
		one := hop(d.Name, d.Name, d.Kind)
		one.Common = d.Name == uplink
		return one
	})
}

// talking returns the hosts on which there are servers or clients.
func (n *build) talking() []*plumb.Host {
	return record.Those(n.Hosts, func(h *plumb.Host) bool {
		return slices.ContainsFunc(slices.Concat(n.Servers, n.Clients), func(node *plumb.Node) bool { return node.Host == h })
	})
}

// endOf returns the end, among the devices of a pod's node, of the pair whose other end is the pod's eth0. Other kinds of
// devices have none there.
func (n *build) endOf(ctx context.Context, node *plumb.Node, all []nl.Interface) (end nl.Interface, ok bool, err error) {
	inside, err := n.containers[node].Interfaces(ctx)
	if err != nil {
		return end, false, err
	}
	i := slices.IndexFunc(inside, func(d nl.Interface) bool { return d.Name == node.Device })
	if i < 0 {
		return end, false, fmt.Errorf("%s has no device %s", node.Name(), node.Device)
	}
	end, ok = otherEnd(inside[i], all)
	return end, ok, nil
}

// otherEnd returns the other end of a pair, if it is among the devices of another namespace. Devices that are on top of one of these
// have its index, too.
func otherEnd(of nl.Interface, all []nl.Interface) (end nl.Interface, ok bool) {
	return record.First(all, func(d nl.Interface) bool { return d.Index == of.Peer && d.Peer == of.Index && d.Kind == of.Kind })
}

// uplink returns the device by which a node sends to another node of the network, or "". That its route does not tell is no
// error: the device is then one of many that may count the payload.
func (n *build) uplink(ctx context.Context, h *plumb.Host, agent *kube.Container) string {
	for _, other := range slices.Concat(n.Servers, n.Clients) {
		if other.Host == h {
			continue
		}
		for _, at := range []netip.Addr{n.addrOf(other, network.IPv4), n.addrOf(other, network.IPv6)} {
			if device, err := agent.DeviceTo(ctx, at); err == nil {
				return device
			}
		}
	}
	return ""
}

// hops is the path between two pods.
func (o *observed) hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	near := func(at *plumb.Node) []network.Hop {
		hops := []network.Hop{at.Hop()}
		if port, ok := o.ports[at]; ok {
			hops = append(hops, port)
		}
		return hops
	}
	far := near(to)
	if to.Host != from.Host {
		far = append(far, o.own[to.Host]...)
	}
	slices.Reverse(far)
	return slices.Concat(near(from), o.own[from.Host], far)
}

// found describes what the payload of an IP version crossed on the nodes.
func (o *observed) found(crossed, unsure []network.Hop, version network.Family) (f network.Finding) {
	claim := func(h *plumb.Host) kube.Claim { return o.claims[h].Of(version == network.IPv6) }
	var parts, blind []string
	for _, h := range slices.Backward(o.hosts) { // in the order of the path: the servers are on the first host
		owns := func(hop network.Hop) bool { // the others are ends of pods
			return slices.ContainsFunc(o.own[h], func(own network.Hop) bool { return own.Name == hop.Name })
		}
		var names, out, through []string
		for _, hop := range crossed {
			where, device, _ := strings.Cut(hop.Name, "/")
			if where != h.Name() {
				continue
			}
			if !owns(hop) {
				names = record.AddNew(names, "the pods' "+hop.About)
				continue
			}
			if hop.About != "device" { // the kernel gives network cards no kind
				device += " (" + hop.About + ")"
			}
			names = append(names, device)
			if hop.About != bridgeKind {
				out = append(out, device)
			}
			if network.Tunnels(hop.About) {
				through = append(through, device)
			}
		}
		text := "on " + h.Name() + " " + strings.Join(names, ", ")
		if names == nil {
			text += "no device"
		}
		perhaps := record.Those(unsure, func(hop network.Hop) bool { return owns(hop) && hop.About != bridgeKind })
		if len(o.hosts) > 1 {
			switch {
			case out != nil:
			case len(perhaps) > 0:
				text += ", and nothing else for certain"
			default:
				text += ", and nothing that leads out of the node"
				blind = append(blind, h.Name())
			}
			f.Wrong = cmp.Or(f.Wrong, o.contradicts(h.Name(), out, through, crossed, perhaps))
			if out != nil && len(perhaps) == 0 {
				f.Doubt = cmp.Or(f.Doubt, unlike(claim(h), h.Name(), through, crossed))
			}
		}
		parts = append(parts, text)
	}
	switch {
	case blind != nil:
		f.Unproved = "what carries the payload out of " + strings.Join(blind, " and ") + " is not proved: no device that leads out of the node has counted it"
	case len(unsure) > 0:
		names := record.Each(unsure, func(hop network.Hop) string { return hop.Name })
		f.Unproved = "whether the payload crosses " + strings.Join(names, " and ") + " is not proved: others send as much there"
	}
	f.Remark = "counters of the nodes show what carried the payload: " + strings.Join(parts, "; ")
	by := record.Distinct(o.hosts, func(h *plumb.Host) string { return claim(h).By })
	if by[0] != "" && len(by) == 1 && len(o.hosts) > 1 && f.Doubt == "" && f.Unproved == "" {
		f.Remark += "; that is what " + by[0] + " says of its nodes"
	}
	return f
}

// unlike says how the tunnels that carried the payload out of a node differ from what the CNI plugin says. Either can be as it should
// be, so that is a doubt: plugins leave tunnels out between nodes of one subnet (flannel's DirectRouting, Calico's CrossSubnet), and
// nodes may reach each other by a tunnel that the plugin knows nothing of.
func unlike(claim kube.Claim, host string, through []string, crossed []network.Hop) string {
	says := fmt.Sprintf("%s says in an annotation of the node of %s that ", claim.By, host)
	switch {
	case claim.By == "":
	case claim.Tunnels == nil && through != nil:
		return says + "it has plain routes, and the payload crossed " + strings.Join(through, ", ") + " there"
	case claim.Tunnels != nil && !slices.ContainsFunc(crossed, func(hop network.Hop) bool {
		return strings.HasPrefix(hop.Name, host+"/") && slices.Contains(claim.Tunnels, hop.About)
	}):
		says += "it has tunnels (" + strings.Join(claim.Tunnels, ", ") + "), and the payload crossed "
		if through != nil {
			return says + strings.Join(through, ", ") + " there instead"
		}
		return says + "none of these there, as between nodes of one subnet that need none"
	}
	return ""
}

// contradicts says how what carried the payload out of a node, and the tunnels among that, contradict what the user expects. Perhaps
// it also crossed others of the node's devices.
func (o *observed) contradicts(host string, out, through []string, crossed, perhaps []network.Hop) string {
	kind := func(hop network.Hop) bool { return strings.HasPrefix(hop.Name, host+"/") && hop.About == o.expect }
	switch {
	case o.expect == "" || slices.ContainsFunc(crossed, kind) || slices.ContainsFunc(perhaps, kind):
		return ""
	case out == nil && len(perhaps) > 0 && o.expect == kube.ExpectPlain:
		return ""
	case out == nil && len(perhaps) > 0:
		return fmt.Sprintf("path not proved: no %s device of %s has counted the payload, and one is expected to carry it", o.expect, host)
	case out == nil:
		return fmt.Sprintf("path not proved: nothing that leads out of %s has counted the payload, and %s is expected to carry it", host, o.expect)
	case o.expect == kube.ExpectPlain && through == nil:
		return ""
	case o.expect == kube.ExpectPlain:
		return fmt.Sprintf("wrong path: the payload crossed %s of %s, and no tunnel is expected to carry it", strings.Join(through, ", "), host)
	}
	return fmt.Sprintf("wrong path: the payload crossed %s of %s, and no %s device, which is expected to carry it", strings.Join(out, ", "), host, o.expect)
}
