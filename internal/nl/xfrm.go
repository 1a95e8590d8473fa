package nl

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ESP is one direction of IPsec between two hosts: what one subnet sends to another goes
// encrypted and inside a packet from host to host (RFC 4303, tunnel mode) with AES-GCM
// (RFC 4106). A namespace is that of the host that sends, or of the one that receives.
type ESP struct {
	From, To netip.Addr   // hosts
	Src, Dst netip.Prefix // subnets behind them, both of one family
	SPI      uint32       // of this direction; those up to 255 are reserved
	Key      [ESPKey]byte
}

const (
	// ESPKey is the length of a key in bytes: 16 for AES and 4 of salt.
	ESPKey = 20
	espICV = 128 // bits of the integrity check value
	// replayWindow is how many packets may be overtaken by others, as IKE daemons set it.
	replayWindow = 32
)

// ESPPayload is the largest packet that ESP carries where the underlay carries mtu bytes:
// the outer header has 20, ESP's own 8, the initialisation vector 8 and the check value
// 16; the payload with its trailer of 2 is padded to a multiple of 4.
func ESPPayload(mtu int) int { return (mtu-20-8-8-espICV/8)&^3 - 2 }

// Send has the namespace encrypt what leaves it.
func (e ESP) Send(ns string) error { return e.add(ns, netlink.XFRM_DIR_OUT) }

// Receive has the namespace decrypt what arrives, and refuse what arrives in another way.
func (e ESP) Receive(ns string) error {
	return e.add(ns, netlink.XFRM_DIR_IN, netlink.XFRM_DIR_FWD)
}

func (e ESP) add(ns string, dirs ...netlink.Dir) error {
	err := xfrm(ns, func(h *netlink.Handle) error {
		state := e.state()
		state.Aead = &netlink.XfrmStateAlgo{Name: "rfc4106(gcm(aes))", Key: e.Key[:], ICVLen: espICV}
		if err := again(func() error { return h.XfrmStateAdd(state) }); err != nil {
			return err
		}
		for _, dir := range dirs {
			if err := again(func() error { return h.XfrmPolicyAdd(e.policy(dir)) }); err != nil {
				return fmt.Errorf("policy: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add ESP from %s to %s: %w", e.Src, e.Dst, err)
	}
	return nil
}

// Remove undoes Send or Receive; what is gone already is no error.
func (e ESP) Remove(ns string) error {
	err := xfrm(ns, func(h *netlink.Handle) error {
		errs := []error{again(func() error { return h.XfrmStateDel(e.state()) })}
		for _, dir := range []netlink.Dir{netlink.XFRM_DIR_IN, netlink.XFRM_DIR_FWD, netlink.XFRM_DIR_OUT} {
			errs = append(errs, again(func() error { return h.XfrmPolicyDel(e.policy(dir)) }))
		}
		for i, err := range errs {
			if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) {
				errs[i] = nil
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return fmt.Errorf("remove ESP from %s to %s: %w", e.Src, e.Dst, err)
	}
	return nil
}

// Count is what the namespace has encrypted or decrypted so far.
func (e ESP) Count(ns string) (packets, bytes uint64, err error) {
	err = xfrm(ns, func(h *netlink.Handle) error {
		return again(func() error {
			got, err := h.XfrmStateGet(e.state())
			if err == nil {
				packets, bytes = got.Statistics.Packets, got.Statistics.Bytes
			}
			return err
		})
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read ESP from %s to %s: %w", e.Src, e.Dst, err)
	}
	return packets, bytes, nil
}

func (e ESP) state() *netlink.XfrmState {
	return &netlink.XfrmState{
		Src: e.From.AsSlice(), Dst: e.To.AsSlice(), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL,
		Spi: int(e.SPI), Reqid: int(e.SPI), ReplayWindow: replayWindow,
		Selector: &netlink.XfrmPolicy{Src: ipNet(e.Src), Dst: ipNet(e.Dst)},
	}
}

func (e ESP) policy(dir netlink.Dir) *netlink.XfrmPolicy {
	return &netlink.XfrmPolicy{
		Src: ipNet(e.Src), Dst: ipNet(e.Dst), Dir: dir,
		Tmpls: []netlink.XfrmPolicyTmpl{{
			Src: e.From.AsSlice(), Dst: e.To.AsSlice(), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL,
			Reqid: int(e.SPI),
		}},
	}
}

// xfrm connects to the part of the kernel of a namespace that IPsec is configured by.
func xfrm(ns string, fn func(*netlink.Handle) error) error {
	h, err := connect(ns, unix.NETLINK_XFRM)
	if err != nil {
		return fmt.Errorf("IPsec netlink socket: %w", err)
	}
	defer h.Close()
	return fn(h)
}
