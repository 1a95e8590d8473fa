package sampler

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Reach asks an endpoint how large the packets may be that cross to an Echo and back.
type Reach struct {
	To     netip.AddrPort
	Cookie []byte
	MTU    int // bytes of the largest packet that is tried
}

// Reached says which packets crossed, by their size in bytes with IP and UDP headers.
// 0 is none, not even the smallest, or not known.
type Reached struct {
	There int // the largest that crossed toward the other end
	Back  int // the largest that crossed from there
}

const (
	cookieSize = 16
	// headerSize is of a probe: the cookie, its own size and that of the answer it wants.
	headerSize = cookieSize + 4 + 4
	// smallest is a size that crosses every network, in bytes of the packet.
	smallest = 128
	// abreast is how many sizes are tried at once.
	abreast = 8
	// attempts is how often each is tried, one attempt every pause.
	attempts = 3
	pause    = 40 * time.Millisecond
	// reachTime bounds a Reach: as many steps as the largest packet of all takes, each
	// with all its attempts. An Echo waits for little longer.
	reachTime = 900 * time.Millisecond
	echoTime  = reachTime + 300*time.Millisecond
)

// Find tries packets of growing size, both ways at once.
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

// largest finds the largest size that is answered. sizes are those of the packets there
// and back.
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
		answered := p.try(tried)
		if answered == 0 {
			if most == 0 {
				return 0, nil
			}
			high = tried[0] - 1
			continue
		}
		most = answered
		low = answered + 1
		if i := slices.Index(tried, answered); i+1 < len(tried) {
			high = tried[i+1] - 1
		}
	}
	// What is lost by chance, or late, must not look like a limit.
	if most < r.MTU {
		most = max(most, p.try([]int{r.MTU}))
	}
	if ctx.Err() != nil {
		return 0, nil // not all was tried
	}
	return most, nil
}

// steps are sizes from low to high, both among them, not more than abreast.
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
	network, overhead := "udp4", 20+8
	if r.To.Addr().Is6() {
		network, overhead = "udp6", 40+8
	}
	dialer := net.Dialer{Control: whole}
	conn, err := dialer.DialContext(ctx, network, r.To.String())
	if err != nil {
		return nil, err
	}
	return &prober{conn.(*net.UDPConn), r.Cookie, overhead, sizes}, nil
}

// try sends a packet of each size until the largest is answered, or often enough, and
// gives the largest that was.
func (p *prober) try(sizes []int) (most int) {
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
			_, _ = p.Write(packet) // too large for the device: it does not cross
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
					continue // the time is up
				}
				time.Sleep(pause / 8) // nobody answers yet, or a router says that it is too large
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
