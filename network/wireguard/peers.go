package wireguard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// join gives each host's device a key and the other hosts as peers, and returns when all pairs of
// hosts have agreed on session keys.
func join(ctx context.Context, network *plumb.Network) error {
	s := network.Site
	keys := make([]wgtypes.Key, len(s.Hosts))
	for i := range keys {
		var err error
		if keys[i], err = wgtypes.GeneratePrivateKey(); err != nil {
			return fmt.Errorf("make a key: %w", err)
		}
	}
	for _, h := range s.Hosts {
		if err := configure(s, h, keys, 0); err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	return shakeHands(ctx, network, keys)
}

// configure gives a host's device its key, the other hosts as peers, and routes to their containers. Unless every is 0, the
// device sends each peer a packet at least that often.
func configure(s *plumb.Site, h *plumb.Host, keys []wgtypes.Key, every time.Duration) error {
	return nl.With(h.NS, func(n *nl.NS) error {
		listen := port + s.Beside
		cfg := wgtypes.Config{PrivateKey: &keys[h.Index], ListenPort: &listen, ReplacePeers: true}
		for _, other := range s.Others(h) {
			p := peer(other, listen, keys[other.Index].PublicKey())
			if every > 0 {
				p.PersistentKeepaliveInterval = &every
			}
			cfg.Peers = append(cfg.Peers, p)
		}
		if err := n.WireGuard(device(h), cfg); err != nil {
			return err
		}
		return route(n, s, h)
	})
}

// peer returns a host as WireGuard's configuration of a peer.
func peer(h *plumb.Host, at int, public wgtypes.Key) wgtypes.PeerConfig {
	return wgtypes.PeerConfig{
		PublicKey:         public,
		Endpoint:          net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.OnUnderlay(false), uint16(at))),
		ReplaceAllowedIPs: true,
		AllowedIPs:        []net.IPNet{*nl.IPNet(plumb.Subnet(h.Index, false)), *nl.IPNet(plumb.Subnet(h.Index, true))},
	}
}

const (
	// keepalive makes a device send a packet at once, and so start a session. It is the interval
	// that WireGuard's manual recommends.
	keepalive = 25 * time.Second
	// patience leaves time for several further attempts, which WireGuard makes 5 s apart.
	patience = 30 * time.Second
)

// shakeHands has each host start a session with those before it. Otherwise the first packets of a
// measurement would wait for that.
func shakeHands(ctx context.Context, network *plumb.Network, keys []wgtypes.Key) error {
	for i, h := range network.Site.Hosts[1:] {
		begun := network.Site.Hosts[:i+1]
		err := nl.With(h.NS, func(n *nl.NS) error {
			var cfg wgtypes.Config
			every := keepalive
			for _, other := range begun {
				cfg.Peers = append(cfg.Peers, wgtypes.PeerConfig{
					PublicKey: keys[other.Index].PublicKey(), UpdateOnly: true, PersistentKeepaliveInterval: &every,
				})
			}
			if err := n.WireGuard(device(h), cfg); err != nil {
				return err
			}
			return daemon.Until(ctx, patience, func(context.Context) error {
				met, err := shaken(n, h)
				if err == nil && met < len(begun) {
					err = fmt.Errorf("%d of %d hosts answered WireGuard's handshake within %v", met, len(begun), patience)
				}
				return err
			}, network.Needed...)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	return nil
}

// shaken counts the peers that have a session with a host.
func shaken(n *nl.NS, h *plumb.Host) (met int, err error) {
	peers, err := n.WireGuardPeers(device(h))
	for _, p := range peers {
		if !p.LastHandshakeTime.IsZero() {
			met++
		}
	}
	return met, err
}
