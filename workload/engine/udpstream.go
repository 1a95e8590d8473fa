package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// A datagram of a stream begins with the second half of the trial's cookie, its number and the time it
// was sent by the sender's clock, 8 bytes each.
const (
	streamHeader = 24
	largestTrain = 64      // datagrams: as many as the kernel segments at once
	trainBytes   = 1 << 20 // of the buffers of a train without segmentation
	trainTime    = time.Millisecond
)

// udpStream is datagrams one way. They are sent as fast as possible, or paced by an absolute schedule:
// datagrams that have become due are sent in one system call, at most as many as are due within
// trainTime. A sender that is late catches up.
func udpStream() traffic {
	return traffic{
		name:    record.UDPStream,
		meeting: overUDP(),
		honours: []string{"streams", "message-size", "window", "bandwidth", "reverse", "gso"},
		sizes:   []size{{record.Bounds{Option: "message-size", Least: streamHeader, Most: record.MaxDatagram}, record.Datagram}},
		flows: func(o record.Options) []kind {
			if o.Reverse {
				return each(kind{measured: client, counts: payloadBytes, client: newBatch, server: newTrain})(o)
			}
			return each(kind{measured: server, counts: payloadBytes, client: newTrain, server: newBatch})(o)
		},
	}
}

// train is the set of datagrams that a sender sends at once.
type train struct {
	size     int // of a datagram
	most     int // datagrams
	sent     int64
	paced    bool
	segments bool // the kernel cuts the train (UDP_SEGMENT)
	messages []unix.Mmsghdr
	parts    []unix.Iovec
}

func newTrain(f *flow, o record.Options) (step, error) {
	t := &train{size: o.MessageSize, most: min(largestTrain, max(1, trainBytes/o.MessageSize)), segments: o.GSO}
	if o.GSO {
		if err := segment(f.fd, o.MessageSize); err != nil {
			return nil, err
		}
		t.most = min(largestTrain, record.MaxDatagram/o.MessageSize)
	}
	if o.Bandwidth > 0 {
		t.paced = true
		f.pace.every = float64(o.MessageSize) * 8e9 / float64(o.Bandwidth)
		t.most = min(t.most, max(1, int(float64(trainTime)/f.pace.every)))
	}
	datagram := payload(o.MessageSize)
	copy(datagram, f.session.cookie[cookieSize/2:])
	t.messages, t.parts = make([]unix.Mmsghdr, t.most), make([]unix.Iovec, t.most)
	f.out = bytes.Repeat(datagram, t.most)
	for i := range t.most {
		t.parts[i].Base = &f.out[i*t.size]
		t.parts[i].SetLen(t.size)
		t.messages[i].Hdr.Iov = &t.parts[i]
		t.messages[i].Hdr.SetIovlen(1)
	}
	f.train = t
	return sendTrain, nil
}

// segment makes the kernel cut sent data into datagrams of the given size, which it does only if they
// fit into a packet.
func segment(fd, size int) error {
	err := unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, size)
	if err != nil {
		return fmt.Errorf("set UDP_SEGMENT, which Linux has had since 4.18: %w", err)
	}
	level, option, headers := unix.IPPROTO_IP, unix.IP_MTU, 28
	if sa, err := unix.Getsockname(fd); err == nil {
		if _, six := sa.(*unix.SockaddrInet6); six {
			level, option, headers = unix.IPPROTO_IPV6, unix.IPV6_MTU, 48
		}
	}
	if mtu, err := unix.GetsockoptInt(fd, level, option); err == nil && size+headers > mtu {
		return fmt.Errorf("gso: message size %d does not fit into a packet of %d bytes: give --message-size %d or less", size, mtu, mtu-headers)
	}
	return nil
}

// sendTrain sends the datagrams that are due, or sleeps until one is.
//
//go:nosplit
func sendTrain(f *flow) (int64, syscall.Errno) {
	t := f.train
	n := t.most
	if t.paced {
		f.pace.begins = f.begins
		due := f.pace.by(nanotime()) - t.sent
		if due <= 0 {
			sleepTo(f.pace.due(t.sent))
			return 0, 0
		}
		n = int(min(int64(n), due))
	}
	now := nanotime()
	for i := range n {
		header := f.out[i*t.size : i*t.size+streamHeader]
		binary.BigEndian.PutUint64(header[8:], uint64(t.sent+int64(i)+1))
		binary.BigEndian.PutUint64(header[16:], uint64(now))
	}
	var errno syscall.Errno
	if t.segments {
		var bytes int
		bytes, errno = send(f.fd, f.out[:n*t.size])
		n = bytes / t.size
	} else {
		n, errno = sendMessages(f.fd, t.messages[:n])
	}
	t.sent += int64(n)
	if errno == unix.ENOBUFS { // the device's queue is full
		errno = unix.EAGAIN
	}
	return int64(n * t.size), errno
}

// batch is the set of datagrams that a receiver reads at once.
type batch struct {
	key      uint64 // the second half of the cookie
	room     int    // bytes for each read
	calm     int    // datagrams: a read of at most this many leaves room for a nap
	naps     bool   // before the next read
	messages []unix.Mmsghdr
	parts    []unix.Iovec
	controls []byte
}

