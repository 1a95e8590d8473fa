package docker

import (
	"context"
	"fmt"

	"nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/network"
)

// tunnel is an overlay network: on each of its hosts a bridge and a VXLAN device, in a
// namespace that the engine hides.
type tunnel struct {
	n        *build
	name, id string
	label    string // in names of hops
	ends     map[*engine.Host]network.Hop
}

func (n *build) tunnel(ctx context.Context, name, label string) (*tunnel, error) {
	id, err := n.swarm.Manager.NetworkID(ctx, name)
	if err != nil {
		return nil, err
	}
	return &tunnel{n: n, name: name, id: id, label: label, ends: map[*engine.Host]network.Hop{}}, nil
}

// How engines name what they hide: a network's namespace by the first ten letters of
// its id, that of its load balancer by nine.
func (t *tunnel) sandbox() string  { return "1-" + t.id[:min(10, len(t.id))] }
func (t *tunnel) balancer() string { return "lb_" + t.id[:min(9, len(t.id))] }

// find finds the VXLAN devices. They are there when the first container is.
func (t *tunnel) find(ctx context.Context) error {
	for _, h := range t.n.hosts {
		path := h.Sandbox(t.sandbox())
		if path == "" {
			t.n.notes = append(t.n.notes, fmt.Sprintf(
				"the VXLAN device of %s is hidden from here: the containers' own devices alone prove the path there", h.Name()))
			continue
		}
		if t.n.concealed == nil {
			t.n.concealed = map[string]string{}
		}
		t.n.concealed[fmt.Sprintf("the %s network on %s", t.label, h.Name())] = path
		all, err := engine.InterfacesIn(path)
		if err != nil {
			return fmt.Errorf("docker: %s of %s: %w", t.label, h.Name(), err)
		}
		for _, d := range all {
			if d.Kind == "vxlan" {
				t.ends[h] = hidden(h, path, d.Name, "vxlan-"+t.label)
			}
		}
		if _, ok := t.ends[h]; !ok {
			return fmt.Errorf("docker: the %s network has no VXLAN device on %s", t.label, h.Name())
		}
	}
	return nil
}

// hidden counts what a device of a namespace carried that the engine hides.
func hidden(h *engine.Host, path, device, name string) network.Hop {
	hop := deviceHop(h.Name(), device, func(context.Context) ([]nl.Interface, error) { return engine.InterfacesIn(path) })
	hop.Name = h.Name() + "/" + name
	return hop
}

// path: between hosts through the tunnel, over their uplinks; on one host past both.
func (t *tunnel) path(from, to *node, _ network.Family) []network.Hop {
	hops := append([]network.Hop{from.hop()}, t.between(from.host, to.host)...)
	return append(hops, to.hop())
}

func (t *tunnel) between(from, to *engine.Host) (hops []network.Hop) {
	if from == to {
		if end, ok := t.ends[from]; ok {
			hops = append(hops, absent(end))
		}
		return append(hops, t.uplinks(absent, from)...)
	}
	same := func(h network.Hop) network.Hop { return h }
	if end, ok := t.ends[from]; ok {
		hops = append(hops, end)
	}
	hops = append(hops, t.uplinks(same, from, to)...)
	if end, ok := t.ends[to]; ok {
		hops = append(hops, end)
	}
	return hops
}

// uplinks are the hosts' devices on the underlay, where they are known.
func (t *tunnel) uplinks(as func(network.Hop) network.Hop, hosts ...*engine.Host) (hops []network.Hop) {
	for _, h := range hosts {
		if device := h.Uplink().Device; device != "" {
			hops = append(hops, as(hostHop(h, device)))
		}
	}
	return hops
}
