package kernel_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/platform/lab"
	"nettoll/record"
)

// TestPayloadThatServersSend has the payload come from the server of a published port: the rules must count it in this direction,
// too.
func TestPayloadThatServersSend(t *testing.T) {
	for _, tech := range []network.Driver{kernel.Published(), kernel.PublishedProxy()} {
		networktest.Build(t, tech, networktest.Pair) // or skip
		for _, hosts := range tech.Hosts {
			for _, trial := range networktest.Measure(t, lab.New(), tech, []record.Cell{{
				Network: tech.Name, Hosts: hosts, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPStream,
				Options: record.Options{Reverse: true}, Placement: record.PlacementFree,
			}}) {
				if trial.Status != record.OK {
					t.Errorf("%s on %d hosts: %s: %s", tech.Name, hosts, trial.Status, trial.Reason)
				}
			}
		}
	}
}

// TestDatagramsForNarrowContainers has a host send datagrams to its containers, as a client and for a proxy, which are larger than the
// MTU that makes endpoints alike, and than that of the bridge.
func TestDatagramsForNarrowContainers(t *testing.T) {
	for _, tech := range []network.Driver{kernel.Published(), kernel.PublishedProxy()} {
		networktest.Build(t, tech, networktest.Pair) // or skip
		for _, size := range []int{1400, 8 << 10} {
			for _, trial := range networktest.Measure(t, lab.New(), tech, []record.Cell{{
				Network: tech.Name, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.UDPStream,
				Options: record.Options{MessageSize: size}, Normalize: true, Placement: record.PlacementFree,
			}}) {
				if trial.Status != record.OK {
					t.Errorf("%s, %d bytes: %s: %s", tech.Name, size, trial.Status, trial.Reason)
				}
			}
		}
	}
}

// TestDatagramsToSeveralServers sends datagrams that nobody answers to published ports of two servers, from one client after the
// other. Hops of one name are read once for all pairs, so on the paths of both they count the datagrams of both.
func TestDatagramsToSeveralServers(t *testing.T) {
	topo := network.Topology{Hosts: 2, Servers: 2, Clients: 2}
	n := networktest.Build(t, kernel.Published(), topo)
	const each = 10
	for i, client := range n.Clients {
		at, err := n.Addr(client, n.Servers[i], network.IPv4)
		iferr.Fatal(t, err)
		first, _ := topo.Ports(i)
		err = netns.Do(client.Facts().NetNS, func() error {
			conn, err := net.ListenPacket("udp4", ":0")
			if err != nil {
				return err
			}
			defer conn.Close()
			for range each {
				if _, err := conn.WriteTo([]byte("datagram"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, uint16(first)))); err != nil {
					return err
				}
			}
			return nil
		})
		iferr.Fatal(t, err)
	}
	found := 0
	for i, client := range n.Clients {
		for _, h := range n.Path(client, n.Servers[i], network.IPv4) {
			if !strings.HasSuffix(h.Name, "/rule-established") {
				continue
			}
			found++
			err := await.Until(t.Context(), 20*time.Second, time.Millisecond, func(ctx context.Context) (missing, err error) { // the kernel forwards them some time later
				c, err := h.Read(ctx)
				if c.Packets < each*uint64(len(n.Clients)) {
					missing = fmt.Errorf("on the path of client %d, %s has counted %d packets of %d", i+1, h.Name, c.Packets, each*len(n.Clients))
				}
				return missing, err
			})
			iferr.Error(t, err)
		}
	}
	if found != len(n.Clients) {
		t.Errorf("%d paths cross the rule, want %d", found, len(n.Clients))
	}
}
