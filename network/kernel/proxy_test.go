package kernel

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

// TestClientsThatAreNeverAnsweredKeepTheirPort sends datagrams for several times as long as a client is remembered that sends
// none: the server sees one client all the time. One that is silent for so long is another afterwards.
func TestClientsThatAreNeverAnsweredKeepTheirPort(t *testing.T) {
	machine.Loopback(t)
	const idle = 500 * time.Millisecond
	listen := func() *net.UDPConn {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		iferr.Fatal(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	addr := func(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }
	front, server := listen(), listen()
	p := &proxy{bytes: make([]atomic.Uint64, 1), conns: make([]atomic.Uint64, 1), idle: idle}
	served := make(chan struct{})
	go func() {
		p.datagrams(front, forward{Listen: addr(front), To: addr(server)})
		close(served)
	}()
	client, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(addr(front)))
	iferr.Fatal(t, err)
	defer client.Close()
	seen := map[netip.AddrPort]bool{}
	send := func() {
		_, err := client.Write([]byte("one way"))
		iferr.Fatal(t, err)
		iferr.Fatal(t, server.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, from, err := server.ReadFromUDPAddrPort(make([]byte, 100))
		iferr.Fatal(t, err)
		seen[from] = true
	}
	longest := time.Duration(0)
	last := time.Now()
	for began := last; time.Since(began) < 3*idle; time.Sleep(idle / 50) {
		send()
		longest, last = max(longest, time.Since(last)), time.Now()
	}
	if len(seen) != 1 && longest < idle/2 {
		t.Errorf("the server saw %d clients", len(seen))
	}
	for deadline := time.Now().Add(20 * time.Second); len(seen) == 1; send() {
		if time.Now().After(deadline) {
			t.Fatal("a client that was silent is still remembered")
		}
		time.Sleep(3 * idle)
	}
	front.Close()
	<-served
}
