package program

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Port is a port that a server opens, at one of its addresses.
type Port struct {
	Protocol string // "tcp" or "udp"
	At       netip.AddrPort
}

func (p Port) String() string {
	return fmt.Sprintf("%s port %d of %v", p.Protocol, p.At.Port(), p.At.Addr())
}

// socket is a socket that waits for peers.
type socket struct {
	Port
	inode uint64
}

// States of sockets in /proc/net/tcp and udp: a waiting server is in one of these.
const (
	tcpListen = "0A"
	udpClosed = "07"
)

// listening returns when all ports are open in this network namespace. It is an error if ctx ends
// before, or if any of them is also opened at another address: a server that listens elsewhere can
// be reached by others than its clients. Sockets in before belong to other processes and are
// ignored.
//
// The kernel searches its table of all connections for sockets that wait, which takes 10 ms on machines with much memory,
// where the table is large. So three quarters of the time are pauses, in which the server can use the CPU that it needs
// to begin.
func listening(ctx context.Context, ports []Port, before []socket, ended <-chan struct{}) error {
	for {
		began := time.Now()
		open, err := sockets()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(open, func(s socket) bool { return s.strays(ports) && !slices.Contains(before, s) }); i >= 0 {
			return fmt.Errorf("listens on %v instead of only on %v", open[i], ports[0].At.Addr())
		}
		i := slices.IndexFunc(ports, func(p Port) bool { return !slices.ContainsFunc(open, p.is) })
		if i < 0 {
			return context.Cause(ctx)
		}
		select {
		case <-ended:
			return fmt.Errorf("ended instead of listening on %v", ports[i])
		case <-ctx.Done():
			return fmt.Errorf("does not listen on %v: %w", ports[i], context.Cause(ctx))
		case <-time.After(max(5*time.Millisecond, 3*time.Since(began))):
		}
	}
}

// free returns an error if one of the ports is already open, at its address or at all addresses.
func free(ports []Port, open []socket) error {
	for _, p := range ports {
		for _, s := range open {
			if p.number(s) && (s.At.Addr() == p.At.Addr() || s.At.Addr().IsUnspecified()) {
				return fmt.Errorf("%s port %d is in use", p.Protocol, p.At.Port())
			}
		}
	}
	return nil
}

// is reports whether a socket has the port. An IPv6 socket on all addresses also accepts IPv4.
func (p Port) is(s socket) bool {
	a, b := p.At.Addr(), s.At.Addr()
	return p.number(s) && (a == b || a.IsUnspecified() && b.IsUnspecified())
}

func (p Port) number(s socket) bool { return p.Protocol == s.Protocol && p.At.Port() == s.At.Port() }

// strays reports whether a socket has the port number of a server at an address that is not the
// server's.
func (s socket) strays(from []Port) bool {
	is := func(p Port) bool { return p.is(s) }
	number := func(p Port) bool { return p.number(s) }
	return slices.ContainsFunc(from, number) && !slices.ContainsFunc(from, is)
}

// sockets returns the sockets of this network namespace that wait for peers.
func sockets() (all []socket, err error) {
	for _, protocol := range []string{"tcp", "udp"} {
		for _, family := range []string{"", "6"} {
			b, err := os.ReadFile("/proc/self/net/" + protocol + family)
			if os.IsNotExist(err) && family == "6" {
				continue // a kernel without IPv6
			}
			if err != nil {
				return nil, err
			}
			all = append(all, waiting(protocol, string(b))...)
		}
	}
	return all, nil
}

// waiting reads the table of /proc/net/tcp or udp; see proc_pid_net(5).
func waiting(protocol, table string) (all []socket) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != tcpListen && f[3] != udpClosed {
			continue
		}
		at, ok := parseAddress(f[1])
		inode, err := strconv.ParseUint(f[9], 10, 64)
		if ok && err == nil {
			all = append(all, socket{Port{protocol, at}, inode})
		}
	}
	return all
}

// parseAddress reads an address and a port as the kernel prints them: each four bytes of the
// address as a number in memory order, in hexadecimal.
func parseAddress(text string) (at netip.AddrPort, ok bool) {
	address, port, _ := strings.Cut(text, ":")
	words, err := hex.DecodeString(address)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(words) != 4 && len(words) != 16 {
		return at, false
	}
	var b bytes.Buffer
	for word := range slices.Chunk(words, 4) {
		_ = binary.Write(&b, binary.NativeEndian, binary.BigEndian.Uint32(word)) // a write to a buffer cannot fail
	}
	addr, ok := netip.AddrFromSlice(b.Bytes())
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok
}

// everywhere returns the same ports at all addresses of a family.
func everywhere(ports []Port) (all []Port) {
	for _, p := range ports {
		a := netip.IPv4Unspecified()
		if p.At.Addr().Is6() {
			a = netip.IPv6Unspecified()
		}
		all = append(all, Port{p.Protocol, netip.AddrPortFrom(a, p.At.Port())})
	}
	return all
}
