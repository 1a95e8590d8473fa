package networktest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
)

// LastService sends a greeting through the last of the further services of a network, over either IP version. Their addresses
// follow that of the server's service.
func LastService(t *testing.T, n *network.Network, topo network.Topology) {
	t.Helper()
	client, server := n.Clients[0], n.Servers[0]
	port, _ := topo.Ports(0)
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		own, err := n.Own(client, server, f)
		iferr.Fatal(t, err)
		service, err := n.Addr(client, server, f)
		iferr.Fatal(t, err)
		for range topo.Services {
			service = service.Next()
		}
		if got := greet(t, client, server, netip.AddrPortFrom(service, 80), netip.AddrPortFrom(own, uint16(port))); got != "hello" {
			t.Errorf("the last service led to a server that said %q", got)
		}
		// There is no service at the next address.
		err = netns.Do(client.Facts().NetNS, func() error {
			_, err := net.DialTimeout("tcp", netip.AddrPortFrom(service.Next(), 80).String(), 200*time.Millisecond)
			return err
		})
		if err == nil {
			t.Errorf("%s answers", service.Next())
		}
	}
}

// greet has a server say hello to whoever connects, and returns what a client receives at the address dial.
func greet(t *testing.T, client, server platform.Endpoint, dial, listen netip.AddrPort) string {
	t.Helper()
	var l net.Listener
	err := netns.Do(server.Facts().NetNS, func() (err error) {
		l, err = net.Listen("tcp", listen.String())
		return err
	})
	iferr.Fatal(t, err)
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "hello")
			c.Close()
		}
	}()
	var said string
	err = netns.Do(client.Facts().NetNS, func() error {
		c, err := net.DialTimeout("tcp", dial.String(), patience)
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		_, err = fmt.Fscan(c, &said)
		return err
	})
	iferr.Error(t, err)
	return said
}

// Answers returns an error unless a client of a network of pairs connects to its server in time.
func Answers(t *testing.T, n *network.Network, topo network.Topology, f network.Family, within time.Duration) error {
	t.Helper()
	client, server := n.Clients[0], n.Servers[0]
	port, _ := topo.Ports(0)
	own, err1 := n.Own(client, server, f)
	at, err2 := n.Addr(client, server, f)
	iferr.Fatal(t, errors.Join(err1, err2))
	var l net.Listener
	err := netns.Do(server.Facts().NetNS, func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(own, uint16(port)).String())
		return err
	})
	iferr.Fatal(t, err)
	defer l.Close()
	return netns.Do(client.Facts().NetNS, func() error {
		c, err := net.DialTimeout("tcp", netip.AddrPortFrom(at, uint16(port)).String(), within)
		if err == nil {
			c.Close()
		}
		return err
	})
}
