package engine

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// defaultMessage is the size of a read or write of tcp_stream in bytes, as in
// iperf3.
const defaultMessage = 128 << 10

func streamOptions(o *record.Options) error {
	if o.RequestSize != 0 || o.ResponseSize != 0 {
		return errors.New("request and response size have no effect")
	}
	if o.MessageSize == 0 {
		o.MessageSize = defaultMessage
	}
	return nil
}

func newSender(f *flow, o record.Options) (step, error) {
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

// sendMessage writes one message. A short write is not resumed: a stream has no
// boundaries, and the receiver counts what arrives.
//
//go:nosplit
func sendMessage(f *flow) (int64, syscall.Errno) {
	n, errno := send(f.fd, f.out)
	return int64(n), errno
}

// sendPages sends one message out of the page cache, uncopied.
//
//go:nosplit
func sendPages(f *flow) (int64, syscall.Errno) {
	f.offset = 0
	n, errno := sendfile(f.fd, f.file, &f.offset, len(f.out))
	return int64(n), errno
}

func newReceiver(f *flow, o record.Options) (step, error) {
	f.in = make([]byte, o.MessageSize)
	if o.SkipRxCopy {
		f.flags = unix.MSG_TRUNC
	}
	return receiveMessage, nil
}

// receiveMessage reads at most one message. With MSG_TRUNC the kernel counts the
// bytes and drops them.
//
//go:nosplit
func receiveMessage(f *flow) (int64, syscall.Errno) {
	n, errno := receive(f.fd, f.in, f.flags)
	f.now = nanotime()
	return int64(n), errno
}
