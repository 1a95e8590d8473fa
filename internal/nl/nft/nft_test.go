package nft_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// routed are three namespaces in a row: left, a router with the devices eth0 to the left and eth1 to
// the right, and right.
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
	// A router finds no neighbour until its link-local address is known to be free.
	all, err := netns.New(t.Context(), 3, func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
	})
	iferr.Fatal(t, err)
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
		iferr.Fatal(t, netns.SetSysctl(r.router, key, "1"))
	}
	return r
}

func with(t *testing.T, ns string, fn func(*nl.NS) error) {
	t.Helper()
	iferr.Fatal(t, nl.With(ns, fn))
}

// receiver returns a socket that receives the test's datagrams.
func receiver(t *testing.T, ns string, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := netns.Do(ns, func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(to))
		return err
	})
	iferr.Fatal(t, err)
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
	iferr.Fatal(t, err)
	defer conn.Close()
	for range n {
		if _, err := conn.Write(make([]byte, payload)); err != nil {
			t.Fatal(err)
		}
	}
}

const payload = 100 // bytes of one datagram

// arrive receives n datagrams and returns the sender of the last one.
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

// silent checks that no datagram is waiting.
func silent(t *testing.T, conn *net.UDPConn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, from, err := conn.ReadFromUDPAddrPort(make([]byte, 2*payload)); err == nil {
		t.Errorf("a datagram from %s arrived that should not", from)
	}
}

func firewall(t *testing.T, ns string) *nft.Firewall {
	t.Helper()
	fw, err := nft.New(ns, "tested")
	iferr.Fatal(t, err)
	t.Cleanup(func() { fw.Close() })
	return fw
}

func commit(t *testing.T, fw *nft.Firewall) {
	t.Helper()
	iferr.Fatal(t, fw.Commit())
}

// count returns a rule's counters, once it has counted so many packets: the kernel of a busy machine forwards them some time
// after they were sent.
func count(t *testing.T, r nft.Rule, packets uint64) (p, b uint64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var err error
		p, b, err = r.Count()
		iferr.Fatal(t, err)
		if p >= packets || time.Now().After(deadline) {
			return p, b
		}
	}
}

