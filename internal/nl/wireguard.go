package nl

import (
	"fmt"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"nettoll/internal/emulated"
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
	if err != nil { // what did not answer in time may still do so
		return nil, wrap.Error(err, "read WireGuard device %s", device)
	}
	return peers, nil
}

// wgctrl bounds what is asked of a device, since its process may be there without answering.
func (n *NS) wgctrl(fn func(*wgctrl.Client) error) error {
	answered := make(chan error, 1)
	go func() {
		answered <- netns.Do(n.Path, func() error {
			c, err := wgctrl.New()
			if err != nil {
				return err
			}
			defer c.Close()
			return fn(c)
		})
	}()
	bound := emulated.Patience(answerTime)
	select {
	case err := <-answered:
		return err
	case <-time.After(bound):
		return fmt.Errorf("no answer within %v", bound)
	}
}
