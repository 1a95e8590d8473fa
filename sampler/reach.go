package sampler

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Reach asks an endpoint for the largest packets that cross to an Echo and back.
type Reach struct {
	To     netip.AddrPort
	Cookie []byte
	MTU    int // bytes of the largest packet to try
}

// Reached reports which packets crossed, by their size in bytes including IP and UDP headers.
// 0 means that not even the smallest crossed, or that it is not known.
type Reached struct {
	There int // the largest that crossed to the other end
	Back  int // the largest that crossed back from there
}

// NewCookie returns a secret by which the two ends of a greeting or a probe know each other.
func NewCookie() []byte {
	cookie := make([]byte, cookieSize)
	rand.Read(cookie)
	return cookie
}

const (
	cookieSize = 16 // bytes
	// headerSize is the size of a probe's header: the cookie, its own size and the size of the requested answer.
	headerSize = cookieSize + 4 + 4
	// smallest is a packet size in bytes that crosses every network.
	smallest = 128
	// abreast is how many sizes are tried at a time.
	abreast = 8
	// attempts is how often each size is tried, one attempt per pause.
	attempts = 3
	pause    = 40 * time.Millisecond
	// reachTime bounds a Reach: enough for the steps that the largest possible packet takes,
	// each with all its attempts. An Echo waits slightly longer.
	reachTime = 900 * time.Millisecond
	echoTime  = reachTime + 300*time.Millisecond
)

// Find tries packets of growing size, in both directions concurrently.
func (r Reach) Find(ctx context.Context) (out Reached, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	errs := make([]error, 2)
	var trying sync.WaitGroup
	trying.Go(func() { out.There, errs[0] = r.largest(ctx, func(size int) (int, int) { return size, smallest }) })
	trying.Go(func() { out.Back, errs[1] = r.largest(ctx, func(size int) (int, int) { return smallest, size }) })
	trying.Wait()
	return out, errors.Join(errs...)
}

// largest finds the largest size that is answered. sizes returns the sizes of the packets there and
// back.
func (r Reach) largest(ctx context.Context, sizes func(int) (there, back int)) (int, error) {
	p, err := r.dial(ctx, sizes)
	if err != nil {
		return 0, fmt.Errorf("sampler: reach: %w", err)
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { p.Close() })()
	most := 0
	low, high := smallest, r.MTU
	for low <= high && ctx.Err() == nil {
		tried := steps(low, high)
		answered := p.try(tried...)
		if answered == 0 {
			return 0, nil
		}
		if most = max(most, answered); answered < tried[0] {
			high = tried[0] - 1
			continue
		}
		low = answered + 1
		if i := slices.Index(tried, answered); i+1 < len(tried) {
			high = tried[i+1] - 1
		}
	}
	// A packet that was lost by chance, or was late, must not look like a limit.
	if most < r.MTU {
		answered := p.try(r.MTU)
		if answered == 0 {
			return 0, nil
		}
		most = max(most, answered)
	}
	if ctx.Err() != nil {
		return 0, nil // not everything was tried
	}
	return most, nil
}

// steps returns at most abreast sizes from low to high, including both.
func steps(low, high int) []int {
	var all []int
	for i := range abreast {
		size := low + (high-low)*i/(abreast-1)
		if len(all) == 0 || size > all[len(all)-1] {
			all = append(all, size)
		}
	}
	return all
}

// prober sends packets and waits for their answers.
type prober struct {
	*net.UDPConn
	cookie   []byte
	overhead int // IP and UDP headers
	sizes    func(int) (there, back int)
}

func (r Reach) dial(ctx context.Context, sizes func(int) (int, int)) (*prober, error) {
	overhead := 20 + 8
	if r.To.Addr().Is6() {
		overhead = 40 + 8
	}
	dialer := net.Dialer{Control: whole}
	conn, err := dialer.DialContext(ctx, over("udp", r.To), r.To.String())
	if err != nil {
		return nil, err
	}
	return &prober{conn.(*net.UDPConn), r.Cookie, overhead, sizes}, nil
}

// try sends packets of these sizes, and one beside them that crosses every network, until the largest is answered or all
// attempts are used up, and returns the largest size that was answered. 0 means that the other end does not answer at all, or not
// in time, as on a busy machine: then nothing is known of the sizes.
func (p *prober) try(sizes ...int) (most int) {
	sizes = slices.Concat([]int{smallest}, sizes)
	buf := make([]byte, 1<<16)
	for range attempts {
		for _, size := range sizes {
			there, back := p.sizes(size)
			if size <= most || there <= p.overhead {
				continue
			}
			packet := make([]byte, max(there-p.overhead, headerSize))
			copy(packet, p.cookie)
			binary.BigEndian.PutUint32(packet[cookieSize:], uint32(size))
			binary.BigEndian.PutUint32(packet[cookieSize+4:], uint32(max(back-p.overhead, headerSize)))
			_, _ = p.Write(packet) // an error means that it is too large for the device: it does not cross
		}
		until := time.Now().Add(pause)
		for time.Now().Before(until) && most < sizes[len(sizes)-1] {
			_ = p.SetReadDeadline(until)
			n, err := p.Read(buf)
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return most
				}
				if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EMSGSIZE) {
					continue // timeout
				}
				time.Sleep(pause / 8) // nobody listens yet, or a router reports that the packet is too large
				continue
			}
			if n >= headerSize && bytes.Equal(buf[:cookieSize], p.cookie) {
				if size := int(binary.BigEndian.Uint32(buf[cookieSize:])); slices.Contains(sizes, size) {
					most = max(most, size)
				}
			}
		}
		if most == sizes[len(sizes)-1] {
			break
		}
	}
	return most
}

// Echo asks an endpoint to answer the datagrams of a Reach for a while.
type Echo struct {
	At     netip.AddrPort // the address at which the other end's datagrams arrive; no other one is bound
	Cookie []byte         // of NewCookie; senders that do not know it get no answer
}

// Run answers until ctx ends or echoTime is over.
func (e Echo) Run(ctx context.Context) error {
	if !e.At.IsValid() || e.At.Addr().IsUnspecified() {
		return fmt.Errorf("sampler: echo: listen on %v: an address of this machine is needed", e.At)
	}
	config := net.ListenConfig{Control: whole}
	bound, err := config.ListenPacket(ctx, over("udp", e.At), e.At.String())
	if err != nil {
		return fmt.Errorf("sampler: echo: %w", err)
	}
	conn := bound.(*net.UDPConn)
	defer conn.Close() // the only call of Close: when it returns, the port is free
	if err := conn.SetDeadline(time.Now().Add(echoTime)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return nil // the time is up, or nobody waits any longer
		}
		if n < headerSize || !bytes.Equal(buf[:cookieSize], e.Cookie) {
			continue
		}
		want := int(binary.BigEndian.Uint32(buf[cookieSize+4:]))
		// The kernel refuses an answer that is larger than the device's MTU. The prober then gets none, as it should.
		_, _ = conn.WriteToUDPAddrPort(buf[:min(max(want, headerSize), len(buf))], from)
	}
}

// whole prevents the kernel from fragmenting packets, and from using what it has learned about the
// path's MTU, so that each packet is really tried.
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
