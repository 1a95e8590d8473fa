package kernel

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// idle is after how long without a datagram a client is forgotten, as docker-proxy
// does it.
const idle = 90 * time.Second

// datagrams forwards the datagrams of one port: each client has a socket of its own
// toward the container, so that answers find back to it.
func (p *proxy) datagrams(front *net.UDPConn, f forward) {
	var mu sync.Mutex
	clients := map[netip.AddrPort]*net.UDPConn{}
	buf := make([]byte, 64<<10)
	for {
		n, from, err := front.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		mu.Lock()
		back := clients[from]
		if back == nil {
			back, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(f.To))
			if err != nil {
				mu.Unlock()
				continue
			}
			clients[from] = back
			p.conns[f.Server].Add(1)
			go func() {
				p.answers(front, back, from, f.Server)
				mu.Lock()
				delete(clients, from)
				mu.Unlock()
			}()
		}
		mu.Unlock()
		if _, err := back.Write(buf[:n]); err == nil {
			p.bytes[f.Server].Add(uint64(n))
		}
	}
}

// answers carries what comes back to one client, until nothing comes any more.
func (p *proxy) answers(front, back *net.UDPConn, to netip.AddrPort, server int) {
	defer back.Close()
	buf := make([]byte, 64<<10)
	for {
		_ = back.SetReadDeadline(time.Now().Add(idle))
		n, err := back.Read(buf)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			continue // the container refused a datagram: that ends nothing
		}
		if _, err := front.WriteToUDPAddrPort(buf[:n], to); err == nil {
			p.bytes[server].Add(uint64(n))
		}
	}
}
