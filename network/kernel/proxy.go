package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/sampler"
)

// Methods of the agent that runs the proxy.
const (
	methodServe   = "published.serve"
	methodCount   = "published.count"
	methodControl = "published.control"
)

// forward is a port to serve.
type forward struct {
	Server int // index of the server for which traffic is counted
	Listen netip.AddrPort
	To     netip.AddrPort
}

// startProxy runs one proxy on the host for all published ports.
func (p *publication) startProxy(ctx context.Context) error {
	h := p.Site.Hosts[0]
	proc, err := h.Start(ctx, platform.Command{Path: platform.Self, Args: []string{"agent"}})
	if err != nil {
		return fmt.Errorf("published: start proxy: %w", err)
	}
	client := agent.Dial(proc)
	p.Push("proxy", func(context.Context) error { return client.Close() })
	p.Procs = append(p.Procs, network.Daemon{Name: "proxy on " + h.Name(), Host: h.Name(), PID: proc.PID()})
	var ports []forward
	for i, n := range p.Servers {
		first, last := p.Topo.Ports(i)
		for port := first; port <= last; port++ {
			for _, f := range []network.Family{network.IPv4, network.IPv6} {
				ports = append(ports, forward{
					Server: i,
					Listen: netip.AddrPortFrom(published(nil, n, f), uint16(port)),
					To:     netip.AddrPortFrom(n.Addr(f), uint16(port)),
				})
			}
		}
	}
	if err := client.Call(ctx, methodServe, ports, nil); err != nil {
		return fmt.Errorf("published: proxy: %w", err)
	}
	p.Relay = func(ctx context.Context, congestion string) error {
		return client.Call(ctx, methodControl, congestion, nil)
	}
	p.carried = func(ctx context.Context, server int) (network.Count, error) {
		return agent.Ask[network.Count](ctx, client, methodCount, server)
	}
	return nil
}

// Handlers returns the agent's methods: those that build one machine's part of networks between machines,
// and those of a proxy that, like docker-proxy, accepts a connection, makes another and copies between the
// two, in the kernel where splice(2) can, and forwards datagrams.
func Handlers() map[string]agent.Handler {
	p := &proxy{idle: idle}
	all := parts()
	all[methodServe], all[methodCount], all[methodControl] = agent.Typed(p.serve), agent.Typed(p.count), agent.Typed(p.control)
	return all
}

type proxy struct {
	bytes      []atomic.Uint64 // by server
	conns      []atomic.Uint64
	idle       time.Duration
	congestion atomic.Value // TCP congestion control of new connections, a string; none or "" is the machine's default
}

func (p *proxy) serve(_ context.Context, ports []forward) (struct{}, error) {
	servers := 0
	for _, f := range ports {
		if f.Server < 0 || f.Server >= len(ports) {
			return struct{}{}, fmt.Errorf("server %d of %d ports", f.Server, len(ports))
		}
		servers = max(servers, f.Server+1)
	}
	p.bytes, p.conns = make([]atomic.Uint64, servers), make([]atomic.Uint64, servers)
	for _, f := range ports {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(f.Listen))
		if err != nil {
			return struct{}{}, err
		}
		go p.accept(l, f)
		d, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(f.Listen))
		if err != nil {
			return struct{}{}, err
		}
		go p.datagrams(d, f)
	}
	return struct{}{}, nil
}

func (p *proxy) count(_ context.Context, server int) (network.Count, error) {
	if server < 0 || server >= len(p.bytes) {
		return network.Count{}, fmt.Errorf("no server %d is published", server)
	}
	return network.Count{Packets: p.conns[server].Load(), Bytes: p.bytes[server].Load()}, nil
}

// control sets the congestion control of new connections. What is sent to the container should not be paced otherwise than
// what is sent over the networks that this one is compared with.
func (p *proxy) control(_ context.Context, congestion string) (struct{}, error) {
	if congestion != "" {
		if err := sampler.TryCongestion(congestion); err != nil {
			return struct{}{}, fmt.Errorf("congestion control %q: %w", congestion, err)
		}
	}
	p.congestion.Store(congestion)
	return struct{}{}, nil
}

