package flannel

import (
	"context"
	"fmt"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// build connects the containers. It gives what tests look into.
func (v variant) build(ctx context.Context, n *plumb.Network) (*build, error) {
	if err := v.have(ctx); err != nil {
		return nil, err
	}
	programs, err := v.find()
	if err != nil {
		return nil, err
	}
	if err := n.Fits(v.Name, v.Families, plumb.Less(v.overhead)); err != nil {
		return nil, err
	}
	b := &build{Network: n, backend: v.backend, programs: programs, patience: patience}
	b.OnWire, b.Hops, b.Check = v.wire, b.path, b.routes
	if err := b.build(ctx, v); err != nil {
		return nil, fmt.Errorf("%s: %w", v.Name, err)
	}
	return b, nil
}

// bridge is called as flannel's CNI plugin calls it.
const bridge = "cni0"

// build is a network under construction.
type build struct {
	*plumb.Network
	backend
	programs
	dir   string // of the daemons' files
	store *daemon.Etcd
	// patience is how long daemons may take.
	patience time.Duration
	// flannelds are in the order of hosts.
	flannelds []*daemon.Daemon
}

func (b *build) build(ctx context.Context, t variant) (err error) {
	if b.dir, err = daemon.State(&b.Stack); err != nil {
		return err
	}
	if b.store, err = daemon.StartEtcd(ctx, &b.Stack, t.paths, b.Hosts[0].Host, b.dir); err != nil {
		return err
	}
	b.Needed = append(b.Needed, b.store.Daemon)
	if err := b.configure(ctx); err != nil {
		return err
	}
	for _, h := range b.Hosts {
		if err := h.Forwarding(); err != nil {
			return err
		}
		if err := h.BridgeNetfilter(true); err != nil { // as Docker and Kubernetes have it; flanneld wants it
			return err
		}
		if err := b.tidy(h); err != nil {
			return err
		}
		if err := b.startWireGuard(ctx, h); err != nil {
			return err
		}
	}
	if err := b.startAll(ctx); err != nil {
		return err
	}
	for _, h := range b.Hosts {
		if err := b.attach(ctx, h); err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	return b.mesh(ctx)
}

// attach puts the host's containers on a bridge with the subnet and the MTU that
// flanneld wrote, as its CNI plugin does, and Docker with --bip and --mtu.
func (b *build) attach(ctx context.Context, h *plumb.Host) error {
	lease, err := b.lease(h)
	if err != nil {
		return err
	}
	if err := b.narrow(h, lease.mtu); err != nil {
		return err
	}
	br, err := b.AddBridge(h, bridge, lease.mtu, true)
	if err != nil {
		return err
	}
	return br.Attach(ctx, b.Site, h.Nodes, plumb.Plug{Gateway: true})
}

func (b *build) path(from, to *plumb.Node, f network.Family) []network.Hop {
	out, in := b.host(from.Host, f), b.host(to.Host, f)
	hops := append([]network.Hop{from.Hop(), from.PortHop()}, out...)
	hops = append(hops, from.Host.UplinkHop(), to.Host.UplinkHop())
	for i := range in {
		hops = append(hops, in[len(in)-1-i])
	}
	return append(hops, to.PortHop(), to.Hop())
}

// host is what a packet meets on a host between the container's port and the uplink.
func (b *build) host(h *plumb.Host, f network.Family) []network.Hop {
	hops := []network.Hop{plumb.DeviceHop(h.Name(), h.NS, bridge)}
	if b.bare {
		return hops
	}
	return append(hops, plumb.DeviceHop(h.Name(), h.NS, b.leads(h, f == network.IPv6)))
}
