package nft_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// routed is three namespaces in a row: left, a router with the devices eth0 to the
// left and eth1 to the right, and right.
type routed struct {
	left, router, right string
	leftAddr, rightAddr map[bool]netip.Addr // true is IPv6
}

var (
	leftNet  = map[bool]string{false: "198.19.0.%d/24", true: "2001:2:0:1::%d/64"}
	rightNet = map[bool]string{false: "198.19.1.%d/24", true: "2001:2:0:2::%d/64"}
)

func route(t *testing.T) routed {
	t.Helper()
	// A router finds no neighbour before its link-local address is known to be free.
	all, err := netns.New(t.Context(), 3, func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, ns := range all {
			ns.Close()
		}
	})
	r := routed{
		left: all[0].Path(), router: all[1].Path(), right: all[2].Path(),
		leftAddr: map[bool]netip.Addr{}, rightAddr: map[bool]netip.Addr{},
	}
	for i, side := range []string{r.left, r.right} {
		nets := []map[bool]string{leftNet, rightNet}[i]
		device := fmt.Sprintf("eth%d", i)
		with(t, r.router, func(n *nl.NS) error { return n.AddPair(device, side, "eth0", 0) })
		with(t, side, func(n *nl.NS) error { return n.Up("lo", "eth0") })
		with(t, r.router, func(n *nl.NS) error { return n.Up("lo", device) })
		for _, six := range []bool{false, true} {
			own, gateway := netip.MustParsePrefix(fmt.Sprintf(nets[six], 2)), netip.MustParsePrefix(fmt.Sprintf(nets[six], 1))
			with(t, r.router, func(n *nl.NS) error { return n.Addr(device, gateway) })
			with(t, side, func(n *nl.NS) error {
				if err := n.Addr("eth0", own); err != nil {
					return err
				}
				return n.Route(nl.Default(six), gateway.Addr(), "eth0")
			})
			[]map[bool]netip.Addr{r.leftAddr, r.rightAddr}[i][six] = own.Addr()
		}
	}
	for ns, devices := range map[string][]string{r.left: {"eth0"}, r.router: {"eth0", "eth1"}, r.right: {"eth0"}} {
		with(t, ns, func(n *nl.NS) error { return n.Running(t.Context(), devices...) })
	}
	for _, key := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
		if err := netns.SetSysctl(r.router, key, "1"); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func with(t *testing.T, ns string, fn func(*nl.NS) error) {
	t.Helper()
	if err := nl.With(ns, fn); err != nil {
		t.Fatal(err)
	}
}

// receiver is a socket on which datagrams of this test arrive.
func receiver(t *testing.T, ns string, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := netns.Do(ns, func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(to))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// send sends datagrams, all from one port, so that they are one connection.
func send(t *testing.T, ns string, to netip.AddrPort, n int) {
	t.Helper()
	var conn *net.UDPConn
	err := netns.Do(ns, func() (err error) {
		conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range n {
		if _, err := conn.Write(make([]byte, payload)); err != nil {
			t.Fatal(err)
		}
	}
}

const payload = 100 // bytes of one datagram

// arrive takes n datagrams and says who sent the last.
func arrive(t *testing.T, conn *net.UDPConn, n int) (from netip.AddrPort) {
	t.Helper()
	for i := range n {
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		var err error
		if _, from, err = conn.ReadFromUDPAddrPort(make([]byte, 2*payload)); err != nil {
			t.Fatalf("datagram %d of %d: %v", i+1, n, err)
		}
	}
	return from
}

// silent checks that nothing is waiting.
func silent(t *testing.T, conn *net.UDPConn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, from, err := conn.ReadFromUDPAddrPort(make([]byte, 2*payload)); err == nil {
		t.Errorf("a datagram from %s arrived that should not", from)
	}
}
