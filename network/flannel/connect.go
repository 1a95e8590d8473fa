package flannel

import (
	"context"
	"fmt"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/flanneld"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
	"nettoll/network"
)

// build connects the containers. It returns the build, for tests.
func (v variant) build(ctx context.Context, n *plumb.Network) (*build, error) {
	if err := v.have(ctx); err != nil {
		return nil, err
	}
	if err := n.Fits(v.Name, v.Families, plumb.Less(v.overhead)); err != nil {
		return nil, err
	}
	b := &build{Network: n, backend: v.backend, patience: patience}
	b.OnWire, b.Hops, b.Check, b.Adds = v.wire, plumb.Across(b.side), b.routes, v.adds
	return b, wrap.Error(b.build(ctx), "%s", v.Name)
}

// bridge is the name that flannel's CNI plugin uses.
const bridge = "cni0"

// build is a network under construction.
type build struct {
	*plumb.Network
	backend
	dir   string // with the daemons' files
	store *daemon.Etcd
	// patience is how long daemons may take.
	patience time.Duration
	// flannelds are in the order of hosts.
	flannelds []*daemon.Daemon
}

func (b *build) build(ctx context.Context) (err error) {
	if b.dir, err = daemon.State(&b.Stack); err != nil {
		return err
	}
	if b.store, err = daemon.StartEtcd(ctx, &b.Stack, b.Programs["etcd"], b.Hosts[0].Host, b.dir); err != nil {
		return err
	}
	b.Watch(false, b.store.Daemon)
	if err := b.configure(ctx); err != nil {
		return err
	}
	for _, h := range b.Hosts {
		if err := h.Forwarding(); err != nil {
			return err
		}
		if b.userspace {
			b.NameTunnel(h, wireguardPrefix)
		}
		if err := b.tidy(h); err != nil {
			return err
		}
		if b.userspace {
			if err := b.StartWireGuardGo(ctx, h); err != nil {
				return err
			}
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
	if err := b.Settle(ctx); err != nil { // until then bridges with many containers have no addresses
		return err
	}
	return b.mesh(ctx)
}

// attach puts the host's containers on a bridge with the subnet and the MTU that flanneld wrote, as
// its CNI plugin does, and Docker with --bip and --mtu.
func (b *build) attach(ctx context.Context, h *plumb.Host) error {
	mtu, err := flanneld.MTU(b.file(h), h.Index, b.six)
	if err != nil {
		return err
	}
	if err := b.narrow(h, mtu); err != nil {
		return err
	}
	if err := b.Bridge(ctx, h, bridge, mtu, plumb.Attachment{Gateway: true}); err != nil {
		return err
	}
	return h.BridgeNetfilter(true) // as with Docker and Kubernetes
}

// side returns the hops on a host between the container's port and the uplink.
func (b *build) side(at *plumb.Node, _ *plumb.Host, f network.Family) []network.Hop {
	hops := []network.Hop{at.Host.Hop(bridge, "bridge")}
	if !b.bare() {
		hops = append(hops, at.Host.Hop(b.leads(at.Host, f == network.IPv6), b.link))
	}
	return hops
}
