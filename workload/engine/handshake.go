package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// A flow begins with the cookie of its trial and its number at the server. The server answers with
// one byte: welcome, or refused followed by a text until the end of the stream.
const (
	cookieSize = 16
	helloSize  = cookieSize + 4

	welcome = 0
	refused = 1
)

// handshakeLimit bounds making a connection, from its first packet to the answer. On a busy machine, or one whose
// hypervisor pauses it, threads of either end may get no CPU for seconds. Tests change it.
var handshakeLimit = 15 * time.Second

// flowLimit is what each further flow of a trial adds to it: those that are made at once wait for each other.
const flowLimit = 20 * time.Millisecond

func hello(cookie []byte, index int) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(cookie), uint32(index))
}

// parseHello returns the flow's number, or false for a stranger.
func parseHello(b, cookie []byte) (index int, ok bool) {
	if len(b) != helloSize || !bytes.Equal(b[:cookieSize], cookie) {
		return 0, false
	}
	return int(binary.BigEndian.Uint32(b[cookieSize:])), true
}

// errHalted ends a handshake when its session is over.
var errHalted = errors.New("the trial is over")

// patience decides whether a handshake continues after a system call failed.
type patience struct {
	session  *session
	deadline int64
}

func (s *session) patience() patience {
	return patience{s, nanotime() + int64(s.limit)}
}

// retry returns nil when the call should be repeated.
func (p patience) retry(err error) error {
	switch {
	case p.session.halted.Load():
		return errHalted
	case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) &&
		!errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EALREADY):
		return err
	case nanotime() > p.deadline:
		return fmt.Errorf("no answer within %v", p.session.limit)
	}
	return nil
}

// handshake reads and writes a socket, and retries as patience allows.
type handshake struct {
	fd int
	patience
}

// Read implements io.Reader.
func (h handshake) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(h.fd, b)
		switch {
		case err == nil && n == 0 && len(b) > 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		}
		if err := h.retry(err); err != nil {
			return 0, err
		}
	}
}

// Write implements io.Writer.
func (h handshake) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.SendmsgN(h.fd, b[done:], nil, nil, unix.MSG_NOSIGNAL)
		if err == nil {
			done += n
			continue
		}
		if err := h.retry(err); err != nil {
			return done, err
		}
	}
	return done, nil
}
