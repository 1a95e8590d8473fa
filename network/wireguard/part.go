package wireguard

import (
	"context"
	"crypto/sha256"
	"errors"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"nettoll/agent"
	"nettoll/internal/plumb"
)

// Handlers returns the handler by which an agent builds one machine's part of WireGuard between machines, by the kernel.
func Handlers() map[string]agent.Handler {
	return map[string]agent.Handler{
		plumb.MethodPart("wireguard"): plumb.Handler([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.WireGuard}, part),
	}
}

// part builds one machine's part. Each machine computes the keys of all machines from the secret that they share, which is
// made for this network, and asks the others for a session at once.
func part(ctx context.Context, s *plumb.Site, h *plumb.Host) (b plumb.Built, err error) {
	v := variant{}
	if len(s.Secret) == 0 {
		return b, errors.New("wireguard: the machines share no secret")
	}
	if err := s.Fits("wireguard", nil, plumb.Less(overhead)); err != nil {
		return b, err
	}
	if err := s.Bridge(ctx, h, bridge, h.Uplink().MTU-overhead, plumb.Attachment{Gateway: true}); err != nil {
		return b, err
	}
	if err := v.add(ctx, &plumb.Network{Site: s}, h); err != nil {
		return b, err
	}
	keys := make([]wgtypes.Key, len(s.Hosts))
	for i := range keys {
		sum := sha256.Sum256(append(s.Secret[:len(s.Secret):len(s.Secret)], byte(i)))
		if keys[i], err = wgtypes.NewKey(clamped(sum)); err != nil {
			return b, err
		}
	}
	b.Crossed = map[int][]string{}
	for _, other := range s.Others(h) {
		b.Crossed[other.Index] = []string{bridge, device(h)}
	}
	return b, configure(s, h, keys, keepalive)
}

// clamped makes 32 bytes a private key of Curve25519 (RFC 7748, section 5).
func clamped(b [32]byte) []byte {
	b[0] &= 248
	b[31] = b[31]&127 | 64
	return b[:]
}
