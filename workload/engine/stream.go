package engine

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// defaultMessage is the size of a read or write of tcp_stream in bytes, as in iperf3.
const defaultMessage = 128 << 10

func tcpStream() traffic {
	return traffic{
		name:    record.TCPStream,
		meeting: overTCP(),
		honours: []string{"streams", "message-size", "window", "bandwidth", "congestion", "zero-copy", "skip-rx-copy", "reverse"},
		options: streamOptions,
		rests:   streamRest,
		flows: func(o record.Options) []kind {
			if o.Reverse {
				return each(download())(o)
			}
			return each(upload())(o)
		},
	}
}

// upload is a stream from client to server, download one from server to client.
func upload() kind {
	return kind{measured: server, counts: payloadBytes, stream: true, informs: client, client: newSender, server: newReceiver}
}

func download() kind {
	return kind{measured: client, counts: payloadBytes, stream: true, informs: server, client: newReceiver, server: newSender}
}

// Unless a message size is requested, a stream with a given rate writes at once the bytes that are due
// in 1/writesInSecond of a second, but at least leastWrite, which is about a segment.
const (
	writesInSecond = 1000
	leastWrite     = 1400 // bytes
)

func streamOptions(o *record.Options) {
	if o.MessageSize != 0 {
		return
	}
	o.MessageSize = defaultMessage
	if o.Bandwidth > 0 {
		o.MessageSize = min(defaultMessage, max(leastWrite, o.Bandwidth/8/writesInSecond))
	}
}

func newSender(f *flow, o record.Options) (step, error) {
	send, err := newWriter(f, o)
	if err != nil || o.Bandwidth == 0 {
		return send, err
	}
	f.pace.every = 8e9 / float64(o.Bandwidth) // ns per byte
	f.write = send
	return sendWhenDue, nil
}

// sendWhenDue sleeps until a message is due, or writes one. f.number counts the bytes sent since
// the flow or its turn began. Pacing uses the engine's clock, not the kernel's pacing
// (SO_MAX_PACING_RATE), which would cost the sender a timer for every few segments.
//
//go:nosplit
func sendWhenDue(f *flow) (int64, syscall.Errno) {
	f.pace.begins = f.begins
	if due := f.pace.due(f.number); nanotime() < due {
		sleepTo(due)
		return 0, 0
	}
	n, errno := f.write(f)
	f.number += n
	return n, errno
}

func newWriter(f *flow, o record.Options) (step, error) {
	f.out = payload(o.MessageSize)
	if !o.ZeroCopy {
		return sendMessage, nil
	}
	file, err := unix.MemfdCreate("nettoll-payload", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create memory file: %w", err)
	}
	f.file = file
	if n, err := unix.Pwrite(file, f.out, 0); n < len(f.out) {
		return nil, fmt.Errorf("fill memory file: %d of %d bytes: %w", n, len(f.out), err)
	}
	return sendPages, nil
}

// sendMessage writes one message. A short write is not completed: a stream has no boundaries, and
// the receiver counts the bytes that arrive.
//
//go:nosplit
func sendMessage(f *flow) (int64, syscall.Errno) {
	n, errno := send(f.fd, f.out)
	return int64(n), errno
}

// sendPages sends one message from the page cache without copying it.
//
//go:nosplit
func sendPages(f *flow) (int64, syscall.Errno) {
	f.offset = 0
	n, errno := sendfile(f.fd, f.file, &f.offset, len(f.out))
	return int64(n), errno
}

func newReceiver(f *flow, o record.Options) (step, error) {
	f.in = make([]byte, o.MessageSize)
	control, err := congestionOf(f.fd)
	if err != nil {
		return nil, err
	}
	f.patient = control == "bbr" && f.poller == nil
	if o.SkipRxCopy {
		f.flags = unix.MSG_TRUNC
	}
	if f.poller != nil {
		return fillMessage, nil
	}
	return receiveMessage, nil
}

// receiveMessage reads at most one message. With MSG_TRUNC the kernel counts the bytes and discards
// them.
//
//go:nosplit
func receiveMessage(f *flow) (int64, syscall.Errno) {
	n, errno := receive(f.fd, f.in, f.flags)
	f.now = nanotime()
	f.remainder = n < f.lowat
	return int64(n), errno
}

// fillMessage reads until a message is full or nothing has arrived any more, as iperf3 does. Without this a poller waits
// again after each segment, and BBR, whose model of the path estimates less for a receiver that sleeps so often, carries
// less. A larger message than the usual one need not be full: meanwhile no other flow is served, and all that was read
// counts at the end.
//
//go:nosplit
func fillMessage(f *flow) (int64, syscall.Errno) {
	got := 0
	for got < min(len(f.in), defaultMessage) {
		n, errno := receive(f.fd, f.in[got:], f.flags)
		if errno != 0 && got == 0 {
			f.now = nanotime()
			return 0, errno
		}
		if errno != 0 {
			break // the next step meets it again
		}
		got += n
	}
	f.now = nanotime()
	return int64(got), 0
}

// Limits of how long a receiver under BBR sleeps, if it has a thread of its own. BBR estimates a
// higher rate if the receiver reads in bursts, as a thread that serves several flows does. So, half
// way through the warm-up, a receiver with its own thread asks (SO_RCVLOWAT) to be woken only when
// enough data is there. Any other receiver reads any data at once, as most programs do.
const (
	sleepBytes = 3 << 20 // at most
	sleepShare = 0.005   // of the window's payload at most, so that its edges stay sharp on slow links
)

// settle chooses the low-water mark from the data that has arrived so far. A socket that refuses it
// stays as it was: woken for every segment.
//
// Less data than the mark stays in the socket for up to pollInterval. Such a remainder can be from
// before the sender came to a halt, so it does not show that it sends again; a second one does.
func (f *flow) settle() {
	rate := float64(f.total) / float64(f.now-f.begins) // bytes per nanosecond
	expected := rate * float64(f.closes-f.opens)
	lowat := int(min(sleepBytes, sleepShare*expected))
	if lowat > 1 && unix.SetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, lowat) == nil {
		f.lowat = min(lowat, len(f.in))
	}
}