// controls sets the congestion control of a connection.
func (p *proxy) controls(c syscall.RawConn) (err error) {
	name, _ := p.congestion.Load().(string)
	if name == "" {
		return nil
	}
	failed := c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) })
	return cmp.Or(failed, err)
}

// refusal is how long the proxy waits after it failed to accept a connection.
const refusal = 20 * time.Millisecond

func (p *proxy) accept(l *net.TCPListener, f forward) {
	for {
		c, err := l.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: only waiting helps
			time.Sleep(refusal)
			continue
		}
		p.conns[f.Server].Add(1)
		go p.carry(c, f)
	}
}

// carry copies both ways until both ends have closed.
func (p *proxy) carry(client *net.TCPConn, f forward) {
	defer client.Close()
	accepted, err := client.SyscallConn()
	if err != nil || p.controls(accepted) != nil {
		return
	}
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { return p.controls(c) }}
	dialed, err := dialer.Dial("tcp", f.To.String())
	if err != nil {
		return
	}
	defer dialed.Close()
	server, ok := dialed.(*net.TCPConn)
	if !ok {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.copy(client, server, f.Server)
	}()
	p.copy(server, client, f.Server)
	<-done
}

// chunk is how many bytes are copied between two updates of the counter.
const chunk = 1 << 20

func (p *proxy) copy(to, from *net.TCPConn, server int) {
	for {
		n, err := io.CopyN(to, from, chunk)
		p.bytes[server].Add(uint64(n))
		if err != nil {
			break
		}
	}
	_ = to.CloseWrite()
	_ = from.CloseRead()
}

// idle is how long a client is remembered without a datagram, as in docker-proxy. That waits for one of the server, and gives a
// client that is never answered another port then, which would be another flow.
const idle = 90 * time.Second

// exchange is what a client sends to a container, and is answered.
type exchange struct {
	back *net.UDPConn // towards the container
	sent atomic.Int64 // when the client sent last, in nanoseconds of Unix time
}

// datagrams forwards the datagrams of one port: each client has its own socket toward the
// container, so that answers find the way back to it.
func (p *proxy) datagrams(front *net.UDPConn, f forward) {
	var mu sync.Mutex
	clients := map[netip.AddrPort]*exchange{}
	buf := make([]byte, 64<<10)
	for {
		n, from, err := front.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		mu.Lock()
		x := clients[from]
		if x == nil {
			back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(f.To))
			if err != nil {
				mu.Unlock()
				continue
			}
			x = &exchange{back: back}
			clients[from] = x
			p.conns[f.Server].Add(1)
			go func() {
				p.answers(front, x, from, f.Server)
				mu.Lock()
				delete(clients, from)
				mu.Unlock()
			}()
		}
		mu.Unlock()
		x.sent.Store(time.Now().UnixNano())
		if _, err := x.back.Write(buf[:n]); err == nil {
			p.bytes[f.Server].Add(uint64(n))
		}
	}
}

// answers forwards datagrams back to one client, until the time p.idle has passed without one in either direction.
func (p *proxy) answers(front *net.UDPConn, x *exchange, to netip.AddrPort, server int) {
	defer x.back.Close()
	buf := make([]byte, 64<<10)
	for last := time.Now(); ; {
		_ = x.back.SetReadDeadline(last.Add(p.idle))
		n, err := x.back.Read(buf)
		switch sent := time.Unix(0, x.sent.Load()); {
		case errors.Is(err, os.ErrDeadlineExceeded) && sent.After(last):
			last = sent
			continue
		case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			continue // the container refused a datagram, which is no reason to stop
		}
		last = time.Now()
		if _, err := front.WriteToUDPAddrPort(buf[:n], to); err == nil {
			p.bytes[server].Add(uint64(n))
		}
	}
}
