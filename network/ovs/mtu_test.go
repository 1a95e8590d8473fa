package ovs

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network/networktest"
	"nettoll/platform"
)

// The largest packet that a container's MTU allows must arrive whole, even where the underlay takes
// jumbo frames.
func TestLargestPacketsArrive(t *testing.T) {
	const jumbo = 9000
	for _, v := range variants(nil) {
		t.Run(v.Name, func(t *testing.T) {
			if v.datapath == kernel && plumb.Check(t.Context(), plumb.Datapath) != nil {
				t.Skip("the kernel has no datapath")
			}
			b := built(t, named(t, v.Name), platform.Underlay{MTU: jumbo})
			want := min(b.mtu(b.Site.Hosts[0]), jumbo)
			if got := mtu(t, b.Servers[0]); got != want || got < maxXDP {
				t.Errorf("the server has the MTU %d, want %d", got, want)
			}
			const headers = 28 // IPv4 and UDP
			if err := exchange(b.Clients[0], b.Servers[0], want-headers); err != nil {
				t.Errorf("a packet of %d bytes: %v", want, err)
			}
			notes := strings.Join(b.Notes, "; ")
			noted := strings.Contains(notes, "the MTU 3498") && strings.Contains(notes, "AF_XDP ports of h1 are in the mode ")
			if noted != (v.ports == afxdp) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

func TestUnderlayThatDoesNotFitIsRefused(t *testing.T) {
	networktest.TooNarrow(t, named(t, "ovs-userspace-vxlan").driver(), 1329, "1330 or more")
	networktest.TooNarrow(t, named(t, "ovs-userspace-geneve").driver(), 65522, "65521 or less")
	built(t, named(t, "ovs-userspace-vxlan"), platform.Underlay{MTU: 1330})
}

func mtu(t *testing.T, n *plumb.Node) (mtu int) {
	t.Helper()
	err := nl.With(n.NS, func(in *nl.NS) error {
		d, err := in.Interface(n.Device)
		mtu = d.MTU
		return err
	})
	iferr.Fatal(t, err)
	return mtu
}

// exchange sends datagrams until one of them has arrived.
func exchange(from, to *plumb.Node, size int) error {
	var here, there *net.UDPConn
	at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(to.Addr4, 20001))
	err := netns.Do(to.NS, func() (err error) {
		there, err = net.ListenUDP("udp4", at)
		return err
	})
	if err != nil {
		return err
	}
	defer there.Close()
	err = netns.Do(from.NS, func() (err error) {
		here, err = net.DialUDP("udp4", nil, at)
		return err
	})
	if err != nil {
		return err
	}
	defer here.Close()
	buf := make([]byte, size+1)
	for range 300 { // half a minute
		if _, err = here.Write(make([]byte, size)); err != nil {
			return err
		}
		if err := there.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			return err
		}
		var n int
		if n, err = there.Read(buf); err == nil {
			if n != size {
				err = errors.New("it arrived in part")
			}
			return err
		}
	}
	return err
}
