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

// Methods of the agent that runs as the process of a host.
const (
	methodServe = "udpoverlay.serve"
	methodCount = "udpoverlay.count"
)

// overlay is the task of a host's process.
type overlay struct {
	Device string // through which packets come and go
	Frames bool   // whether packets come as Ethernet frames
	Listen netip.AddrPort
	Peers  []peer
}

// peer is the process of another host.
type peer struct {
	Addr    netip.AddrPort
	Subnets []netip.Prefix // of its containers
}

// Handlers returns the agent's methods: it copies between a device and a UDP socket until the agent
// ends.
func Handlers() map[string]agent.Handler {
	d := &datapath{}
	return map[string]agent.Handler{
		methodServe: agent.Typed(d.serve),
		methodCount: agent.Typed(d.count),
	}
}

// datapath is one process at work. Each direction has its own goroutine, buffer and counters, and
// the only written data that the two share is the table of a switch.
type datapath struct {
	serving  atomic.Bool
	out, in  direction
	tap      io.ReadWriter
	underlay *net.UDPConn
	table    table
}

// table decides where packets go.
type table interface {
	// toward returns the peers that a packet goes to. The result must not be modified.
	toward(packet []byte) []netip.AddrPort
	// learn examines a packet that a peer has sent, and reports whether to accept it.
	learn(packet []byte, from netip.AddrPort) bool
}

// direction counts the packets that one of the goroutines has carried.
type direction struct {
	packets, bytes atomic.Uint64
	err            atomic.Pointer[error] // why it stopped carrying packets
	_              [64]byte              // puts the next one on a cache line of its own
}

// largest is more than any MTU of a device, in bytes.
const largest = 64 << 10

// buffer is the size of the UDP socket's receive buffer, in bytes; the kernel grants at most
// net.core.rmem_max.
const buffer = 4 << 20

func (d *datapath) serve(_ context.Context, o overlay) (struct{}, error) {
	if !d.serving.CompareAndSwap(false, true) {
		return struct{}{}, errors.New("already serving an overlay")
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

// end runs a direction and stores the reason why it ended.
func (r *direction) end(name string, carry func() error) {
	err := fmt.Errorf("nothing is carried any more %s: %w", name, carry())
	r.err.Store(&err)
}

// outward carries packets of containers, until the device can no longer be read. Packets that the
// underlay does not accept are lost, as on any link.
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

// inward carries packets of peers.
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

// count returns the sum of both directions, or the error of a direction that has ended.
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
