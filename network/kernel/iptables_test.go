package kernel_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// TestWhereSourcesAreChecked sends a datagram to an external address, whose device is not the way back to the client, on hosts
// that check sources strictly.
func TestWhereSourcesAreChecked(t *testing.T) {
	tech := kernel.IPTables()
	platformtest.Require(t, "nft", tech.Probe(t.Context(), lab.New()))
	for _, of := range []string{"all", "default"} {
		on, hosts := networktest.Keep(t, lab.New(), 2)
		for _, h := range hosts.All() {
			iferr.Fatal(t, netns.SetSysctl(h.Facts().NetNS, "net/ipv4/conf/"+of+"/rp_filter", "1"))
		}
		n, err := tech.Connect(t.Context(), networktest.Pair, on)
		iferr.Fatal(t, err)
		at, err := n.Addr(n.Clients[0], n.Servers[0], network.IPv4)
		iferr.Fatal(t, err)
		own, err := n.Own(n.Clients[0], n.Servers[0], network.IPv4)
		iferr.Fatal(t, err)
		const port = 20001
		var server, client *net.UDPConn
		iferr.Fatal(t, netns.Do(n.Servers[0].Facts().NetNS, func() (err error) {
			server, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(own, port)))
			return err
		}))
		iferr.Fatal(t, netns.Do(n.Clients[0].Facts().NetNS, func() (err error) {
			client, err = net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, port)))
			return err
		}))
		iferr.Error(t, await.Until(t.Context(), 20*time.Second, time.Millisecond, func(context.Context) (missing, err error) {
			_, _ = client.Write([]byte("datagram")) // it reports what became of the one before
			if err := server.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
				return nil, err
			}
			_, _, missing = server.ReadFromUDPAddrPort(make([]byte, 100))
			return missing, nil
		}))
		server.Close()
		client.Close()
		iferr.Error(t, n.Close(t.Context()))
	}
}
