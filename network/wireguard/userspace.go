package wireguard

import (
	"context"

	"nettoll/internal/plumb"
)

// start runs wireguard-go on a host, which makes the tunnel's device.
func (v variant) start(ctx context.Context, n *plumb.Network, h *plumb.Host) error {
	path, err := v.find()
	if err != nil {
		return err
	}
	d, err := n.StartWireGuardGo(ctx, h, path, device(h))
	if err != nil {
		return err
	}
	n.Needed = append(n.Needed, d)
	n.Carry(d)
	return nil
}
