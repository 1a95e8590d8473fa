package sampler

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Echo asks an endpoint to answer the datagrams of a Reach, for a while.
type Echo struct {
	At     netip.AddrPort // where the other end's datagrams arrive, and no other address
	Cookie []byte         // of cookieSize; who does not know it is not answered
}

// Run answers until nothing can be asked any more.
func (e Echo) Run(ctx context.Context) error {
	conn, err := e.listen(ctx)
	if err != nil {
		return fmt.Errorf("sampler: echo: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(echoTime)); err != nil {
		return err
	}
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return nil // the time is up, or nobody waits any more
		}
		if n < headerSize || !bytes.Equal(buf[:cookieSize], e.Cookie) {
			continue
		}
		want := int(binary.BigEndian.Uint32(buf[cookieSize+4:]))
		// What cannot be sent in one packet is not answered, which is the answer.
		_, _ = conn.WriteToUDPAddrPort(buf[:min(max(want, headerSize), len(buf))], from)
	}
}

func (e Echo) listen(ctx context.Context) (*net.UDPConn, error) {
	if !e.At.IsValid() || e.At.Addr().IsUnspecified() {
		return nil, fmt.Errorf("listen on %v: an address of this machine is needed", e.At)
	}
	config := net.ListenConfig{Control: whole}
	network := "udp4"
	if e.At.Addr().Is6() {
		network = "udp6"
	}
	conn, err := config.ListenPacket(ctx, network, e.At.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// whole keeps the kernel from sending a packet in fragments, and from believing what
// it has been told of the path: each packet is tried.
func whole(network, _ string, raw syscall.RawConn) error {
	var err error
	control := func(fd uintptr) {
		if network == "udp6" {
			err = errors.Join(
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
			return
		}
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	}
	return errors.Join(raw.Control(control), err)
}