// napTime is how long a receiver naps after a read that brought several datagrams. It does not wait at
// its socket meanwhile: waking a thread on another CPU costs a sender more than sending a datagram (in
// a virtual machine, up to a third of all its time), and the generator would be measured. For
// datagrams that come one by one it waits at the socket.
const napTime = 50 * time.Microsecond

// calmReads returns how many datagrams of a size a read may bring for a nap to follow: if as many
// arrive during the nap, they fill half of the socket's buffer. The kernel charges the buffer for a
// datagram with its own overhead, rounded up to a power of two.
func calmReads(buffer, size int) int { return buffer / 2 / (2*size + 1<<10) }

// controlRoom is the room in bytes for a time, a count of drops and a segment size.
const controlRoom = 128

func newBatch(f *flow, o record.Options) (step, error) {
	b := &batch{key: binary.BigEndian.Uint64(f.session.cookie[cookieSize/2:]), room: o.MessageSize}
	f.tally = &tally{merged: o.GSO}
	n := min(largestTrain, max(1, trainBytes/o.MessageSize))
	if o.GSO {
		if err := unix.SetsockoptInt(f.fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1); err != nil {
			return nil, fmt.Errorf("set UDP_GRO, which Linux has had since 5.0: %w", err)
		}
		b.room = 1 << 16
		n = trainBytes / b.room
	}
	if err := unix.SetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1); err != nil {
		return nil, fmt.Errorf("set SO_RXQ_OVFL: %w", err)
	}
	if err := unix.SetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1); err != nil && !errors.Is(err, unix.ENOPROTOOPT) {
		return nil, fmt.Errorf("set SO_TIMESTAMPNS: %w", err)
	}
	f.in = make([]byte, n*b.room)
	b.controls = make([]byte, n*controlRoom)
	b.messages, b.parts = make([]unix.Mmsghdr, n), make([]unix.Iovec, n)
	for i := range n {
		b.parts[i].Base = &f.in[i*b.room]
		b.parts[i].SetLen(b.room)
		h := &b.messages[i].Hdr
		h.Iov, h.Control = &b.parts[i], &b.controls[i*controlRoom]
		h.SetIovlen(1)
	}
	buffer, err := unix.GetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return nil, fmt.Errorf("get SO_RCVBUF: %w", err)
	}
	b.calm = min(calmReads(buffer, b.room), n-1)
	f.batch = b
	return receiveBatch, nil
}

// receiveBatch reads the datagrams that have arrived, after a nap if one is due, and counts them.
//
//go:nosplit
func receiveBatch(f *flow) (int64, syscall.Errno) {
	b := f.batch
	for i := range b.messages {
		b.messages[i].Hdr.SetControllen(controlRoom)
	}
	if b.naps {
		sleepTo(f.now + int64(napTime))
	}
	n, errno := receiveMessages(f.fd, b.messages)
	f.now = nanotime()
	b.naps = 1 < n && n <= b.calm
	f.tally.mark(f.now, f.opens, f.closes)
	var fresh int64
	for i := range n {
		m := &b.messages[i]
		got := min(int(m.Len), b.room)
		told := readControl(b.controls[i*controlRoom : i*controlRoom+min(int(m.Hdr.Controllen), controlRoom)])
		if told.time == 0 {
			told.time = f.now
		}
		if told.segment <= 0 {
			told.segment = got
		}
		fresh += f.arrived(f.in[i*b.room:i*b.room+got], told)
	}
	return fresh, errno
}

// arrived counts the datagrams of one read, and returns the payload bytes of those that had not come
// before. All of them arrived at the same time.
//
//go:nosplit
func (f *flow) arrived(data []byte, told control) (fresh int64) {
	for first := true; len(data) >= streamHeader; first = false {
		size := min(told.segment, len(data))
		if size < streamHeader || binary.BigEndian.Uint64(data) != f.batch.key {
			return fresh
		}
		number := int64(binary.BigEndian.Uint64(data[8:]))
		if number < 1 {
			return fresh
		}
		if f.tally.count(number) {
			fresh += int64(size)
		}
		if first {
			f.tally.drops = max(f.tally.drops, told.drops)
			f.tally.time(int64(binary.BigEndian.Uint64(data[16:])), told.time, f.now)
			if f.tally.open && !f.tally.shut {
				f.tally.batches++
			}
		}
		data = data[size:]
	}
	return fresh
}

// control is the information that the kernel attaches to received data.
type control struct {
	drops   uint32
	segment int   // size of a datagram, if several were merged
	time    int64 // of arrival, CLOCK_REALTIME
}

//go:nosplit
func readControl(b []byte) (c control) {
	const align = int(unsafe.Sizeof(uintptr(0)))
	for len(b) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
		if int(h.Len) < unix.SizeofCmsghdr || int(h.Len) > len(b) {
			return c
		}
		data := b[unix.SizeofCmsghdr:int(h.Len)]
		switch {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_RXQ_OVFL && len(data) >= 4:
			c.drops = binary.NativeEndian.Uint32(data)
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS_NEW && len(data) >= 16:
			c.time = int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
		case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			c.segment = int(int32(binary.NativeEndian.Uint32(data)))
		}
		b = b[min(len(b), (int(h.Len)+align-1)&^(align-1)):]
	}
	return c
}
