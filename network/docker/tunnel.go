package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/record"
)

// tunnel is an overlay network: on each of its hosts a bridge and a VXLAN device, in a namespace
// that the engine hides.
type tunnel struct {
	n        *build
	name, id string
	label    string                        // in names of hops
	ends     map[*plumb.Host][]network.Hop // the VXLAN device of each host, where it is known
}

func (n *build) tunnel(ctx context.Context, name, label string) (*tunnel, error) {
	id, err := n.swarm.Manager.NetworkID(ctx, name)
	if err != nil {
		return nil, err
	}
	if n.onCards() {
		if err := n.watched(ctx); err != nil {
			return nil, err
		}
		n.found = n.onCard
	}
	return &tunnel{n: n, name: name, id: id, label: label, ends: map[*plumb.Host][]network.Hop{}}, nil
}

// Names of the namespaces that engines hide: a network's ends in the first ten letters of its ID,
// that of its load balancer in nine.
func (t *tunnel) sandbox() string  { return "1-" + t.id[:min(10, len(t.id))] }
func (t *tunnel) balancer() string { return "lb_" + t.id[:min(9, len(t.id))] }

// find finds the VXLAN devices. They exist once the first container does.
func (t *tunnel) find() error {
	for _, h := range t.n.Hosts {
		path := t.n.engines[h.Index].Sandbox(t.sandbox())
		if path == "" && !t.n.talks(h) {
			continue // it need not have one
		}
		if path == "" {
			note := fmt.Sprintf("the VXLAN device of %s is hidden from here", h.Name())
			if !t.n.onCards() {
				note += ": the containers' own devices alone prove the path there"
			}
			t.n.Notes = append(t.n.Notes, note)
			continue
		}
		t.n.concealed[fmt.Sprintf("the %s network on %s", t.label, h.Name())] = path
		all, err := nl.Ask(path, (*nl.NS).Interfaces)
		if err != nil {
			return fmt.Errorf("docker: %s of %s: %w", t.label, h.Name(), err)
		}
		i := slices.IndexFunc(all, func(d nl.Interface) bool { return d.Kind == "vxlan" })
		if i < 0 {
			return fmt.Errorf("docker: the %s network has no VXLAN device on %s", t.label, h.Name())
		}
		t.ends[h] = []network.Hop{hidden(h, path, all[i].Name, all[i].Kind, "vxlan-"+t.label)}
	}
	return nil
}

// hidden counts the packets of a device of some kind in a namespace that the engine hides.
func hidden(h *plumb.Host, path, device, link, name string) network.Hop {
	hop := plumb.DeviceHop(h.Name(), path, device)
	hop.Name, hop.Link = h.Name()+"/"+name, link
	return hop
}

// path leads through the tunnel and over the uplinks between hosts, and past both on one host.
func (t *tunnel) path(from, to *plumb.Node, _ network.Family) []network.Hop {
	return slices.Concat([]network.Hop{from.Hop()}, t.between(from.Host, to.Host), []network.Hop{to.Hop()})
}

func (t *tunnel) between(from, to *plumb.Host) []network.Hop {
	if from != to {
		return slices.Concat(t.ends[from], t.n.uplinks(from, to), t.ends[to])
	}
	return append(record.Each(t.ends[from], plumb.Absent), plumb.UplinkHops(from, to)...)
}

// onCards reports whether the devices are known by which machines of the user's reach each other.
func (n *build) onCards() bool { return n.several() && n.apart == nil }

// uplinks returns the devices between two hosts. Those of machines of the user's need not carry the tunnel: a swarm may send
// its data over another network than the one by which its nodes know each other (docker swarm init --data-path-addr).
func (n *build) uplinks(from, to *plumb.Host) []network.Hop {
	hops := plumb.UplinkHops(from, to)
	if n.several() {
		for i := range hops {
			hops[i].May, hops[i].Common, hops[i].About = true, true, "network card"
		}
	}
	return hops
}

// onCard says which devices of the user's machines counted the payload of a tunnel.
func (n *build) onCard(crossed, unsure []network.Hop, _ network.Family) network.Finding {
	var by, not []string
	for _, node := range n.talking() { // the payload crosses no other host
		card := node.Host.UplinkHop().Name
		if slices.ContainsFunc(crossed, func(hop network.Hop) bool { return hop.Name == card }) {
			by = record.AddNew(by, card)
		} else {
			not = record.AddNew(not, card)
		}
	}
	if not == nil {
		return network.Finding{Remark: "by their counters, " + strings.Join(by, " and ") + " carried the payload between the machines"}
	}
	const unproved = "what carried the payload between the machines is not proved: "
	if card, ok := record.First(unsure, func(hop network.Hop) bool { return slices.Contains(not, hop.Name) }); ok {
		return network.Finding{Unproved: unproved + "others send as much over " + card.Name}
	}
	return network.Finding{Unproved: unproved + "by its counters, it was not " + strings.Join(not, " or ")}
}