// counted checks a rule's counters.
func counted(t *testing.T, what string, r nft.Rule, packets, bytes uint64) {
	t.Helper()
	p, b := count(t, r, packets)
	if p != packets || b != bytes {
		t.Errorf("%s: %d packets and %d bytes, want %d and %d", what, p, b, packets, bytes)
	}
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func TestRulesCountWhatMatches(t *testing.T) {
	for six, header := range map[bool]uint64{false: 20 + 8, true: 40 + 8} {
		r := route(t)
		wide := map[bool]string{false: "198.19.1.77/24", true: "2001:2:0:2::77/64"}[six]
		fw := firewall(t, r.router)
		all := fw.Chain("all") // one rule for each match, then return
		rules := map[string]nft.Rule{}
		for name, parts := range map[string][]nft.Part{
			"everything":     {nft.Return()},
			"in eth0":        {nft.In("eth0"), nft.Return()},
			"from":           {nft.From(single(r.leftAddr[six])), nft.Return()},
			"to":             {nft.To(netip.MustParsePrefix(wide)), nft.Return()},
			"out and ports":  {nft.Out("eth1"), nft.Ports(unix.IPPROTO_UDP, 20001, 20008), nft.Return()},
			"not eth0":       {nft.NotOut("eth0"), nft.Return()},
			"in eth1":        {nft.In("eth1"), nft.Return()},
			"out eth":        {nft.Out("eth"), nft.Return()},
			"not out eth1":   {nft.NotOut("eth1"), nft.Return()},
			"from right":     {nft.From(single(r.rightAddr[six])), nft.Return()},
			"to left":        {nft.To(single(r.leftAddr[six])), nft.Return()},
			"other family":   {nft.To(single(r.rightAddr[!six])), nft.Return()},
			"other ports":    {nft.Ports(unix.IPPROTO_UDP, 20009, 20016), nft.Return()},
			"TCP":            {nft.Ports(unix.IPPROTO_TCP, 1, 65535), nft.Return()},
			"to the router":  {nft.ToLocal(), nft.Return()},
			"answered":       {nft.Established(), nft.Return()},
			"two that clash": {nft.In("eth0"), nft.Out("eth0"), nft.Return()},
		} {
			one := fw.Chain(strings.ReplaceAll(name, " ", "-"))
			rules[name] = one.Rule(parts...)
			all.Rule(nft.Jump(one))
		}
		forward := fw.BaseChain("forward", nft.Forward, false)
		forward.Rule(nft.In("eth0"), nft.Jump(all))
		commit(t, fw)

		to := netip.AddrPortFrom(r.rightAddr[six], 20008)
		conn := receiver(t, r.right, to)
		const n = 7
		send(t, r.left, to, n)
		arrive(t, conn, n)
		for _, name := range []string{"everything", "in eth0", "from", "to", "out and ports", "not eth0"} {
			counted(t, name, rules[name], n, n*(header+payload))
		}
		for _, name := range []string{
			"in eth1", "out eth", "not out eth1", "from right", "to left", "other family", "other ports", "TCP", "to the router", "answered", "two that clash",
		} {
			counted(t, name, rules[name], 0, 0)
		}
	}
}

func TestPolicyAndVerdicts(t *testing.T) {
	r := route(t)
	fw := firewall(t, r.router)
	forward := fw.BaseChain("forward", nft.Forward, true)
	known := forward.Rule(nft.Established(), nft.Accept())
	dropped := forward.Rule(nft.Ports(unix.IPPROTO_UDP, 20002, 20002), nft.Drop())
	accepted := forward.Rule(nft.Ports(unix.IPPROTO_UDP, 20001, 20002), nft.Accept())
	commit(t, fw)
	to := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(r.rightAddr[false], port) }
	open, shut, unnamed := receiver(t, r.right, to(20001)), receiver(t, r.right, to(20002)), receiver(t, r.right, to(20003))
	send(t, r.left, to(20002), 3)
	send(t, r.left, to(20003), 3)
	send(t, r.left, to(20001), 2)
	from := arrive(t, open, 2)
	if _, err := open.WriteToUDPAddrPort([]byte("answer"), from); err != nil { // the port is closed by now
		t.Fatal(err)
	}
	silent(t, shut)
	silent(t, unnamed)
	size := uint64(20 + 8 + payload)
	counted(t, "dropped", dropped, 3, 3*size)
	counted(t, "accepted", accepted, 2, 2*size)
	if p, _ := count(t, known, 1); p == 0 {
		t.Error("the answer is not known")
	}
}

func TestAddressesAreTranslated(t *testing.T) {
	for _, six := range []bool{false, true} {
		r := route(t)
		gateway := map[bool]netip.Addr{false: netip.MustParseAddr("198.19.0.1"), true: netip.MustParseAddr("2001:2:0:1::1")}[six]
		other := map[bool]netip.Addr{false: netip.MustParseAddr("198.19.1.1"), true: netip.MustParseAddr("2001:2:0:2::1")}[six]
		fw := firewall(t, r.router)
		inward := fw.BaseChain("PREROUTING", nft.PreroutingNAT, false).Rule(nft.ToLocal(), nft.DNAT(r.rightAddr[six]))
		post := fw.BaseChain("POSTROUTING", nft.PostroutingNAT, false)
		masqueraded := post.Rule(nft.Ports(unix.IPPROTO_UDP, 20001, 20001), nft.Masquerade())
		sourced := post.Rule(nft.Ports(unix.IPPROTO_UDP, 20002, 20002), nft.SNAT(other))
		commit(t, fw)
		for port, rule := range map[uint16]nft.Rule{20001: masqueraded, 20002: sourced} {
			conn := receiver(t, r.right, netip.AddrPortFrom(r.rightAddr[six], port))
			send(t, r.left, netip.AddrPortFrom(gateway, port), 3)
			if from := arrive(t, conn, 3); from.Addr() != other {
				t.Errorf("port %d: the source is %s, want %s", port, from.Addr(), other)
			}
			if p, _, err := rule.Count(); err != nil || p != 1 {
				t.Errorf("port %d: the rule counted %d connections, want 1: %v", port, p, err)
			}
		}
		if p, _, err := inward.Count(); err != nil || p != 2 {
			t.Errorf("%d connections inward, want 2: %v", p, err)
		}
	}
}
