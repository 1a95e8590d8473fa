package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
	"nettoll/record"
	"nettoll/workload"
)

// pollInterval is how long a flow waits for the network before it checks whether it is to stop.
const pollInterval = 200 * time.Millisecond

// tune makes the socket settings that both ends have in common, before the socket listens or
// connects: the window has to be known when the connection is made. Connections inherit them from
// the listener. A setting that the kernel did not fully grant is a warning.
func (s *session) tune(fd int) error {
	if s.options.Window > 0 {
		for _, buffer := range []struct {
			option      int
			name, limit string
		}{
			{unix.SO_SNDBUF, "send", "net.core.wmem_max"},
			{unix.SO_RCVBUF, "receive", "net.core.rmem_max"},
		} {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, buffer.option, s.options.Window); err != nil {
				return fmt.Errorf("set %s buffer to %d: %w", buffer.name, s.options.Window, err)
			}
			got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, buffer.option)
			if err != nil {
				return fmt.Errorf("get %s buffer: %w", buffer.name, err)
			}
			// The kernel doubles the size that it grants, for its own overhead (socket(7)).
			s.warn(workload.Narrowed(buffer.name, buffer.limit, s.options.Window, got/2)...)
		}
	}
	if s.options.Congestion != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, s.options.Congestion); err != nil {
			return congestionError(s.options.Congestion, err)
		}
	}
	return setTimeouts(fd, pollInterval)
}

// setTimeouts bounds how long a receive or send waits; 0 is no bound.
func setTimeouts(fd int, wait time.Duration) error {
	tv := unix.NsecToTimeval(int64(wait))
	return wrap.Error(record.Try([]int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO}, func(option int) error {
		return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &tv)
	}), "set socket timeout")
}

// congestionError names the available algorithms.
func congestionError(name string, err error) error {
	if errors.Is(err, unix.ENOENT) {
		err = errors.New("not available here")
	}
	if available, readErr := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control"); readErr == nil {
		return fmt.Errorf("congestion control %q: %w (available: %s)", name, err, strings.TrimSpace(string(available)))
	}
	return fmt.Errorf("congestion control %q: %w", name, err)
}

// newSocket makes a socket for the family of addr, of type SOCK_STREAM or SOCK_DGRAM.
func newSocket(addr netip.AddrPort, socketType int) (fd int, sa unix.Sockaddr, err error) {
	domain := unix.AF_INET6
	if addr.Addr().Is4() {
		domain = unix.AF_INET
		sa = &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	} else {
		sa = &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
	}
	fd, err = unix.Socket(domain, socketType|unix.SOCK_CLOEXEC, 0)
	return fd, sa, wrap.Error(err, "make socket")
}

// opens makes the socket of a flow, to or at addr, and tunes it.
func (s *session) opens(f *flow, addr netip.AddrPort, socketType int) (sa unix.Sockaddr, err error) {
	if f.fd, sa, err = newSocket(addr, socketType); err != nil {
		return nil, err
	}
	return sa, s.tune(f.fd)
}

// tcpInfo returns the kernel's information about a connection.
func tcpInfo(fd int) (*record.TCPInfo, error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil, fmt.Errorf("get TCP_INFO: %w", err)
	}
	congestion, err := congestionOf(fd)
	if err != nil {
		return nil, err
	}
	return &record.TCPInfo{
		Retransmits: info.Total_retrans,
		RTT:         info.Rtt,
		RTTVar:      info.Rttvar,
		Cwnd:        info.Snd_cwnd,
		SndMSS:      info.Snd_mss,
		RcvMSS:      info.Rcv_mss,
		PMTU:        info.Pmtu,
		Congestion:  congestion,

		Busy: info.Busy_time, WindowLimited: info.Rwnd_limited, BufferLimited: info.Sndbuf_limited,
	}, nil
}

func congestionOf(fd int) (string, error) {
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return strings.TrimRight(name, "\x00"), wrap.Error(err, "get TCP_CONGESTION")
}
