package nl

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
	"nettoll/record"
)

// ESP is one direction of IPsec between two hosts: packets from one subnet to another are encrypted
// with AES-GCM (RFC 4106) and carried in packets from host to host (RFC 4303, tunnel mode). Its
// methods take the namespace of the sending or of the receiving host.
type ESP struct {
	From, To netip.Addr   // hosts
	Src, Dst netip.Prefix // subnets behind them, both of the same family
	SPI      uint32       // of this direction; values up to 255 are reserved
	Key      [ESPKey]byte
}

const (
	// ESPKey is the length of a key in bytes: 16 for AES and 4 for the salt.
	ESPKey = 20
	espICV = 128 // bits of the integrity check value
	// replayWindow is how many packets may overtake a packet, as IKE daemons set it.
	replayWindow = 32
)

// ESPPayload returns the largest packet that ESP carries over an underlay that carries mtu bytes: the
// outer header takes 20 bytes, ESP's own 8, the initialisation vector 8 and the check value 16; the
// payload with its trailer of 2 is padded to a multiple of 4.
func ESPPayload(mtu int) int { return (mtu-20-8-8-espICV/8)&^3 - 2 }

// Send makes the namespace encrypt outgoing packets.
func (e ESP) Send(ns string) error { return e.add(ns, netlink.XFRM_DIR_OUT) }

// Receive makes the namespace decrypt incoming packets, and refuse packets that arrive unencrypted.
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
		return record.Try(dirs, func(dir netlink.Dir) error {
			return wrap.Error(again(func() error { return h.XfrmPolicyAdd(e.policy(dir)) }), "policy")
		})
	})
	return wrap.Error(err, "add ESP from %s to %s", e.Src, e.Dst)
}

// Remove undoes Send or Receive. It is not an error if nothing is left to remove.
func (e ESP) Remove(ns string) error {
	err := xfrm(ns, func(h *netlink.Handle) error {
		gone := []error{unix.ESRCH, unix.ENOENT}
		errs := []error{unless(again(func() error { return h.XfrmStateDel(e.state()) }), gone...)}
		for _, dir := range []netlink.Dir{netlink.XFRM_DIR_IN, netlink.XFRM_DIR_FWD, netlink.XFRM_DIR_OUT} {
			errs = append(errs, unless(again(func() error { return h.XfrmPolicyDel(e.policy(dir)) }), gone...))
		}
		return errors.Join(errs...)
	})
	return wrap.Error(err, "remove ESP from %s to %s", e.Src, e.Dst)
}

// Count returns what the namespace has encrypted or decrypted so far.
func (e ESP) Count(ns string) (packets, bytes uint64, err error) {
	err = xfrm(ns, func(h *netlink.Handle) error {
		got, err := ask(func() (*netlink.XfrmState, error) { return h.XfrmStateGet(e.state()) })
		if err == nil {
			packets, bytes = got.Statistics.Packets, got.Statistics.Bytes
		}
		return err
	})
	return packets, bytes, wrap.Error(err, "read ESP from %s to %s", e.Src, e.Dst)
}

// Decrypted returns what a namespace has decrypted so far of what one host sent to another, by all states there are:
// daemons that renew their keys keep several.
func Decrypted(ns string, from, to netip.Addr) (packets, bytes uint64, err error) {
	err = xfrm(ns, func(h *netlink.Handle) error {
		all, err := ask(func() ([]netlink.XfrmState, error) { return h.XfrmStateList(netlink.FAMILY_ALL) })
		for _, s := range all {
			if s.Proto == netlink.XFRM_PROTO_ESP && s.Src.Equal(from.AsSlice()) && s.Dst.Equal(to.AsSlice()) {
				packets += s.Statistics.Packets
				bytes += s.Statistics.Bytes
			}
		}
		return err
	})
	return packets, bytes, wrap.Error(err, "read ESP from %s to %s", from, to)
}

func (e ESP) state() *netlink.XfrmState {
	return &netlink.XfrmState{
		Src: e.From.AsSlice(), Dst: e.To.AsSlice(), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL,
		Spi: int(e.SPI), Reqid: int(e.SPI), ReplayWindow: replayWindow,
		Selector: &netlink.XfrmPolicy{Src: IPNet(e.Src), Dst: IPNet(e.Dst)},
	}
}

func (e ESP) policy(dir netlink.Dir) *netlink.XfrmPolicy {
	return &netlink.XfrmPolicy{
		Src: IPNet(e.Src), Dst: IPNet(e.Dst), Dir: dir,
		Tmpls: []netlink.XfrmPolicyTmpl{{
			Src: e.From.AsSlice(), Dst: e.To.AsSlice(), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL,
			Reqid: int(e.SPI),
		}},
	}
}

// xfrm calls fn with a connection to the IPsec configuration of a namespace.
func xfrm(ns string, fn func(*netlink.Handle) error) error {
	h, err := connect(ns, unix.NETLINK_XFRM)
	if err != nil {
		return fmt.Errorf("IPsec netlink socket: %w", err)
	}
	defer h.Close()
	return fn(h)
}
