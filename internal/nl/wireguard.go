package nl

import (
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"nettoll/internal/netns"
	"nettoll/internal/wrap"
)

// WireGuard configures a WireGuard device: a kernel device in this namespace, or the device of a
// process with a socket in /var/run/wireguard, in any namespace.
func (n *NS) WireGuard(device string, cfg wgtypes.Config) error {
	err := n.wgctrl(func(c *wgctrl.Client) error { return c.ConfigureDevice(device, cfg) })
	return wrap.Error(err, "configure WireGuard device %s", device)
}

// WireGuardPeers returns the present peers of a WireGuard device of either kind.
func (n *NS) WireGuardPeers(device string) (peers []wgtypes.Peer, err error) {
	err = n.wgctrl(func(c *wgctrl.Client) error {
		d, err := c.Device(device)
		if err == nil {
			peers = d.Peers
		}
		return err
	})
	return peers, wrap.Error(err, "read WireGuard device %s", device)
}

func (n *NS) wgctrl(fn func(*wgctrl.Client) error) error {
	return netns.Do(n.Path, func() error {
		c, err := wgctrl.New()
		if err != nil {
			return err
		}
		defer c.Close()
		return fn(c)
	})
}
