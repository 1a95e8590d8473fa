package cni

import (
	"fmt"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// lead finds the ways between hosts.
func (n *network) lead() error {
	for i, c := range n.Network.Site.Clients {
		sv := n.Network.Site.Servers[n.Topo.Pair(i)]
		if c.Host == sv.Host {
			continue
		}
		for _, pair := range [][2]*plumb.Node{{c, sv}, {sv, c}} {
			w, err := n.way(pair[0], pair[1])
			if err != nil {
				return err
			}
			n.ways[pair] = w
		}
	}
	return nil
}

// way is how a host leads packets of its containers to those of another.
type way struct {
	device string // that they leave by; empty where the host does not route them
	routed bool   // through the bridge that the container's port belongs to
}

// way asks the host of from. Containers that hang on a veth pair need a route there, or a
// bridge that reaches further.
func (n *network) way(from, to *plumb.Node) (w way, err error) {
	p := n.plugs[from]
	if p.port == "" {
		return w, nil
	}
	dst := to.Addr4
	if !dst.IsValid() {
		dst = to.Addr6
	}
	err = nl.With(from.Host.NS, func(in *nl.NS) error {
		out, err := in.Toward(dst)
		if err == nil && out.Attrs().Name != p.bridge {
			w = way{device: out.Attrs().Name, routed: true}
			return nil
		}
		if p.bridge != "" && p.further {
			return nil // the bridge itself leads on
		}
		found := "no route there"
		if err == nil {
			found = "it to be on " + p.bridge + ", which has no port but those of containers"
		}
		return &platform.Unsupported{
			Feature: "a way between hosts", Option: "plugins that make one, or routes",
			Remedy: "--hosts 1 measures it on one host",
			Err:    fmt.Errorf("to reach %s at %s, %s has %s", to.Name(), dst, from.Host.Name(), found),
		}
	})
	return w, err
}
