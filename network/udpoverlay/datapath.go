package udpoverlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/network"
)

// Methods of the agent that is the process of a host.
const (
	methodServe = "udpoverlay.serve"
	methodCount = "udpoverlay.count"
)

// overlay is what the process of a host is to do.
type overlay struct {
	Device string // that packets come and go through
	Frames bool   // whole frames, else packets
	Listen netip.AddrPort
	Peers  []peer
}

// peer is the process of another host.
type peer struct {
	Addr    netip.AddrPort
	Subnets []netip.Prefix // of its containers
}

// Handlers are the agent's half: it copies between a device and a UDP socket until the
// agent ends.
func Handlers() map[string]agent.Handler {
	d := &datapath{}
	return map[string]agent.Handler{
		methodServe: agent.Typed(d.serve),
		methodCount: agent.Typed(d.count),
	}
}

// datapath is one process at work. Each direction has a goroutine, a buffer and counters
// of its own, and the two share nothing that is written but the table of a switch.
type datapath struct {
	serving  atomic.Bool
	out, in  direction
	tap      io.ReadWriter
	underlay *net.UDPConn
	table    table
}

// table says where packets go.
type table interface {
	// toward is the peers that a packet goes to. The answer is not to be changed.
	toward(packet []byte) []netip.AddrPort
	// learn looks at a packet that a peer has sent, and says whether to take it.
	learn(packet []byte, from netip.AddrPort) bool
}

// direction is what one of the goroutines has carried.
type direction struct {
	packets, bytes atomic.Uint64
	err            atomic.Pointer[error] // why it carries no more
	_              [64]byte              // the next one is on a cache line of its own
}

// largest is more than a device's MTU can be, in bytes.
const largest = 64 << 10

// buffer is how much may wait in the UDP socket, in bytes; the kernel grants at most its
// net.core.rmem_max.
const buffer = 4 << 20

func (d *datapath) serve(_ context.Context, o overlay) (struct{}, error) {
	if !d.serving.CompareAndSwap(false, true) {
		return struct{}{}, errors.New("an overlay is served already")
	}
	return struct{}{}, d.begin(o)
}

func (d *datapath) begin(o overlay) (err error) {
	d.underlay, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(o.Listen))
	if err != nil {
		return err
	}
	if err := d.underlay.SetReadBuffer(buffer); err != nil {
		return err
	}
	if o.Frames {
		d.table = newSwitch(o.Peers)
		d.tap, err = nl.Packet(o.Device)
	} else {
		d.table = newRoutes(o.Peers)
		d.tap, err = nl.TUN(o.Device)
	}
	if err != nil {
		return err
	}
	go d.out.end("from "+o.Device+" to the underlay", d.outward)
	go d.in.end("from the underlay to "+o.Device, d.inward)
	return nil
}

// end runs a direction and keeps why it ended.
func (r *direction) end(name string, carry func() error) {
	err := fmt.Errorf("%s nothing is carried any more: %w", name, carry())
	r.err.Store(&err)
}

// outward carries what containers send, until the device cannot be read any more. What the
// underlay does not take is lost, as on any link.
func (d *datapath) outward() error {
	buf := make([]byte, largest)
	for {
		n, err := d.tap.Read(buf)
		if err != nil {
			return err
		}
		for _, to := range d.table.toward(buf[:n]) {
			if _, err := d.underlay.WriteToUDPAddrPort(buf[:n], to); err == nil {
				d.out.packets.Add(1)
				d.out.bytes.Add(uint64(n))
			}
		}
	}
}

// inward carries what peers send.
func (d *datapath) inward() error {
	buf := make([]byte, largest)
	for {
		n, from, err := d.underlay.ReadFromUDPAddrPort(buf)
		if err != nil {
			return err
		}
		if !d.table.learn(buf[:n], from) {
			continue
		}
		if _, err := d.tap.Write(buf[:n]); err == nil {
			d.in.packets.Add(1)
			d.in.bytes.Add(uint64(n))
		}
	}
}

// count is what both directions have carried. A process that carries no more says why.
func (d *datapath) count(context.Context, struct{}) (network.Count, error) {
	var sum network.Count
	for _, r := range []*direction{&d.out, &d.in} {
		if err := r.err.Load(); err != nil {
			return sum, *err
		}
		sum.Packets += r.packets.Load()
		sum.Bytes += r.bytes.Load()
	}
	return sum, nil
}
