package calico

import (
	"cmp"
	"context"
	"fmt"

	"nettoll/internal/bird"
	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// build is a network of Calico.
type build struct {
	*plumb.Network
	tech   variant
	routes plumb.Routes // between hosts
}

func (n *build) build(ctx context.Context) error {
	s := n.Site
	mtu := plumb.Less(n.tech.way.overhead)
	if err := s.Fits(n.tech.Name, nil, mtu); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		if err := s.AttachBehindProxyARP(ctx, h, mtu(h.Uplink().MTU)); err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	dir, err := daemon.State(&s.Stack)
	if err != nil {
		return err
	}
	etcd, err := daemon.StartEtcd(ctx, &s.Stack, n.Programs["etcd"], s.Hosts[0], dir)
	if err != nil {
		return err
	}
	n.Watch(false, etcd.Daemon)
	if err := n.tech.describe(ctx, etcd, s); err != nil {
		return err
	}
	started, err := n.startFelix(ctx, etcd)
	if err != nil {
		return err
	}
	n.Watch(false, started...)
	if n.tech.way == vxlan {
		return nil
	}
	mesh := bird.Mesh{Routes: n.routes, Path: n.Programs["bird"], Tunnel: n.tech.way.device4}
	routers, err := mesh.Start(ctx)
	n.Watch(false, routers...)
	return err
}

// lost returns an error if routes between hosts or policies have disappeared.
func (n *build) lost(ctx context.Context) error {
	if err := n.routes.Lost("calico"); err != nil {
		return err
	}
	return n.unruled(ctx)
}

// device returns the tunnel between hosts, or "" if there is none.
func (n *build) device(six bool) string {
	if six {
		return n.tech.way.device6
	}
	return n.tech.way.device4
}

// toward returns the device through which packets to other hosts' containers are routed.
func (n *build) toward(h *plumb.Host, six bool) string {
	return cmp.Or(n.device(six), h.Uplink().Device)
}

func (n *build) onWire(f network.Family) string { return cmp.Or(n.tech.way.wire, plumb.Bare(f)) }
